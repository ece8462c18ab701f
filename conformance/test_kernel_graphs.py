"""Kernel graphs compute what numpy does: every example in every form, on one and two processors, by plans and by policies."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import jsonschema_rs
import numpy
import pytest
import random_graphs

from conftest import ROOT, paracompile

PARARUN = pathlib.Path(os.environ.get("PARARUN", ROOT / "target/release/pararun")).resolve()
EXAMPLES = ROOT / "examples/kernels"
#: Devices by number of processors, and their queues.
MACHINES = {1: (["cpu=cpu/2"], "cpu=3"), 2: (["gpu=cpu/2", "cpu=cpu/1"], "gpu=3,cpu=2")}
FORMS = ["as it is", "kernels", "symbolic", "expanded"]
POLICIES = ["clustering", "eager", "heft"]
GRANULARITIES = ["auto", "operator", "branch", "segment", "stage"]


def pararun(*arguments):
    """Runs the command with some compute units to share out, and returns its standard output."""
    assert PARARUN.is_file(), f"{PARARUN} is missing: make build"
    units = {"POCL_MAX_PTHREAD_COUNT": "4", **os.environ}
    done = subprocess.run([PARARUN, *map(str, arguments)], capture_output=True, text=True, cwd=ROOT, env=units)
    assert done.returncode == 0, f"{arguments}: exit {done.returncode}\n{done.stderr}"
    return done.stdout


# What each kernel computes.


def product(a, b):
    return a.astype(numpy.float64) @ b


def softmax(x):
    e = numpy.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def group_sums(x, size):
    return x.reshape(-1, size).sum(axis=1)


def add_group(x, sums, size):
    return x + numpy.repeat(sums, size)


def edges(inputs):
    """Binomial smoothing, Sobel's derivatives and their length, as scipy would with the nearest pixel outside."""
    image = inputs["smooth.blur[0]"].astype(numpy.float64)

    def correlated(image, rows, columns):
        padded = numpy.pad(image, 1, mode="edge")
        height, width = image.shape
        return sum(
            rows[i] * columns[j] * padded[i : i + height, j : j + width] for i in range(3) for j in range(3)
        )

    smooth = correlated(image, [1, 2, 1], [1, 2, 1]) / 16
    horizontal = correlated(smooth, [1, 2, 1], [-1, 0, 1]) / 8
    vertical = correlated(smooth, [-1, 0, 1], [1, 2, 1]) / 8
    return {"edges.magnitude[2]": numpy.hypot(horizontal, vertical)}


# What each graph computes: the shapes of its inputs, and its outputs of them.


def vadd_vsin(inputs):
    return {"sum.vadd[2]": numpy.sin(inputs["left.vsin[0]"]) + numpy.sin(inputs["right.vsin[0]"])}


def irregular(inputs):
    a = numpy.sin(inputs["a.vsin[0]"].astype(numpy.float64))
    b = 0.5 * a
    c = a + b
    f = add_group(0.5 * c, group_sums(b, 64), 64)
    return {"i.vadd[2]": c + f + numpy.sin(0.25)}


def attention(heads):
    def compute(inputs):
        outputs = {}
        for base in range(0, 9 * heads, 9):
            x = inputs[f"{base + 8}.empty[0]:in"]
            q, k, v = (product(x, inputs[f"{base + i}.FFC_sans_bias[1]"]) for i in range(3))
            weighted = product(softmax(product(q, k.T)), v)
            outputs[f"{base + 7}.FFC_sans_bias[2]"] = product(weighted, inputs[f"{base + 7}.FFC_sans_bias[1]"])
        return outputs

    return compute


def attention_inputs(heads, beta):
    weights = [f"{base + i}.FFC_sans_bias[1]" for base in range(0, 9 * heads, 9) for i in (0, 1, 2, 7)]
    copies = [f"{base + 8}.empty[0]:in" for base in range(0, 9 * heads, 9)]
    return {name: (beta, beta) for name in weights + copies}


