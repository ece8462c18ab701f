"""`paracompile inspect` answers for every valid model: those of onnx's own backend tests."""

import json
import pathlib
import subprocess
from concurrent.futures import ThreadPoolExecutor

import onnx
import pytest
from conftest import BINARY
from onnx import TensorProto, helper

DATA = pathlib.Path(onnx.__file__).parent / "backend/test/data"
MODELS = sorted(DATA.glob("*/*/model.onnx"))


def inspect(path):
    done = subprocess.run([BINARY, "inspect", path, "--json"], capture_output=True, text=True, timeout=60)
    return path, done


def test_every_model_of_the_backend_tests_is_answered():
    assert len(MODELS) > 1800
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(inspect, MODELS))
    refused = [f"{path.parent.name}: {done.stderr}" for path, done in answers if done.returncode != 0]
    assert not refused, f"{len(refused)} of {len(MODELS)}\n" + "\n".join(refused[:20])
    complete = 0
    for path, done in answers:
        shown = json.loads(done.stdout)
        declared = [output.name for output in onnx.load(path, load_external_data=False).graph.output]
        assert [output["name"] for output in shown["results"]] == declared, path
        # What is not complete says why.
        assert shown["complete"] or shown["unbound"] or shown["missing"], path
        complete += shown["complete"]
    print(f"{complete} of {len(MODELS)} are complete")


@pytest.mark.parametrize("dims", [["N", 3], ["N", "M"], [None, 3]])
def test_unbound_dimensions_are_listed_and_no_failure(tmp_path, dims):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph), path)
    _, done = inspect(path)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    open_dims = [(axis, dim or f"x[{axis}]") for axis, dim in enumerate(dims) if not isinstance(dim, int)]
    assert [(symbol["axis"], symbol["name"]) for symbol in shown["unbound"]] == open_dims
    mapped = subprocess.run([BINARY, path, "--soc", "vim3", "--out", tmp_path / "out"], capture_output=True, text=True)
    assert mapped.returncode == 2
    assert all(f"--dim '{name}=N'" in mapped.stderr for _, name in open_dims), mapped.stderr
