"""Runs the binary, each model once a session."""

import fcntl
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
    """Maps a model on `vim3` with the options given, once for all processes, and returns the directory.

    A quick search writes the same files by the same rules as a thorough one.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def run(model, *options):
        out = shared / "-".join(["mapped", model.stem, *(option.strip("-") for option in options)])
        with open(f"{out}.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (out / "front.json").exists():
                paracompile(model, "--soc", "vim3", "--out", out, "--no-plots", "--quiet", "--effort", "quick", *options)
        return out

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