def conv_forward(samples, filters, side):
    def compute(inputs):
        outputs = {}
        for sample in range(samples):
            x = numpy.pad(inputs[f"s{sample}.pad[0]"].astype(numpy.float64), 1)
            for name in (f"s{sample}f{index}" for index in range(filters)):
                windows = numpy.lib.stride_tricks.sliding_window_view(x, (3, 3))
                convolved = numpy.einsum("ijkl,kl->ij", windows, inputs[f"{name}.conv2d[1]"])
                outputs[f"{name}b.add[0]"] = convolved + inputs[f"{name}b.add[1]"]
        return outputs

    return compute


def conv_inputs(samples, filters, side):
    inputs = {}
    for sample in range(samples):
        inputs[f"s{sample}.pad[0]"] = (side, side)
        for name in (f"s{sample}f{index}" for index in range(filters)):
            inputs |= {f"{name}.conv2d[1]": (3, 3), f"{name}b.add[1]": (1,)}
    return inputs


GRAPHS = {
    "vadd_vsin.json": (vadd_vsin, {"left.vsin[0]": (65536,), "right.vsin[0]": (65536,)}),
    "irregular.json": (irregular, {"a.vsin[0]": (16384,)}),
    "guide/edges.json": (edges, {"smooth.blur[0]": (512, 512)}),
    "attention_h2_b64.graph": (attention(2), attention_inputs(2, 64)),
    "attention_h3_b128.graph": (attention(3), attention_inputs(3, 128)),
    "conv_forward.json": (conv_forward(2, 2, 16), conv_inputs(2, 2, 16)),
}
#: PySchedCL's forms have neither queues nor initial contents nor decimal values of their own.
ONE_FORM = {"irregular.json"}
CASES = [(name, form) for name in GRAPHS for form in FORMS if form == "as it is" or name not in ONE_FORM]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    """The file of a graph in a form, made once."""
    made = {}

    def find(name, form):
        if (name, form) not in made:
            made[name, form] = make(name, form, tmp_path_factory.mktemp("graph"))
        return made[name, form]

    return find


