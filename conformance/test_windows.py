"""Extents behind convolutions and pools with random attributes are those that onnx infers."""

import json
import random
import subprocess

import onnx
import pytest
from conftest import BINARY
from onnx import TensorProto, helper, shape_inference

CASES = 60


def pick(random, axes, low, high):
    return [random.randint(low, high) for _ in range(axes)]


def node(kind, random):
    """A node, its operands, and the version of the operator set: any geometry that the definitions allow."""
    axes = random.choice([1, 2, 2, 3])
    attributes = {"strides": pick(random, axes, 1, 3)}
    padding = random.choice(["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
    kernel = pick(random, axes, 1, 4)
    image = pick(random, axes, 9, 24)
    if padding == "NOTSET":
        # More than a kernel of padding would make windows that see nothing but padding.
        attributes["pads"] = [random.randint(0, size - 1) for size in 2 * kernel]
    if padding != "NOTSET" or random.random() < 0.3:
        attributes["auto_pad"] = padding
    opset = random.choice([7, 11, 19, 22])
    group = random.choice([1, 1, 2, 4])
    operands = {}
    if kind in {"Conv", "ConvTranspose"}:
        if padding in {"NOTSET", "VALID"}:
            attributes["dilations"] = pick(random, axes, 1, 2)
        attributes["group"] = group
        channels, features = group * random.randint(1, 3), group * random.randint(1, 3)
        first, second = (features, channels // group) if kind == "Conv" else (channels, features // group)
        operands["w"] = [first, second, *kernel]
        if kind == "ConvTranspose" and padding == "NOTSET" and random.random() < 0.5:
            attributes["output_padding"] = [random.randint(0, stride - 1) for stride in attributes["strides"]]
    else:
        channels = 3
        attributes["kernel_shape"] = kernel
        # Before version 22 the definitions keep a last window that starts behind the input, and nobody who runs them does.
        has_ceil = opset >= 22
        if has_ceil and padding == "NOTSET":
            attributes["ceil_mode"] = random.randint(0, 1)
        has_dilations = opset >= {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[kind]
        if has_dilations and padding == "NOTSET":
            attributes["dilations"] = pick(random, axes, 1, 2)
    operands = {"x": [2, channels, *image], **operands}
    return helper.make_node(kind, list(operands), ["y"], **attributes), operands, opset


@pytest.mark.parametrize("kind", ["Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool"])
def test_extents_behind_windows(kind, tmp_path):
    chance = random.Random(kind)
    seen = 0
    while seen < CASES:
        tested, operands, opset = node(kind, chance)
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in operands.items()]
        graph = helper.make_graph([tested], "window", inputs, [onnx.ValueInfoProto(name="y")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        path = tmp_path / f"{kind}{seen}.onnx"
        path.write_bytes(model.SerializeToString())
        inferred = shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        expected = [dim.dim_value for dim in inferred.graph.output[0].type.tensor_type.shape.dim]
        if not expected or min(expected) < 1:
            # A kernel that does not fit.
            continue
        seen += 1
        done = subprocess.run([BINARY, "inspect", path, "--json"], capture_output=True, text=True)
        assert done.returncode == 0, f"{tested}{operands}\n{done.stderr}"
        shown = json.loads(done.stdout)["outputs"][0]["shape"]
        assert shown == expected, f"{tested}{operands} at version {opset}"
