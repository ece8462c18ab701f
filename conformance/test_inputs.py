"""`pararun` takes input files as numpy and onnx write them."""

import subprocess

import numpy as np
import pytest
from conftest import ROOT
from onnx import numpy_helper
from test_random_weights import BINARY

DATA = ROOT / "crates/runtime/tests/data"
IDS = np.array([2, 0, 1, 2])
X = np.random.default_rng(0).uniform(-1, 1, (4, 32)).astype(np.float32)


def check(*inputs):
    options = [option for file in inputs for option in ("--input", file)]
    command = [BINARY, "check", DATA / "single.json", "--model", DATA / "tiny.onnx", "--map", "big=0", *options]
    return subprocess.run(command, capture_output=True, text=True)


def save_npy(path, array, version):
    with open(path, "wb") as file:
        np.lib.format.write_array(file, array, version=version)
    return path


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("endian", ["<", ">"])
def test_every_form_of_npy_is_taken(tmp_path, version, order, endian):
    ids = save_npy(tmp_path / "ids.npy", IDS.astype(f"{endian}i8"), version)
    x = save_npy(tmp_path / "x.npy", np.array(X, dtype=f"{endian}f4", order=order), version)
    done = check(ids, x)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "uint8", "bool", "complex64", "datetime64[s]", "U3"])
def test_every_other_type_is_refused_by_name(tmp_path, dtype):
    ids = save_npy(tmp_path / "ids.npy", IDS, (1, 0))
    x = save_npy(tmp_path / "x.npy", np.zeros((4, 32), dtype), (1, 0))
    done = check(ids, x)
    assert done.returncode == 2 and "input `x`" in done.stderr, done.stderr


def test_tensors_of_onnx_are_taken(tmp_path):
    for name, array in {"ids": IDS, "x": X}.items():
        (tmp_path / f"{name}.pb").write_bytes(numpy_helper.from_array(array, name).SerializeToString())
    done = check(tmp_path / "ids.pb", tmp_path / "x.pb")
    assert done.returncode == 0, done.stderr
    done = check(tmp_path / "x.pb", tmp_path / "ids.pb")
    assert done.returncode == 2 and "expected float [4, 32]" in done.stderr, done.stderr
