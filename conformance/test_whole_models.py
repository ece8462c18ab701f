"""Whole networks, run by `pararun` on one, two and three parts of a processor by every strategy, beside onnxruntime."""

import json
import os
import subprocess
import sys

import numpy as np
import onnxruntime
import pytest
from conftest import ROOT
from test_random_weights import BINARY

SEED = 7
# The processors of vim3 as parts of one device, which PoCL makes of any processor.
MAPS = {"big": "0/2", "little": "0/1", "gpu": "0/1"}
MODELS = ["squeezenet1_1", "googlenet", "pyschedcl_mha_h2", "vit_base_patch16_224", "raw/mobilenet_v2", "raw/resnet50"]


def plans(directory):
    """One plan a strategy, as far as there are plans of it, with the processors that it uses."""
    chosen = {}
    for path in sorted(directory.glob("*/*.json")):
        plan = json.loads(path.read_text())
        processors = tuple(processor["name"] for processor in plan["processors"])
        chosen.setdefault((plan["strategy"], len(processors)), (path, processors))
    return list(chosen.values())


def inputs(session, seed):
    """Real numbers between -1 and 1, by name."""
    draw = np.random.default_rng(seed)
    return {tensor.name: draw.uniform(-1, 1, tensor.shape).astype(np.float32) for tensor in session.get_inputs()}


def run(plan, processors, model, frame, out):
    options = ["--frames", "3", "--pace", "none", "--weights", f"random:{SEED}", "--output", out, "--quiet"]
    for name, file in frame.items():
        options += ["--input", f"{name}={file}"]
    for name in processors:
        options += ["--map", f"{name}={MAPS[name]}"]
    environment = os.environ | {"POCL_MAX_PTHREAD_COUNT": "4"}
    command = [BINARY, "run", plan, "--model", model, *options]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, f"{plan}\n{done.stderr}"


@pytest.mark.parametrize("name", MODELS)
def test_every_plan_gives_what_onnxruntime_gives(tmp_path, mapped, name):
    model = ROOT / f"models/{name}.onnx"
    filled = tmp_path / "filled.onnx"
    subprocess.run([sys.executable, ROOT / "scripts/random_weights.py", model, str(SEED), filled], check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(filled, options)
    frame = inputs(session, 0)
    expected = session.run(None, frame)
    files = {}
    for index, (tensor, values) in enumerate(frame.items()):
        files[tensor] = tmp_path / f"{index}.npy"
        np.save(files[tensor], values)
    chosen = plans(mapped(model, "--effort", "quick"))
    assert len(chosen) > 1
    for number, (plan, processors) in enumerate(chosen):
        out = tmp_path / f"out-{number}"
        run(plan, processors, model, files, out)
        found = sorted(out.glob("*.npy"))
        assert len(found) == len(expected)
        for output, values in zip(session.get_outputs(), expected):
            file = out / f"{output.name}.npy"
            np.testing.assert_allclose(np.load(file), values, rtol=1e-3, atol=1e-3 * np.abs(values).max(), err_msg=str(plan))
