#!/usr/bin/env python3
"""Runs heads of attention by clustering with every number of queues, and by the other policies, and prints a table of median times in milliseconds.

    scripts/attention_sweep.py target/release/pararun --device gpu=gpu --device cpu=cpu --heads 1,2,4,8,12,16 --beta 256
    scripts/attention_sweep.py target/release/pararun --device gpu=gpu --device cpu=cpu --heads 16 --beta 64,128,256,512 --cpu-heads 1
    scripts/attention_sweep.py --csv sweep.csv

The coarse default is everything on the GPU with one queue; the best fine-grained run is that of the least total time (Ghose et al.,
"PySchedCL", section V).
One to five queues on the GPU, one to five on the CPU, and every number of heads on the CPU are tried, or up to `--cpu-heads`.
A device that gets no head has 0 queues in the table and in the CSV file.

Each graph is one `pararun sweep`. `--csv` appends its lines when it has ended, and a graph that the file has already is not run again.
With `--csv` alone, the table is of what the file has.
Nothing but the standard library is needed; scripts/attention_plots.py draws the file.
"""

import argparse
import csv
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples" / "kernels"
COLUMNS = ["heads", "beta", "q_gpu", "q_cpu", "h_cpu", "policy", "frames", "total_ms", "device_span_ms", "host_ms"]
COARSE = ("clustering", "1", "0", "0")


def numbers(text):
    return [int(part) for part in text.split(",")]


def add_runs(parser, frames):
    """The options of what runs where, and how often."""
    parser.add_argument("--device", action="append", default=[], help="NAME=DEVICE, one named gpu and one named cpu")
    parser.add_argument("--heads", type=numbers, default=[1, 2, 4, 8, 12, 16])
    parser.add_argument("--beta", type=numbers, default=[256])
    parser.add_argument("--queues", type=int, default=5, help="most queues on a device")
    parser.add_argument("--cpu-heads", type=int, help="most heads on the CPU; all if absent")
    parser.add_argument("--frames", type=int, default=frames, help="frames of a configuration")
    parser.add_argument("--seconds", type=int, default=1, help="fewer frames of a configuration, but three, where they take so long")
    parser.add_argument("--tile", type=int, default=16, help="side of a work group of products")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?", help="pararun")
    add_runs(parser, 20)
    parser.add_argument("--csv", type=pathlib.Path, help="append a line for each configuration here, and run no graph that it has")
    asked = parser.parse_args()
    if asked.binary is None and asked.csv is None:
        parser.error("name pararun, or --csv with a file that has been measured")
    if asked.binary is not None and len(asked.device) != 2:
        parser.error("--device is asked for twice: gpu=… and cpu=…")
    return asked


def already_run(path):
    """The lines of a file that an earlier sweep wrote."""
    if path is None or not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != COLUMNS:
            sys.exit(f"{path}: the first line is not {','.join(COLUMNS)}; name another file, or remove this one")
        return list(reader)


def measure(asked, heads, beta, folder):
    """The lines of a graph."""
    graph = folder / f"attention_h{heads}_b{beta}.graph"
    subprocess.run([sys.executable, str(HERE / "attention_graph.py"), "--heads", str(heads), "--beta", str(beta), "--tile", str(asked.tile),
                    "-o", str(graph)], check=True)
    command = [asked.binary, "sweep", str(graph), "--kernel-dir", str(EXAMPLES / "info"), "--kernel-dir", str(EXAMPLES / "src"),
               "--frames", str(asked.frames), "--seconds", str(asked.seconds)]
    for device in asked.device:
        command += ["--device", device, "--queues", f"{device.split('=')[0]}={asked.queues}"]
    if asked.cpu_heads is not None:
        command += ["--cpu-heads", str(min(asked.cpu_heads, heads))]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {run.returncode}")
    return [{"heads": str(heads), "beta": str(beta), **row} for row in csv.DictReader(run.stdout.splitlines())]


def append(path, rows, columns=None):
    """Adds lines to a file, which begins with the names of the columns."""
    if path is None:
        return
    is_new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns or COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(rows)


def table_row(rows):
    """A line of the table from the lines of one graph."""
    by = {(row["policy"], row["q_gpu"], row["q_cpu"], row["h_cpu"]): (float(row["total_ms"]), float(row["device_span_ms"])) for row in rows}
    dynamic = [by[(policy, "1", "1", "")] for policy in ("eager", "heft")]
    coarse = by[COARSE]
    fine = {known: times for known, times in by.items() if known[0] == "clustering" and known != COARSE}
    choice, best = min(fine.items(), key=lambda run: run[1][0])
    span = min(times[1] for times in fine.values())
    times = [coarse[0], best[0], ", ".join(choice[1:]), dynamic[0][0], dynamic[1][0]]
    ratios = [coarse[0] / best[0], coarse[1] / span, dynamic[0][0] / best[0], dynamic[1][0] / best[0]]
    cells = [rows[0]["heads"], rows[0]["beta"], *times, *ratios]
    return "| " + " | ".join(f"{cell:.2f}" if isinstance(cell, float) else cell for cell in cells) + " |"


def main():
    asked = arguments()
    print("| H | β | coarse | fine | q_gpu, q_cpu, h_cpu | eager | HEFT | over coarse | over coarse, device span | over eager | over HEFT |")
    print("| --: " * 11 + "|", flush=True)
    known = {}
    for row in already_run(asked.csv):
        known.setdefault((int(row["heads"]), int(row["beta"])), []).append(row)
    graphs = [(heads, beta) for heads in asked.heads for beta in asked.beta] if asked.binary else sorted(known, key=lambda graph: graph[::-1])
    with tempfile.TemporaryDirectory() as folder:
        for graph in graphs:
            rows = known.get(graph)
            if rows is None:
                rows = measure(asked, *graph, pathlib.Path(folder))
                append(asked.csv, rows)
            print(table_row(rows), flush=True)


if __name__ == "__main__":
    main()
