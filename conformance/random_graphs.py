"""Random kernel graphs whose values are whole numbers below a prime, so that what they compute is exact and a slip shows."""

import json
import random

import numpy

#: Values stay below it, and a float holds all of their sums and small multiples.
PRIME = 1009
ELEMENTS = 256

SOURCE = f"""
#define AT get_global_id(0)
#define N {ELEMENTS}
#define P {PRIME}.0f
kernel void line(global const float *a, global float *b, int k) {{ b[AT] = fmod(2.0f * a[AT] + (float)k, P); }}
kernel void turn(global const float *a, global float *b) {{ b[AT] = a[(AT + 1) % N]; }}
kernel void sum(global const float *a, global const float *b, global float *c) {{ c[AT] = fmod(a[AT] + b[AT], P); }}
kernel void fork(global const float *a, global float *b, global float *c) {{ b[AT] = fmod(3.0f * a[AT], P); c[AT] = a[N - 1 - AT]; }}
kernel void bump(global float *x, int k) {{ x[AT] = fmod(5.0f * x[AT] + (float)k, P); }}
kernel void gain(global float *x, global const float *y) {{ x[AT] = fmod(x[AT] + 7.0f * y[(AT + 3) % N], P); }}
"""

#: Arguments of each kernel, in their order: name and direction; and what is written of what is read.
KERNELS = {
    "line": ([("a", "in"), ("b", "out")], lambda k, a: {"b": 2 * a + k}),
    "turn": ([("a", "in"), ("b", "out")], lambda k, a: {"b": numpy.roll(a, -1)}),
    "sum": ([("a", "in"), ("b", "in"), ("c", "out")], lambda k, a, b: {"c": a + b}),
    "fork": ([("a", "in"), ("b", "out"), ("c", "out")], lambda k, a: {"b": 3 * a, "c": a[::-1]}),
    "bump": ([("x", "inout")], lambda k, x: {"x": 5 * x + k}),
    "gain": ([("x", "inout"), ("y", "in")], lambda k, x, y: {"x": x + 7 * numpy.roll(y, -3)}),
}
TAKES_K = {"line", "bump"}


def description(name):
    arguments = [{"name": argument, direction: "float", "size": "n"} for argument, direction in KERNELS[name][0]]
    if name in TAKES_K:
        arguments.append({"scalar": "int", "value": "k"})
    return {"name": name, "source": "exact.cl", "function": name, "global": ["n"], "arguments": arguments}


def random_graph(seed):
    """A graph, its inputs, and its outputs, by tensor."""
    chance = random.Random(seed)
    inputs, written, read, launches, edges = {}, {}, set(), [], []
    has_components = chance.random() < 0.5
    for index in range(chance.randint(3, 24)):
        kind = chance.choice(list(KERNELS))
        arguments, compute = KERNELS[kind]
        name, k, values = f"k{index}", chance.randrange(PRIME), []
        for place, (argument, direction) in enumerate(arguments):
            if direction == "out":
                continue
            # Mostly something recent, so that chains, forks and joins arise.
            if written and chance.random() < 0.8:
                source = chance.choice(list(written)[-4:])
                edges.append({"from": ".".join(source), "to": f"{name}.{argument}"})
                read.add(source)
                values.append(written[source][1])
            else:
                tensor = f"{name}.{kind}[{place}]" + (":in" if direction == "inout" else "")
                value = numpy.random.default_rng([seed, index, place]).integers(0, PRIME, ELEMENTS)
                inputs[tensor] = value.astype(numpy.float32)
                values.append(value)
        for argument, value in compute(k, *values).items():
            place = [one for one, _ in arguments].index(argument)
            written[name, argument] = f"{name}.{kind}[{place}]", value % PRIME
        launch = {"name": name, "kernel": kind, "device": chance.choice(["gpu", "cpu"])}
        if kind in TAKES_K:
            launch["symbols"] = {"k": k}
        if has_components:
            # Runs of launches, which wait for each other in no circle.
            launch["component"] = index // 4
            launch["device"] = ["gpu", "cpu"][index // 4 % 2]
        if index and chance.random() < 0.1:
            launch["after"] = [f"k{chance.randrange(index)}"]
        launches.append(launch)
    kernels = [description(name) for name in KERNELS]
    graph = {"schema": 1, "symbols": {"n": ELEMENTS}, "kernels": kernels, "launches": launches, "edges": edges}
    outputs = {tensor: value for key, (tensor, value) in written.items() if key not in read}
    return graph, inputs, outputs


def random_costs(seed, graph):
    """Times of the kernels in PySchedCL's form, from a microsecond to a millisecond."""
    chance = random.Random(seed)
    return {kernel["name"]: {f"exec_{device}": 10 ** chance.uniform(-6, -3) for device in ("gpu", "cpu")} for kernel in graph["kernels"]}


def write(folder, seed):
    """Puts the graph of a seed with its source, costs and inputs into a folder; the options of its inputs, and its outputs."""
    graph, inputs, outputs = random_graph(seed)
    (folder / "graph.json").write_text(json.dumps(graph))
    (folder / "exact.cl").write_text(SOURCE)
    (folder / "costs.json").write_text(json.dumps(random_costs(seed, graph)))
    options = []
    for index, (tensor, values) in enumerate(inputs.items()):
        numpy.save(folder / f"in{index}.npy", values)
        options += ["--input", f"{tensor}={folder / f'in{index}.npy'}"]
    return options, outputs
