"""Multiply-accumulates of whole networks are those that onnx-tool counts.

It counts the addition of a bias as a multiply-accumulate; paracompile counts it as one operation, and a multiply-accumulate as two.
Nodes that no input can change are computed once and for all, and count for nothing here.
Other operators have no agreed arithmetic: onnx-tool charges an element of a softmax 36 operations, paracompile five.
"""

import contextlib
import io
import json
import math
import pathlib

import onnx
import onnx_tool
from conftest import paracompile

#: Classes of operators with multiply-accumulates.
PRODUCTS = {"conv", "depthwise_conv", "conv_transpose", "gemm", "matmul"}


def variable(path):
    """Names of the tensors that an input can change; what computes the others is done once and for all."""
    graph = onnx.load(path, load_external_data=False).graph
    names = {value.name for value in graph.input} - {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        if any(name in names for name in node.input):
            names.update(node.output)
    return names


def counted(path):
    """Multiply-accumulates without biases, and additions of biases, of the products that depend on an input."""
    model = onnx_tool.Model(str(path), {"verbose": False, "constant_folding": False})
    with contextlib.redirect_stdout(io.StringIO()):
        model.graph.shape_infer(None)
        model.graph.profile()
    macs = biases = 0
    changing = variable(path)
    for node in model.graph.nodemap.values():
        if node.op_type not in {"Conv", "ConvTranspose", "Gemm", "MatMul"} or node.output[0] not in changing:
            continue
        total = node.macs[0] if isinstance(node.macs, (list, tuple)) else node.macs
        bias = math.prod(model.graph.tensormap[node.output[0]].get_shape()) if len(node.input) > 2 else 0
        macs += round(total) - bias
        biases += bias
    return macs, biases


def both(path):
    """What paracompile and onnx-tool count for the file executed node by node, in floating-point operations."""
    macs, biases = counted(path)
    classes = json.loads(paracompile("inspect", path, "--as-written", "--json"))["classes"]
    found = sum(round(entry["gflop"] * 1e9) for entry in classes if entry["class"] in PRODUCTS)
    assert macs > 0
    return found, 2 * macs + biases


def test_products_are_counted_alike(model):
    found, expected = both(model)
    assert found == expected


if __name__ == "__main__":
    # Compares the networks of directories, one line each.
    import sys

    for directory in sys.argv[1:]:
        for path in sorted(pathlib.Path(directory).glob("*.onnx")):
            found, expected = both(path)
            print(f"{path}: {found} {'=' if found == expected else '!='} {expected}")
