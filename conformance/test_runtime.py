"""What `pararun` computes: the backend tests of the onnx wheel, operator by operator, on the first OpenCL device.

`python conformance/test_runtime.py` writes the two lists anew.
"""

import functools
import json
import os
import pathlib
import re
import subprocess
import sys

import onnx
from onnx import TensorProto

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(onnx.__file__).parent / "backend/test/data"
SETS = ("node", "pytorch-converted", "pytorch-operator", "simple")
BINARY = pathlib.Path(os.environ.get("PARARUN", ROOT / "target/release/pararun")).resolve()

#: Tests that pass, one a line.
PASS = pathlib.Path(__file__).with_name("runtime_pass.txt")
#: Tests with inputs and outputs of `TYPES` alone that do not pass, one a line with the reason behind a colon.
REST = pathlib.Path(__file__).with_name("runtime_rest.txt")

TYPES = {TensorProto.FLOAT, TensorProto.INT64}

#: The operators that networks of convolutions and attentions are made of: nearly all of their tests have to pass.
OPERATORS = """
    Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization Cast Ceil Celu Clip Concat Constant
    ConstantOfShape Conv ConvTranspose Cos Cosh CumSum DepthToSpace Div Dropout Elu Equal Erf Exp Expand EyeLike Flatten Floor Gather
    GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual GroupNormalization HardSigmoid HardSwish
    Hardmax Identity InstanceNormalization LRN LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax LpPool MatMul Max MaxPool
    Mean Min Mish Mod Mul Neg Not OneHot Or PRelu Pad Pow RMSNormalization Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum
    ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize Round ScatterElements
    ScatterND Selu Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum
    Swish Tan Tanh ThresholdedRelu Tile Transpose Trilu Unsqueeze Upsample Where Xor
""".split()


@functools.cache
def folders():
    return {f"{name}/{path.name}": path for name in SETS for path in sorted((DATA / name).iterdir())}


@functools.cache
def outcomes():
    """What became of every test, by name, in one run of the binary."""
    assert BINARY.is_file(), f"{BINARY} is missing: make build"
    done = subprocess.run([BINARY, "test", *folders().values()], capture_output=True, text=True)
    assert done.returncode in (0, 1), f"exit {done.returncode}\n{done.stderr}"
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(folders())
    return dict(zip(folders(), found))


def passing():
    return sorted(name for name, found in outcomes().items() if found["outcome"] == "passed")


@functools.cache
def model(name):
    return onnx.load(folders()[name] / "model.onnx")


def has_plain_types(name):
    graph = model(name).graph
    types = [port.type for port in [*graph.input, *graph.output]]
    return all(type.HasField("tensor_type") and type.tensor_type.elem_type in TYPES for type in types)


def is_of_our_operators(name):
    """Whether it is a node test of one of `OPERATORS`, or of one of them written out as a function."""
    whole = re.sub(r"_expanded(_ver\d+)?$", "", name)
    nodes = model(whole if whole in folders() else name).graph.node
    return name.startswith("node/") and all(node.op_type in OPERATORS for node in nodes)


def lines(path):
    return [line for line in path.read_text().splitlines() if not line.startswith("#")]


def test_what_passes_is_known_by_name():
    assert passing() == lines(PASS)


def test_the_rest_is_known_by_name_and_reason():
    rest = [line.partition(": ") for line in lines(REST)]
    assert all(reason for _, _, reason in rest)
    missing = {name for name in folders() if has_plain_types(name)} - set(passing())
    assert [name for name, _, _ in rest] == sorted(missing)


def test_nothing_fails_on_the_device():
    broken = {name: found["why"] for name, found in outcomes().items() if found["outcome"] == "failed"}
    assert not broken


def test_nearly_all_tests_of_the_operators_of_networks_pass():
    judged = [name for name in folders() if has_plain_types(name) and is_of_our_operators(name)]
    passed = set(judged) & set(passing())
    ratio = len(passed) / len(judged)
    print(f"\n{len(passed)} of {len(judged)} node tests of the operators of networks pass: {ratio:.2%}")
    assert len(judged) > 500
    assert ratio >= 0.95


def test_all_models_converted_from_pytorch_pass():
    converted = [name for name in folders() if name.startswith("pytorch-converted/")]
    assert len(converted) == 82
    assert set(converted) <= set(passing())


def reason(why):
    """Why a test does not pass, without the names and numbers of its nodes."""
    why = why.splitlines()[0]
    why = re.sub(r"node [\d.]+(?: `[^`]*`)? \(([^)]*)\)(?: in [^:]*)?", r"\1", why)
    parts = dict.fromkeys(part.strip() for part in why.split("; "))
    return "; ".join(parts)


def main():
    PASS.write_text("# Backend tests of the onnx wheel that pass on PoCL; conformance/test_runtime.py writes this list.\n")
    with PASS.open("a") as file:
        file.writelines(f"{name}\n" for name in passing())
    REST.write_text(
        "# Backend tests with float32 and int64 alone that do not pass, and why; conformance/test_runtime.py writes this list.\n"
    )
    passed = set(passing())
    with REST.open("a") as file:
        rest = sorted(name for name in folders() if has_plain_types(name) and name not in passed)
        file.writelines(f"{name}: {reason(outcomes()[name]['why'])}\n" for name in rest)


if __name__ == "__main__":
    sys.exit(main())
