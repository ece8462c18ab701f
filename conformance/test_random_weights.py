"""`pararun --weights random:SEED` and `scripts/random_weights.py` fill the same constants with the same bytes."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from conftest import ROOT
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(ROOT / "scripts"))
import random_weights  # noqa: E402

BINARY = pathlib.Path(os.environ.get("PARARUN", ROOT / "target/release/pararun")).resolve()
MODELS = sorted((ROOT / "models").glob("**/*.onnx"))


def pararun_digests(path, seed):
    """By name, SHA-256 of what `pararun` fills."""
    assert BINARY.is_file(), f"{BINARY} is missing: make build"
    done = subprocess.run(
        [BINARY, "weights", path, "--weights", f"random:{seed}", "--json"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def numpy_digests(path, seed):
    """The same of what the script fills."""
    filled = random_weights.weights(onnx.load(path), seed)
    return {name: hashlib.sha256(values.tobytes()).hexdigest() for name, values in filled.items()}


@pytest.mark.parametrize("path", MODELS, ids=lambda path: str(path.relative_to(ROOT / "models")))
def test_every_model_gets_the_same_bytes(path):
    expected = numpy_digests(path, 7)
    assert expected, "a model without weights"
    assert pararun_digests(path, 7) == expected


def constant_of_shape(name, shape):
    """Nodes that make a constant."""
    dims = numpy_helper.from_array(np.array(shape, np.int64), "value")
    return [
        helper.make_node("Constant", [], [f"{name}_shape"], value=dims),
        helper.make_node("ConstantOfShape", [f"{name}_shape"], [name]),
    ]


def save(tmp_path, nodes, initializers, x_shape):
    """A model with the input x and the output y."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, x_shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    stored = [numpy_helper.from_array(values, name) for name, values in initializers.items()]
    graph = helper.make_graph(nodes, "g", [x], [y], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    return path


ONES = np.ones
NODE = helper.make_node
CASES = {
    "initializers of more than 64 elements": (
        [NODE("MatMul", ["x", "w"], ["a"]), NODE("Add", ["a", "b"], ["y"])],
        {"w": ONES((8, 64), np.float32), "b": ONES(64, np.float32)},
        ["w"],
    ),
    "a shared bias": (
        [NODE("MatMul", ["x", "w"], ["a"]), NODE("Add", ["a", "b"], ["c"]), NODE("Mul", ["c", "b"], ["y"])],
        {"w": ONES((8, 65), np.float32), "b": ONES(65, np.float32)},
        ["w", "b"],
    ),
    "a transposed factor": (
        [NODE("Transpose", ["w"], ["v"], perm=[1, 0]), NODE("MatMul", ["x", "v"], ["y"])],
        {"w": ONES((70, 8), np.float32)},
        ["w"],
    ),
    "a weight behind views": (
        [
            NODE("Identity", ["w"], ["u"]),
            NODE("Reshape", ["u", "shape"], ["v"]),
            NODE("MatMul", ["x", "v"], ["y"]),
        ],
        {"w": ONES((80, 8), np.float32), "shape": np.array([8, 80])},
        ["w"],
    ),
    "two halves of a factor": (
        [
            NODE("Split", ["w", "parts"], ["a", "b"], axis=1),
            NODE("MatMul", ["x", "a"], ["c"]),
            NODE("MatMul", ["x", "b"], ["d"]),
            NODE("Add", ["c", "d"], ["y"]),
        ],
        {"w": ONES((8, 90), np.float32), "parts": np.array([45, 45])},
        ["w"],
    ),
    "a made constant": (
        [*constant_of_shape("w", [8, 33]), *constant_of_shape("b", [64]), NODE("MatMul", ["x", "w"], ["y"])],
        {},
        ["w"],
    ),
    "factors of Gemm": (
        [NODE("Gemm", ["x", "w", "b"], ["a"], transB=1), NODE("Gemm", ["v", "a"], ["y"], transA=1)],
        {"w": ONES((66, 8), np.float32), "b": ONES(66, np.float32), "v": ONES((4, 40), np.float32)},
        ["w", "b", "v"],
    ),
    "rows to choose from, and a constant that nothing needs": (
        [
            NODE("Gather", ["table", "ids"], ["rows"]),
            NODE("Add", ["x", "rows"], ["y"]),
            NODE("Add", ["x", "unused"], ["z"]),
        ],
        {"table": ONES((99, 8), np.float32), "ids": np.arange(4), "unused": ONES((99, 4, 8), np.float32)},
        ["table"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_filled_does_not_depend_on_how_it_is_written(tmp_path, case):
    nodes, initializers, filled = CASES[case]
    path = save(tmp_path, nodes, initializers, [4, 8])
    expected = numpy_digests(path, 3)
    assert sorted(expected) == sorted(filled)
    assert pararun_digests(path, 3) == expected


def test_convolutions_and_normalisations_of_every_kind(tmp_path):
    nodes = [
        NODE("Conv", ["x", "f", "fb"], ["a"], pads=[1, 1, 1, 1], group=2),
        NODE("BatchNormalization", ["a", "s", "h", "m", "v"], ["b"]),
        NODE("ConvTranspose", ["b", "t"], ["c"], group=4),
        NODE("BatchNormalization", ["c", "s2", "h2", "m2", "v2"], ["d"]),
        NODE("InstanceNormalization", ["d", "s2", "h2"], ["y"]),
    ]
    channels = {name: ONES(80, np.float32) for name in ["fb", "s", "h", "m", "v"]}
    channels |= {name: ONES(68, np.float32) for name in ["s2", "h2", "m2", "v2"]}
    filters = {"f": ONES((80, 3, 3, 3), np.float32), "t": ONES((80, 17, 2, 2), np.float32)}
    path = save(tmp_path, nodes, channels | filters, [1, 6, 8, 8])
    expected = numpy_digests(path, 1)
    assert len(expected) == 11
    assert pararun_digests(path, 1) == expected


def test_onnxruntime_runs_what_the_script_writes(tmp_path):
    """Through 66 layers and more, activations stay numbers, and inputs make a difference."""
    for name in ["squeezenet1_1", "mobilenet_v2"]:
        out = tmp_path / f"{name}.onnx"
        script = ROOT / "scripts/random_weights.py"
        subprocess.run([sys.executable, script, ROOT / f"models/{name}.onnx", "7", out], check=True)
        onnx.checker.check_model(out)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(out, options)
        frames = np.random.default_rng(0).uniform(-1, 1, (2, 1, 3, 224, 224)).astype(np.float32)
        first, second = (session.run(None, {session.get_inputs()[0].name: frame})[0] for frame in frames)
        assert np.isfinite(first).all()
        assert first.std() > 1e-3
        assert np.abs(first - second).max() > 1e-3 * np.abs(first).max()
