"""Networks as onnxruntime quantises them: what becomes integer, sizes by element type, and arithmetic.

Weights are random numbers of a fixed seed; nothing here depends on their values.
What a tensor is comes from running the file in onnxruntime with all graph optimisation off; which conversions vanish comes from its optimiser.
"""

import collections
import json
import math

import numpy
import onnx
import onnxruntime
import pytest
from conftest import ROOT, paracompile, plan_files
from networks import Network, macs
from onnx import numpy_helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

NETWORKS = ["pyschedcl_mha_h2", "squeezenet1_1", "mobilenet_v2"]
FORMATS = ["qdq", "qoperator", "dynamic"]
PRODUCTS = {"conv", "depthwise_conv", "conv_transpose", "gemm", "matmul"}
CONVERSIONS = {"QuantizeLinear", "DequantizeLinear"}
VIEWS = {"Flatten", "Reshape", "Squeeze", "Unsqueeze"}

#: Operands of quantised products that are weights and biases, behind scales and zero points.
WEIGHTS = {"QLinearConv": (3, 8), "QLinearMatMul": (0, 3), "QGemm": (3, 6), "MatMulNBits": (1, 2, 3)}

BITS = {"float": 32, "int64": 64, "int32": 32, "uint8": 8, "int8": 8, "int4": 4, "uint4": 4, "bool": 8}


def filled(path):
    """The network with random weights in the place of `ConstantOfShape`."""
    model = onnx.load(path)
    graph = model.graph
    stored = {tensor.name: tensor for tensor in graph.initializer}
    random = numpy.random.default_rng(20240229)
    nodes = []
    for node in graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in stored:
            shape = numpy_helper.to_array(stored[node.input[0]]).tolist()
            weights = random.normal(0, 0.05, shape).astype(numpy.float32)
            graph.initializer.append(numpy_helper.from_array(weights, node.output[0]))
        else:
            nodes.append(node)
    read = {name for node in nodes for name in node.input}
    kept = [tensor for tensor in graph.initializer if tensor.name in read]
    del graph.node[:], graph.initializer[:], graph.value_info[:]
    graph.node.extend(nodes)
    graph.initializer.extend(kept)
    return model


def random_inputs(model, seed):
    random = numpy.random.default_rng(seed)
    constants = {tensor.name for tensor in model.graph.initializer}
    shapes = {
        value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in model.graph.input
        if value.name not in constants
    }
    return {name: random.normal(size=shape).astype(numpy.float32) for name, shape in shapes.items()}


class Calibration(CalibrationDataReader):
    def __init__(self, model):
        self.frames = iter([random_inputs(model, seed) for seed in (1, 2)])

    def get_next(self):
        return next(self.frames, None)


@pytest.fixture(scope="session", params=NETWORKS)
def network(request, tmp_path_factory):
    """A network with weights."""
    path = tmp_path_factory.mktemp("float") / f"{request.param}.onnx"
    onnx.save(filled(ROOT / "models" / path.name), path)
    return path


@pytest.fixture(scope="session", params=FORMATS)
def quantized(request, network, tmp_path_factory):
    """The same network quantised in one way; its format and its file."""
    path = tmp_path_factory.mktemp(request.param) / network.name
    if request.param == "dynamic":
        quantize_dynamic(network, path, weight_type=QuantType.QUInt8)
    else:
        quantize_static(
            network,
            path,
            Calibration(onnx.load(network)),
            quant_format=QuantFormat.QDQ if request.param == "qdq" else QuantFormat.QOperator,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
        )
    return request.param, path


def inspect(path, *options):
    return json.loads(paracompile("inspect", path, "--json", *options))


def product_flops(shown):
    return sum(round(entry["gflop"] * 1e9) for entry in shown["classes"] if entry["class"] in PRODUCTS)


def test_arithmetic_is_that_of_the_float_network(network, quantized):
    how, path = quantized
    float_network = Network(network)
    expected = 0
    for index in float_network.computing:
        node = float_network.nodes[index]
        count = macs(float_network, index)
        if count is None:
            continue
        expected += 2 * count
        # A bias is an addition an element; quantised while it runs, it is an operator of its own.
        if how != "dynamic" and len(node.input) > 2 and node.input[2]:
            expected += math.prod(float_network.shape(node.output[0]))
    assert product_flops(inspect(path)) == expected


