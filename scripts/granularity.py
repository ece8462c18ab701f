#!/usr/bin/env python3
"""Measures granularities of tasks on a set of kernel graphs, from many small kernels to few large ones.

Each run chooses by `--granularity auto` and runs frames of all fixed levels in turn with those of the choice; figures are medians over
runs. Exit code 1 says that the choice is more than 5 % slower than the best fixed level on a graph, or that it is less than twice as
fast as a task a kernel on the graph of many small kernels.

    scripts/granularity.py target/release/pararun --device cpu=cpu
    scripts/granularity.py target/release/pararun --device gpu=cpu/1 --device cpu=cpu/1
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEVELS = ["operator", "branch", "segment", "stage"]
ENOUGH, SMALL_GAIN = 1.05, 2.0


def sines(kernels, elements):
    """Independent kernels of one function."""
    description = {
        "name": "vsin", "source": "vectors.cl", "function": "vsin", "global": ["n"],
        "arguments": [{"name": "a", "in": "float", "size": "n"}, {"name": "b", "out": "float", "size": "n"},
                      {"scalar": "int", "value": "n"}],
    }
    launches = [{"name": f"k{index}", "kernel": "vsin"} for index in range(kernels)]
    return {"schema": 1, "symbols": {"n": elements}, "kernels": [description], "launches": launches, "edges": []}


def graphs(folder):
    """The graphs by name: files from small to large kernels."""

    def written(name, graph):
        path = folder / f"{name}.json"
        path.write_text(json.dumps(graph), encoding="utf-8")
        return path

    def made(script, name, *options):
        path = folder / name
        subprocess.run([sys.executable, ROOT / "scripts" / script, *map(str, options), "-o", path], check=True)
        return path

    def convolution(samples, filters, side):
        name = f"conv_{samples}x{filters}x{side}.json"
        return made("conv_graph.py", name, "--samples", samples, "--filters", filters, "--side", side)

    return {
        "many small": written("many_small", sines(128, 64)),
        "conv 8x4, side 16": convolution(8, 4, 16),
        "attention H=8, beta=64": made("attention_graph.py", "attention_h8_b64.graph", "--heads", 8, "--beta", 64),
        "conv 8x4, side 128": convolution(8, 4, 128),
        "conv 8x4, side 512": convolution(8, 4, 512),
        "few large": written("few_large", sines(4, 1 << 21)),
    }


def run(args, graph):
    """Milliseconds of every level and of the choice, the choice, and the share of time executing."""
    devices = [part for device in args.device for part in ("--device", device)]
    command = [args.pararun, "schedule", graph, "--kernel-dir", ROOT / "examples/kernels/info", "--kernel-dir",
               ROOT / "examples/kernels/src", "--policy", args.policy, *devices, "--granularity", "auto", "--compare-levels",
               "--frames", str(args.frames), "--json"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{graph}: exit {done.returncode}\n{done.stderr}")
    report = json.loads(done.stdout)
    granularity = report["granularity"]
    times = {"auto": report["total_ns"] / 1e6}
    for candidate in granularity["candidates"]:
        for rule in candidate["rules"]:
            if rule in LEVELS:
                times[rule] = candidate["measured_ns"] / 1e6
    return times, granularity["chosen"], report["executing"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("pararun", help="the command")
    parser.add_argument("--device", action="append", required=True, help="as pararun schedule has it; repeat for several")
    parser.add_argument("--policy", default="eager", choices=["eager", "heft"])
    parser.add_argument("--runs", type=int, default=5, help="runs of each graph")
    parser.add_argument("--frames", type=int, default=15, help="frames of each level in a run")
    args = parser.parse_args()
    print("| graph | operator | branch | segment | stage | auto | auto ÷ best | operator ÷ auto | chosen | executing |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path in graphs(pathlib.Path(folder)).items():
            runs = [run(args, path) for _ in range(args.runs)]

            def median(figure):
                return statistics.median(figure(times) for times, _, _ in runs)

            times = {level: median(lambda times, level=level: times[level]) for level in [*LEVELS, "auto"]}
            # Ratios are of figures of the same run, whose frames took turns.
            best = max(median(lambda times, level=level: times["auto"] / times[level]) for level in LEVELS)
            gain = median(lambda times: times["operator"] / times["auto"])
            chosen = statistics.mode(choice for _, choice, _ in runs)
            executing = statistics.median(share for _, _, share in runs)
            cells = [*(f"{times[level]:.3f} ms" for level in [*LEVELS, "auto"]), f"{best:.2f}", f"{gain:.2f}", chosen,
                     f"{100 * executing:.0f} %"]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
            if best > ENOUGH:
                wrong.append(f"{name}: auto takes {best:.2f} times the best fixed level")
            if name == "many small" and gain < SMALL_GAIN:
                wrong.append(f"{name}: a task a kernel takes only {gain:.2f} times auto")
    for line in wrong:
        print(line, file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
