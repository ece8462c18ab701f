"""The node tests of the onnx wheel, rewritten so that a mapper can read them and show what it infers."""

import dataclasses
import functools
import pathlib
import re

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(onnx.__file__).parent / "backend/test/data/node"

#: Operands, by operator and position, whose values decide the shape of a result.
#: The tests feed them as inputs, where networks have constants, so they become constants with the values of the test.
SHAPE_OPERANDS = {
    "AffineGrid": {1},  # size
    "BlackmanWindow": {0},  # size
    "CenterCropPad": {1},  # shape
    "Col2Im": {1, 2},  # image_shape, block_shape
    "ConstantOfShape": {0},  # input
    "DFT": {1, 2},  # dft_length, axis
    "Expand": {1},  # shape
    "HammingWindow": {0},  # size
    "HannWindow": {0},  # size
    "If": {0},  # cond: which of the branches runs
    "Loop": {0, 1},  # M, cond: how often the body runs
    "MaxUnpool": {2},  # output_shape
    "MelWeightMatrix": {0, 1},  # num_mel_bins, dft_length
    "OneHot": {1},  # depth
    "Pad": {1, 3},  # pads, axes
    "Range": {0, 1, 2},  # start, limit, delta
    "ReduceL1": {1},  # axes, here and below
    "ReduceL2": {1},
    "ReduceLogSum": {1},
    "ReduceLogSumExp": {1},
    "ReduceMax": {1},
    "ReduceMean": {1},
    "ReduceMin": {1},
    "ReduceProd": {1},
    "ReduceSum": {1},
    "ReduceSumSquare": {1},
    "Reshape": {1},  # shape
    "Resize": {2, 3},  # scales, sizes
    "STFT": {1, 3},  # frame_step, frame_length
    "Slice": {1, 2, 3, 4},  # starts, ends, axes, steps
    "Split": {1},  # split
    "SplitToSequence": {1},  # split
    "Squeeze": {1},  # axes
    "Tile": {1},  # repeats
    "TopK": {1},  # K
    "Unsqueeze": {1},  # axes
    "Upsample": {1},  # scales
}

#: Operators whose result has another shape for other elements of the same shape, and why.
DATA_DEPENDENT = {
    "Compress": "as long as its condition has true elements",
    "ImageDecoder": "as large as the picture in the bytes",
    "Loop": "one slice for each turn until its condition fails",
    "NonMaxSuppression": "one row a box that survives",
    "NonZero": "one column an element that is not zero",
    "StringNormalizer": "stop words are left out",
    "StringSplit": "as wide as the text with the most words",
    "Unique": "one element a distinct element",
}

#: The version from which on `Pad` takes operands; results of older tests are shown as they are.
FIRST_PROBED = 11


@dataclasses.dataclass(frozen=True)
class NodeTest:
    """One directory of the wheel."""

    name: str

    @property
    def directory(self):
        return ROOT / self.name

    @functools.cached_property
    def model(self):
        return onnx.load(self.directory / "model.onnx")

    @functools.cached_property
    def whole(self):
        """The test of the operator itself, if this one has its definition as a function written out."""
        whole = re.sub(r"_expanded(_ver\d+)?$", "", self.name)
        return NodeTest(whole) if whole != self.name else self

    @property
    def operators(self):
        """Types of the nodes of the top-level graph, and of the operator that they write out."""
        return {node.op_type for test in (self, self.whole) for node in test.model.graph.node}

    @property
    def has_fixed_shape(self):
        """Whether all results are tensors, and no element of an input decides their shape."""
        are_tensors = all(port.type.HasField("tensor_type") for port in self.model.graph.output)
        return are_tensors and not self.operators & DATA_DEPENDENT.keys()

    def values(self, kind):
        """What the test feeds or expects, by name: tensors, or None for what is no tensor."""
        ports = self.model.graph.input if kind == "input" else self.model.graph.output
        values = {}
        for index, port in enumerate(ports):
            values[port.name] = None
            if port.type.HasField("tensor_type"):
                tensor = TensorProto()
                tensor.ParseFromString((self.directory / f"test_data_set_0/{kind}_{index}.pb").read_bytes())
                values[port.name] = tensor
        return values

    def shape_operands(self):
        """Names of the inputs that decide a shape."""
        names = set()
        for node in self.whole.model.graph.node:
            positions = SHAPE_OPERANDS.get(node.op_type, ())
            names |= {name for position, name in enumerate(node.input) if position in positions}
        return names - {""}

    def expected(self):
        """Element type and shape of each result."""
        return {name: (spelled(tensor.data_type), list(tensor.dims)) for name, tensor in self.values("output").items()}

    def rewritten(self, probed=True):
        """The model with fixed inputs, constants where they decide a shape, no declared results, and a probe for each result.

        A probe is `Where(condition, padded, padded)` with a condition that is an input, so that constants and empty tensors too are
        results that a frame has to compute; `padded` is one element longer along each axis.
        Without probes, the results stay declared.
        """
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        graph = model.graph
        values = self.values("input")
        constants = self.shape_operands()
        inputs = list(graph.input)
        del graph.input[:]
        for port in inputs:
            tensor = values[port.name]
            # An extent of zero means an unknown one to us, as to most exporters, so empty tensors are constants too.
            if tensor is not None and (port.name in constants or 0 in tensor.dims):
                constant = graph.initializer.add()
                constant.CopyFrom(tensor)
                constant.name = port.name
            elif tensor is not None:
                graph.input.append(helper.make_tensor_value_info(port.name, tensor.data_type, list(tensor.dims)))
            else:
                graph.input.append(port)
        del graph.value_info[:]
        if not probed:
            return model
        expected = self.values("output")
        outputs = [port.name for port in graph.output]
        del graph.output[:]
        opset = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), None)
        if opset is None:
            opset = 18
            model.opset_import.append(helper.make_opsetid("", opset))
        graph.input.append(helper.make_tensor_value_info("probe", TensorProto.BOOL, []))
        for name in outputs:
            if opset < FIRST_PROBED:
                graph.output.append(onnx.ValueInfoProto(name=name))
                continue
            rank = len(expected[name].dims)
            pads = numpy.array([0] * rank + [1] * rank, dtype=numpy.int64)
            graph.initializer.append(numpy_helper.from_array(pads, f"{name} pads"))
            graph.node.append(helper.make_node("Pad", [name, f"{name} pads"], [f"{name} padded"]))
            shown = ["probe", f"{name} padded", f"{name} padded"]
            graph.node.append(helper.make_node("Where", shown, [f"{name} shown"]))
            graph.output.append(onnx.ValueInfoProto(name=f"{name} shown"))
        return model

    @staticmethod
    def shown(ports):
        """Element type and shape of each result as `paracompile inspect --json` lists them for the rewritten model."""
        results = {}
        for port in ports:
            name, probed, _ = port["name"].partition(" shown")
            results[name] = (port["dtype"], [extent - bool(probed) for extent in port["shape"]])
        return results


def spelled(data_type):
    """The element type as paracompile spells it, which tells types of few bits apart by their size alone."""
    name = helper.tensor_dtype_to_string(data_type).removeprefix("TensorProto.").lower()
    return re.sub(r"(float[468])e\w+", r"\1", name)


@functools.cache
def all_tests():
    return [NodeTest(path.name) for path in sorted(ROOT.iterdir())]
