#!/usr/bin/env python3
"""Holds `paracompile cluster` against this machine: heads of attention, predicted from a profile of the machine, beside what they take.

    scripts/attention_prediction.py target/release/paracompile target/release/pararun --device gpu=gpu --device cpu=cpu --heads 1,4,16 --beta 256
    scripts/attention_prediction.py --csv prediction.csv

Each graph is measured kernel by kernel (`pararun profile`), predicted for every number of queues and of heads on the CPU (`paracompile
cluster`), and run (`pararun sweep`).
The regret is what the measured total time of the predicted choice lies above the best that was measured; errors are of all
configurations that were both predicted and run.
`--csv` appends the configurations of each graph when it has ended; with `--csv` alone, the table is of what the file has.
Nothing but the standard library is needed.
"""

import argparse
import csv
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import attention_sweep

COLUMNS = ["heads", "beta", "q_gpu", "q_cpu", "h_cpu", "predicted_total_ms", "predicted_span_ms", "frames", "total_ms", "device_span_ms"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("compiler", nargs="?", help="paracompile")
    parser.add_argument("binary", nargs="?", help="pararun")
    attention_sweep.add_runs(parser, 12)
    parser.add_argument("--csv", type=pathlib.Path, help="append a line for each configuration here")
    asked = parser.parse_args()
    if asked.binary is None and asked.csv is None:
        parser.error("name paracompile and pararun, or --csv with a file that has been measured")
    if asked.binary is not None and len(asked.device) != 2:
        parser.error("--device is asked for twice: gpu=… and cpu=…")
    return asked


def run(command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def predicted(asked, heads, beta, folder):
    """Milliseconds of the total time and of the device span by (q_gpu, q_cpu, h_cpu)."""
    graph = folder / f"attention_h{heads}_b{beta}.graph"
    run([sys.executable, attention_sweep.HERE / "attention_graph.py", "--heads", heads, "--beta", beta, "--tile", asked.tile, "-o", graph])
    kernels = ["--kernel-dir", attention_sweep.EXAMPLES / "info", "--kernel-dir", attention_sweep.EXAMPLES / "src"]
    devices = [part for device in asked.device for part in ("--device", device)]
    chip = folder / "chip.json"
    run([asked.binary, "profile", graph, *kernels, *devices, "--queues", asked.queues, "--quiet", "-o", chip])
    costs = folder / "chip.costs" / f"{graph.stem}.json"
    answer = json.loads(run([asked.compiler, "cluster", graph, *kernels, "--soc", chip, "--costs", costs, "--json"]))
    return {(str(one["queues"]["gpu"]), str(one["queues"]["cpu"]), str(one["cpu_heads"])): (one["total_ns"] / 1e6, one["device_span_ns"] / 1e6)
            for one in answer["configurations"]}


def measure(asked, heads, beta, folder):
    """The lines of a graph; a configuration that was run but is not on offer by the profile has no prediction."""
    known = predicted(asked, heads, beta, folder)
    lines = []
    for row in attention_sweep.measure(asked, heads, beta, folder):
        if row["policy"] == "clustering":
            total, span = known.get((row["q_gpu"], row["q_cpu"], row["h_cpu"]), (None, None))
            guess = {"predicted_total_ms": total and f"{total:.3f}", "predicted_span_ms": span and f"{span:.3f}"}
            lines.append({column: {**row, **guess}[column] or "" for column in COLUMNS})
    return lines


def table_row(rows):
    """A line of the table from the lines of one graph."""

    def choice(row):
        return ", ".join(row[name] for name in ("q_gpu", "q_cpu", "h_cpu"))

    both = [row for row in rows if row["predicted_total_ms"]]
    chosen = min(both, key=lambda row: float(row["predicted_total_ms"]))
    best = min(rows, key=lambda row: float(row["total_ms"]))
    regret = float(chosen["total_ms"]) / float(best["total_ms"]) - 1
    off = [abs(float(row["predicted_total_ms"]) / float(row["total_ms"]) - 1) for row in both]
    cells = [rows[0]["heads"], rows[0]["beta"], choice(chosen), f"{float(chosen['predicted_total_ms']):.2f}", f"{float(chosen['total_ms']):.2f}",
             choice(best), f"{float(best['total_ms']):.2f}", f"{100 * regret:.1f} %", str(len(both)), f"{100 * statistics.median(off):.0f} %",
             f"{100 * max(off):.0f} %"]
    return "| " + " | ".join(cells) + " |"


def main():
    asked = arguments()
    print("| H | β | choice | predicted | measured | best | measured | regret | configurations | median error | at most |")
    print("| --: " * 11 + "|", flush=True)
    if asked.binary is None:
        by_graph = {}
        with asked.csv.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                by_graph.setdefault((int(row["beta"]), int(row["heads"])), []).append(row)
        for graph in sorted(by_graph):
            print(table_row(by_graph[graph]))
        return
    with tempfile.TemporaryDirectory() as folder:
        for beta in asked.beta:
            for heads in asked.heads:
                rows = measure(asked, heads, beta, pathlib.Path(folder))
                attention_sweep.append(asked.csv, rows, COLUMNS)
                print(table_row(rows), flush=True)


if __name__ == "__main__":
    main()
