"""Runs the binary, each model once a session."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = sorted((ROOT / "models").glob("*.onnx"))
BINARY = pathlib.Path(os.environ.get("PARACOMPILE", ROOT / "target/release/paracompile")).resolve()


# Schedules that are there to be compared with, and are proven to be near nothing.
HEURISTICS = {f"{name}.json" for name in ("layer-switched", "heft", "cpop", "peft", "lookahead-heft")}


def paracompile(*arguments):
    """Runs the command and returns its standard output; a failure shows what it said."""
    assert BINARY.is_file(), f"{BINARY} is missing: make build"
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, f"{arguments}: exit {done.returncode}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def mapped(tmp_path_factory):
    """Maps a model on `vim3` with the options given, once, and returns the directory."""
    directories = {}

    def run(model, *options):
        key = (model, options)
        if key not in directories:
            out = tmp_path_factory.mktemp(model.stem)
            paracompile(model, "--soc", "vim3", "--out", out, "--no-plots", "--quiet", *options)
            directories[key] = out
        return directories[key]

    return run


@pytest.fixture(params=MODELS, ids=lambda path: path.stem)
def model(request):
    """Each network of `models/`."""
    return request.param


def plan_files(directory):
    """All plans below a directory, baselines included."""
    files = sorted(directory.glob("*/*.json"))
    assert files, f"no plans in {directory}"
    return files