def make(name, form, folder):
    source = EXAMPLES / name
    if not source.is_file():
        heads, beta = re.fullmatch(r"attention_h(\d+)_b(\d+)\.graph", name).groups()
        source = folder / name
        script = ROOT / "scripts/attention_graph.py"
        subprocess.run([sys.executable, script, "--heads", heads, "--beta", beta, "-o", source], check=True)
    if form == "as it is":
        return source
    out = folder / ("converted.graph" if form == "symbolic" else "converted.json")
    paracompile("convert", source, "--kernel-dir", EXAMPLES / "info", "--format", form, "-o", out)
    return out


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Files of inputs, as options, and what numpy makes of them."""

    def make_data(name):
        compute, shapes = GRAPHS[name]
        random = numpy.random.default_rng(11)
        folder = tmp_path_factory.mktemp("inputs")
        inputs, options = {}, []
        for index, (tensor, shape) in enumerate(shapes.items()):
            # Scores of attention stay small, so that softmax has something to do.
            scale = 1 / numpy.sqrt(shape[-1]) if len(shape) == 2 else 1
            inputs[tensor] = (scale * random.uniform(-1, 1, shape)).astype(numpy.float32)
            path = folder / f"{index}.npy"
            numpy.save(path, inputs[tensor])
            options += ["--input", f"{tensor}={path}"]
        return options, compute(inputs)

    return make_data


def compare(folder, expected, exactly=False):
    files = {path.name for path in folder.iterdir()}
    names = {tensor: re.sub(r"[^A-Za-z0-9._-]", "_", tensor) + ".npy" for tensor in expected}
    assert files == set(names.values())
    for tensor, values in expected.items():
        found = numpy.load(folder / names[tensor])
        rtol, atol = (0, 0) if exactly else (1e-3, 1e-5)
        numpy.testing.assert_allclose(found, values.ravel(), rtol=rtol, atol=atol, err_msg=tensor)


def folders(name):
    """Where descriptions and sources lie, of graphs that lie elsewhere."""
    return ["--kernel-dir", EXAMPLES / "info", "--kernel-dir", EXAMPLES / "src", "--kernel-dir", EXAMPLES / "guide"]


@pytest.mark.parametrize(("name", "form"), CASES)
@pytest.mark.parametrize("policy", POLICIES)
def test_policies(name, form, policy, graphs, data, tmp_path):
    options, expected = data(name)
    devices, queues = MACHINES[2]
    asked = [part for device in devices for part in ("--device", device)]
    text = pararun(
        "schedule", graphs(name, form), *folders(name), "--policy", policy, *asked, "--queues", queues, "--frames", 3,
        *options, "--output", tmp_path / "out", "--json",
    )
    report = json.loads(text)
    schema = json.loads((ROOT / "docs/schema/schedule.schema.json").read_text())
    jsonschema_rs.Draft202012Validator(schema).validate(report)
    assert report["total_ns"] >= report["device_span_ns"] > 0
    compare(tmp_path / "out", expected)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("level", GRANULARITIES)
@pytest.mark.parametrize("policy", ["eager", "heft"])
def test_granularities(name, level, policy, graphs, data, tmp_path):
    options, expected = data(name)
    devices, queues = MACHINES[2]
    asked = [part for device in devices for part in ("--device", device)]
    text = pararun(
        "schedule", graphs(name, "as it is"), *folders(name), "--policy", policy, *asked, "--queues", queues, "--frames", 3,
        "--granularity", level, *options, "--output", tmp_path / "out", "--json",
    )
    report = json.loads(text)
    assert report["granularity"]["tasks"] == report["components"] <= report["kernels"]
    compare(tmp_path / "out", expected)


@pytest.mark.parametrize(
    ("name", "form", "processors"),
    [(name, form, 1) for name, form in CASES] + [(name, "as it is", 2) for name in GRAPHS],
)
def test_plans(name, form, processors, graphs, data, tmp_path):
    graph = graphs(name, form)
    options, expected = data(name)
    devices, _ = MACHINES[processors]
    asked = [part for device in devices for part in ("--device", device)]
    soc = tmp_path / "soc.json"
    pararun("profile", graph, *folders(name), *asked, "--queues", 3, "--budget", 4, "-o", soc, "--quiet")
    (costs,) = (tmp_path / "soc.costs").iterdir()
    out = tmp_path / "plans"
    paracompile(graph, *folders(name)[:2], "--soc", soc, "--costs", costs, "--out", out, "--no-plots", "--quiet")
    plans = sorted(out.glob("*/*.json"))
    assert plans
    maps = [part for device in devices for part in ("--map", device)]
    for index, plan in enumerate(plans):
        results = tmp_path / f"out{index}"
        pararun(
            "run", plan, "--model", graph, *folders(name), *maps, "--frames", 5, *options,
            "--output", results, "--quiet",
        )
        compare(results, expected)


@pytest.mark.parametrize("level", ["branch", "segment", "stage", "auto"])
@pytest.mark.parametrize("name", ["irregular.json", "conv_forward.json", "attention_h2_b64.graph"])
def test_tasks_of_several_kernels(name, level, graphs, data, tmp_path):
    """Every granularity computes the same."""
    graph = graphs(name, "as it is")
    options, expected = data(name)
    devices, _ = MACHINES[2]
    asked = [part for device in devices for part in ("--device", device)]
    soc = tmp_path / "soc.json"
    pararun("profile", graph, *folders(name), *asked, "--queues", 1, "--budget", 4, "-o", soc, "--quiet")
    profile = json.loads(soc.read_text())
    for processor in profile["processors"]:
        # Dispatching takes as long as ten of these kernels, so that tasks are fused.
        processor["dispatch_s"] = 1e-3
    soc.write_text(json.dumps(profile))
    (costs,) = (tmp_path / "soc.costs").iterdir()
    out = tmp_path / "plans"
    paracompile(
        graph, *folders(name)[:2], "--soc", soc, "--costs", costs, "--out", out, "--no-plots", "--quiet",
        "--granularity", level, "--effort", "quick",
    )
    front = json.loads((out / "front.json").read_text())
    plan = out / front["recommended"]
    tasks = json.loads(plan.read_text())["tasks"]
    assert front["granularity"]["tasks"] == len(tasks)
    # The irregular graph has no chains.
    assert (name, level) == ("irregular.json", "branch") or any(len(task["operators"]) > 1 for task in tasks)
    maps = [part for device in devices for part in ("--map", device)]
    pararun(
        "run", plan, "--model", graph, *folders(name), *maps, "--frames", 5, *options,
        "--output", tmp_path / "out", "--quiet",
    )
    compare(tmp_path / "out", expected)


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs(seed, tmp_path):
    """Random graphs of exact kernels, mapped for a GPU with a memory of its own: what every plan and every policy computes is exact."""
    graph = tmp_path / "graph.json"
    options, outputs = random_graphs.write(tmp_path, seed)
    profile = json.loads((ROOT / "profiles/examples/cpu-gpu-pcie.json").read_text())
    for processor in profile["processors"]:
        # Dispatching takes as long as some of these kernels, so that tasks are fused.
        processor["dispatch_s"] = 1e-4
    soc = tmp_path / "soc.json"
    soc.write_text(json.dumps(profile))
    chip = ["--soc", soc, "--costs", tmp_path / "costs.json"]
    devices, _ = MACHINES[2]
    level = GRANULARITIES[seed % len(GRANULARITIES)]
    for asked in ([], ["--granularity", level]):
        out = tmp_path / f"plans{len(asked)}"
        paracompile(graph, *chip, *asked, "--out", out, "--no-plots", "--no-report", "--quiet", "--effort", "quick")
        plans = sorted(out.glob("*/*.json"))
        paracompile("check", out, "--model", graph, *chip)
        maps = [part for device in devices for part in ("--map", device)]
        # Plans on one processor are like each other.
        for index, plan in enumerate(plan for plan in plans if "single" not in plan.name):
            results = out / f"results{index}"
            pararun("run", plan, "--model", graph, *maps, "--frames", 3, "--pace", "none", *options, "--output", results, "--quiet")
            compare(results, outputs, exactly=True)
    machine = [part for device in devices for part in ("--device", device)]
    for policy in POLICIES:
        asked = [] if policy == "clustering" else ["--granularity", level]
        results = tmp_path / policy
        pararun(
            "schedule", graph, "--policy", policy, *machine, *asked, "--frames", 2, *options, "--output", results, "--json",
        )
        compare(results, outputs, exactly=True)


def test_check_builds_sources(tmp_path):
    """A source that no longer builds is told by `check`, with file and line, and nothing runs."""
    folder = tmp_path / "guide"
    shutil.copytree(EXAMPLES / "guide", folder)
    graph, soc = folder / "edges.json", tmp_path / "soc.json"
    pararun("profile", graph, "--device", "cpu=cpu/2", "--queues", 1, "--budget", 4, "-o", soc, "--quiet")
    paracompile(graph, "--soc", soc, "--costs", tmp_path / "soc.costs/edges.json", "--out", tmp_path / "out", "--no-plots", "--quiet")
    plan = sorted((tmp_path / "out/plans").iterdir())[0]
    check = ["check", plan, "--model", graph, "--map", "cpu=cpu/2"]
    assert "go together" in pararun(*check)
    source = folder / "magnitude.cl"
    source.write_text(source.read_text().replace("sqrt(", "nothing("))
    done = subprocess.run([PARARUN, *map(str, check)], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2
    assert "magnitude.cl:5" in done.stderr and "nothing" in done.stderr, done.stderr
