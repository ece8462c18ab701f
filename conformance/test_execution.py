"""Whole networks run from plans give what onnxruntime gives, whatever runs where."""

import json
import os
import pathlib
import subprocess
import sys

import numpy
import onnxruntime
import pytest

from conftest import ROOT, paracompile

PARARUN = pathlib.Path(os.environ.get("PARARUN", ROOT / "target/release/pararun")).resolve()
SEED = 7
#: The networks, and a profile with several processors.
NETWORKS = [
    ("googlenet", "vim3"),
    ("inception_v3", "vim3"),
    ("resnet50", "vim3"),
    ("mobilenet_v2", "vim3"),
    # Batch normalisation stands apart in the file, and is folded into filters and biases.
    ("raw/resnet50", "vim3"),
    ("vit_base_patch16_224", "vim3"),
    ("bert_base", "vim3"),
    ("pyschedcl_mha_h8", "vim3"),
]


def session(model, folder):
    """onnxruntime with the weights that `--weights random:SEED` makes."""
    filled = folder / "filled.onnx"
    script = ROOT / "scripts/random_weights.py"
    subprocess.run([sys.executable, script, model, str(SEED), filled], check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(filled, options, providers=["CPUExecutionProvider"])


def inputs(session):
    """Random inputs by name; integers are zero or one, as masks and few words are."""
    random = numpy.random.default_rng(SEED)
    made = {}
    for port in session.get_inputs():
        if "float" in port.type:
            made[port.name] = random.uniform(-1, 1, port.shape).astype(numpy.float32)
        else:
            made[port.name] = random.integers(0, 2, port.shape).astype(numpy.int64)
    return made


def chosen(directory):
    """A plan of each strategy and number of processors."""
    found = {}
    for file in sorted(directory.glob("*/*.json")):
        plan = json.loads(file.read_text())
        found.setdefault((plan["strategy"], len(plan["processors"])), (file, plan))
    return list(found.values())


@pytest.mark.parametrize(("network", "soc"), NETWORKS, ids=[network for network, _ in NETWORKS])
def test_plans_compute_what_onnxruntime_computes(network, soc, tmp_path):
    assert PARARUN.is_file(), f"{PARARUN} is missing: make build"
    model = ROOT / "models" / f"{network}.onnx"
    paracompile(model, "--soc", soc, "--out", tmp_path / "mapped", "--no-plots", "--quiet", "--time-limit", "20")
    reference = session(model, tmp_path)
    given = inputs(reference)
    expected = reference.run(None, given)
    arguments = []
    for name, value in given.items():
        file = tmp_path / f"input{len(arguments)}.npy"
        numpy.save(file, value)
        arguments += ["--input", f"{name}={file}"]
    plans = chosen(tmp_path / "mapped")
    counts = {len(plan["processors"]) for _, plan in plans}
    assert counts >= {1, 2}, f"plans of {counts} processors"
    for file, plan in plans:
        out = tmp_path / "outputs" / file.stem
        maps = [part for processor in plan["processors"] for part in ("--map", f"{processor['name']}=cpu/1")]
        command = [PARARUN, "run", file, "--model", model, "--weights", f"random:{SEED}", "--frames", "3", "--quiet"]
        done = subprocess.run(
            [*command, *maps, *arguments, "--output", out],
            capture_output=True,
            text=True,
            env={**os.environ, "POCL_MAX_PTHREAD_COUNT": "4"},
        )
        assert done.returncode == 0, f"{file.name}: {done.stderr}"
        files = sorted(out.glob("*.npy"))
        assert len(files) == len(expected)
        found = {file.stem: numpy.load(file) for file in files}
        for port, value in zip(reference.get_outputs(), expected):
            name = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in port.name)
            scale = numpy.abs(value).max()
            difference = numpy.abs(found[name.lstrip(".")] - value).max()
            assert difference <= 1e-3 * max(scale, 1e-6), f"{file.name}: {port.name} is off by {difference} of {scale}"