def values(path):
    """The type and shape of every tensor when the file runs, and the bytes of its constants."""
    model = onnx.load(path)
    known = {}
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        dtype = onnx.helper.tensor_dtype_to_string(tensor.data_type).removeprefix("TensorProto.").lower()
        known[tensor.name] = (dtype, list(array.shape))
    inputs = random_inputs(model, 3)
    listed = {value.name for value in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in listed:
                model.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    arrays = dict(zip(names, session.run(names, inputs), strict=True))
    for name, array in {**arrays, **inputs}.items():
        dtype = {"float32": "float"}.get(str(array.dtype), str(array.dtype))
        known[name] = (dtype, list(array.shape))
    return known


def mapped_to(path, out):
    paracompile(path, "--soc", "vim3", "--out", out, "--no-plots", "--quiet", "--effort", "quick")
    return plan_files(out)


def test_plans_hold_and_have_the_types_and_sizes_that_run(quantized, tmp_path):
    _, path = quantized
    plans = mapped_to(path, tmp_path / "out")
    paracompile("check", tmp_path / "out", "--model", path, "--soc", "vim3")
    known = values(path)
    faults, kinds = [], collections.Counter()
    for plan in plans:
        for buffer in json.loads(plan.read_text())["buffers"]:
            if buffer["kind"] == "workspace":
                continue
            dtype, shape = known[buffer["tensor"]]
            expected = (dtype, shape, -(-math.prod(shape) * BITS[dtype] // 8))
            found = (buffer["dtype"], buffer["shape"], buffer["bytes"])
            kinds[buffer["kind"], dtype] += 1
            if found != expected:
                faults.append(f"{buffer['tensor']}: {found}, runs with {expected}")
    assert not faults, "\n".join(sorted(set(faults))[:10])
    assert any(kind == "weight" and dtype in {"int8", "uint8"} for kind, dtype in kinds), kinds


def weight_bytes(path):
    """Bytes of the weights and biases of products as the file stores them, dequantised or not."""
    model = onnx.load(path)
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    bits = {tensor.name: 4 if tensor.data_type in {21, 22} else None for tensor in model.graph.initializer}
    producer = {name: node for node in model.graph.node for name in node.output}

    def size(name):
        return -(-stored[name].size * (bits[name] or 8 * stored[name].itemsize) // 8)

    total = 0
    for node in model.graph.node:
        places = WEIGHTS.get(node.op_type, range(len(node.input)) if node.op_type in {"Conv", "Gemm", "MatMul"} else ())
        for name in {node.input[place] for place in places if place < len(node.input)}:
            source = producer.get(name)
            if source is not None and source.op_type == "DequantizeLinear" and source.input[0] in stored:
                total += size(source.input[0])
                if any(a.name == "block_size" and a.i for a in source.attribute):
                    total += sum(size(scale) for scale in source.input[1:])
            elif name in stored:
                total += size(name)
    return total


def test_weights_have_the_bytes_of_the_file(quantized):
    how, path = quantized
    if how == "dynamic":
        pytest.skip("scales and biases are operands of other operators there; buffers are compared above")
    assert inspect(path)["weight_bytes"] == weight_bytes(path)


def test_conversions_vanish_where_onnxruntime_drops_them(quantized, tmp_path):
    how, path = quantized
    if how != "qdq":
        pytest.skip("only this format has conversions to drop")
    optimised = tmp_path / "optimised.onnx"
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(optimised)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def plain(op_type):
        return op_type.removeprefix("QLinear").replace("QGemm", "Gemm")

    ours = collections.Counter()
    file = onnx.load(path).graph.node
    plan = json.loads(mapped_to(path, tmp_path / "out")[0].read_text())
    for task in plan["tasks"]:
        ours.update(file[operator["node"]].op_type for operator in task["operators"])
    theirs = collections.Counter(plain(node.op_type) for node in onnx.load(optimised).graph.node)
    for view in VIEWS:
        ours.pop(view, None)
        theirs.pop(view, None)
    assert ours == theirs
    as_written = inspect(path, "--as-written")
    assert as_written["operators"] - inspect(path)["operators"] >= sum(
        node.op_type == "QuantizeLinear" for node in file
    ) - theirs["QuantizeLinear"]


@pytest.mark.parametrize("how", [QuantFormat.QOperator, QuantFormat.QDQ], ids=["operator", "qdq"])
def test_weights_of_four_bits_stay_packed(how, tmp_path):
    model = filled(ROOT / "models/pyschedcl_mha_h2.onnx")
    # Blocks in the second format came with version 21.
    model.opset_import[0].version = 21
    model.ir_version = 10
    quantizer = MatMulNBitsQuantizer(model, bits=4, block_size=32, is_symmetric=False, quant_format=how)
    quantizer.process()
    path = tmp_path / "packed.onnx"
    quantizer.model.save_model_to_file(str(path))
    shown = inspect(path)
    assert shown["weight_bytes"] == weight_bytes(path)
    float_path = tmp_path / "float.onnx"
    onnx.save(filled(ROOT / "models/pyschedcl_mha_h2.onnx"), float_path)
    assert product_flops(shown) == product_flops(inspect(float_path))
    assert 7 * shown["weight_bytes"] < inspect(float_path)["weight_bytes"] * 1.5
    mapped_to(path, tmp_path / "out")
    paracompile("check", tmp_path / "out", "--model", path, "--soc", "vim3")
