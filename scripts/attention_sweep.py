#!/usr/bin/env python3
"""Runs heads of attention by every policy and some numbers of queues, and prints a table of median times in milliseconds.

    scripts/attention_sweep.py target/release/pararun --device gpu=gpu --device cpu=cpu --heads 1,2,4,8,12,16 --beta 256
    scripts/attention_sweep.py target/release/pararun --device gpu=gpu --device cpu=cpu --heads 16 --beta 64,128,256,512
    scripts/attention_sweep.py target/release/pararun --device gpu=gpu --device cpu=cpu --full --csv sweep.csv --seconds 2 --stop-after 540

The coarse default is everything on the GPU with one queue; the best fine-grained run is that of the least total time (Ghose et al.,
"PySchedCL", section V).
Without `--full`, two and more queues on the GPU are tried, and one head on the CPU with one to three queues there.
With it, one to five queues on the GPU, one to five on the CPU, and every number of heads on the CPU.
A device that gets no head has 0 queues in the table and in the CSV file, since their number does not matter.

Each configuration is one process, and its frames are as many as `--seconds` allows, judged by the configurations before it; at least
`--least-frames`, at most `--frames`.
`--csv` appends a line as soon as a configuration has run, and what the file has already is not run again, so that a sweep can go on where
`--stop-after` or an interruption has ended it.
Nothing but the standard library is needed; scripts/attention_plots.py draws the file.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples" / "kernels"
COLUMNS = ["heads", "beta", "q_gpu", "q_cpu", "h_cpu", "policy", "frames", "total_ms", "device_span_ms", "host_ms"]
COARSE = ("clustering", 1, 0, 0)
#: What a policy that chooses the device itself gets: one queue on each, since a kernel is a component.
DYNAMIC = [("eager", 1, 1, ""), ("heft", 1, 1, "")]


def numbers(text):
    return [int(part) for part in text.split(",")]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="pararun")
    parser.add_argument("--device", action="append", required=True, help="NAME=DEVICE, one named gpu and one named cpu")
    parser.add_argument("--heads", type=numbers, default=[1, 2, 4, 8, 12, 16])
    parser.add_argument("--beta", type=numbers, default=[256])
    parser.add_argument("--full", action="store_true", help="every number of queues on both devices, and of heads on the CPU")
    parser.add_argument("--queues", type=int, default=5, help="most queues on a device")
    parser.add_argument("--cpu-heads", type=numbers, help="numbers of heads on the CPU that --full tries; all if absent")
    parser.add_argument("--frames", type=int, default=30, help="most frames of a configuration")
    parser.add_argument("--least-frames", type=int, default=5, help="fewest frames of a configuration")
    parser.add_argument("--seconds", type=float, help="time for the frames of a configuration; no limit if absent")
    parser.add_argument("--stop-after", type=float, help="start no configuration after so many seconds")
    parser.add_argument("--tile", type=int, default=16, help="side of a work group of products")
    parser.add_argument("--csv", type=pathlib.Path, help="append a line for each configuration here, and run none that it has")
    asked = parser.parse_args()
    if asked.least_frames < 1 or asked.frames < asked.least_frames:
        parser.error("--least-frames must be 1 to --frames")
    return asked


def configurations(asked, heads):
    """What is run of a number of heads: (policy, q_gpu, q_cpu, h_cpu), the coarse default first and more work for the CPU later."""
    queues = range(1, asked.queues + 1)
    if not asked.full:
        fine = [("clustering", gpu, 0, 0) for gpu in queues if gpu > 1]
        # The CPU has all of one head.
        few = min(3, asked.queues)
        some = [("clustering", few if heads > 1 else 0, cpu, 1) for cpu in range(1, few + 1)]
        return [COARSE, *fine, *some, *DYNAMIC]
    fine = []
    for on_cpu in range(heads + 1):
        if asked.cpu_heads is None or on_cpu in asked.cpu_heads or on_cpu == 0:
            gpu_queues = queues if on_cpu < heads else [0]
            cpu_queues = queues if on_cpu > 0 else [0]
            fine += [("clustering", gpu, cpu, on_cpu) for gpu in gpu_queues for cpu in cpu_queues]
    return [COARSE, *DYNAMIC, *(one for one in fine if one != COARSE)]


def key(row):
    """By what a line of the CSV file is known."""
    return tuple(str(row[column]) for column in ("heads", "beta", "policy", "q_gpu", "q_cpu", "h_cpu"))


def already_run(path):
    """The lines of a file that an earlier sweep wrote, by their keys."""
    if path is None or not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != COLUMNS:
            sys.exit(f"{path}: the first line is not {','.join(COLUMNS)}; name another file, or remove this one")
        rows = list(reader)
    broken = [str(number) for number, row in enumerate(rows, start=2) if None in row or None in row.values()]
    if broken:
        sys.exit(f"{path}: not {len(COLUMNS)} columns in line {', '.join(broken)}; remove that, and the sweep runs it again")
    return {key(row): row for row in rows}


class Sweep:
    """Configurations of one graph after another, and how long they take."""

    def __init__(self, asked, folder):
        self.asked = asked
        self.folder = folder
        self.begin = time.monotonic()
        self.rows = already_run(asked.csv)

    def graph(self, heads, beta):
        path = self.folder / f"attention_h{heads}_b{beta}.graph"
        if not path.exists():
            command = [sys.executable, HERE / "attention_graph.py", "--heads", heads, "--beta", beta, "--tile", self.asked.tile, "-o", path]
            subprocess.run([str(word) for word in command], check=True)
        return path

    def frames(self, heads, beta, policy, on_cpu):
        """As many frames as fit, by the frame with as many heads on the CPU, or the next fewer ones and the growth up to there."""
        if self.asked.seconds is None:
            return self.asked.frames
        totals = {}
        for row in self.rows.values():
            if (row["heads"], row["beta"], row["policy"]) == (str(heads), str(beta), "clustering"):
                count = int(row["h_cpu"])
                totals[count] = max(totals.get(count, 0.0), float(row["total_ms"]))
        if policy != "clustering" or not totals:
            # How much a policy gives to the CPU is not known before.
            return self.asked.least_frames
        fewer = sorted(count for count in totals if count <= on_cpu)
        expected = totals[fewer[-1]]
        if fewer[-1] < on_cpu:
            each = (totals[fewer[-1]] - totals[fewer[0]]) / max(fewer[-1] - fewer[0], 1)
            expected += max(each, 0.0) * (on_cpu - fewer[-1])
        fit = int(self.asked.seconds * 1e3 / max(expected, 1e-3))
        return max(self.asked.least_frames, min(self.asked.frames, fit))

    def run(self, heads, beta, configuration):
        """Runs a configuration unless it has run, and says whether there was time."""
        policy, gpu, cpu, on_cpu = configuration
        row = dict(zip(COLUMNS, map(str, [heads, beta, gpu, cpu, on_cpu, policy])))
        if key(row) in self.rows:
            return True
        if self.asked.stop_after is not None and time.monotonic() - self.begin > self.asked.stop_after:
            return False
        frames = self.frames(heads, beta, policy, on_cpu)
        answer = self.measure(heads, beta, configuration, frames)
        row["frames"] = str(frames)
        for column in ("total", "device_span", "host"):
            row[f"{column}_ms"] = f"{answer[f'{column}_ns'] / 1e6:.4f}"
        self.rows[key(row)] = row
        self.append(row)
        return True

    def measure(self, heads, beta, configuration, frames):
        policy, gpu, cpu, on_cpu = configuration
        devices = [word for device in self.asked.device for word in ("--device", device)]
        command = [self.asked.binary, "schedule", str(self.graph(heads, beta)), "--json", "--kernel-dir", str(EXAMPLES / "info"),
                   "--kernel-dir", str(EXAMPLES / "src"), "--frames", str(frames), *devices, "--policy", policy,
                   "--queues", f"gpu={max(gpu, 1)},cpu={max(cpu, 1)}"]
        if policy == "clustering":
            command += ["--cpu-heads", str(on_cpu)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{run.stderr}")
        return json.loads(run.stdout)

    def append(self, row):
        if self.asked.csv is None:
            return
        is_new = not self.asked.csv.exists()
        with self.asked.csv.open("a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerow(row)

    def table_row(self, heads, beta):
        """A line of the table, as far as its configurations have run."""
        here = [row for row in self.rows.values() if (row["heads"], row["beta"]) == (str(heads), str(beta))]
        by = {(row["policy"], row["q_gpu"], row["q_cpu"], row["h_cpu"]): (float(row["total_ms"]), float(row["device_span_ms"])) for row in here}
        coarse = by.get(tuple(map(str, COARSE)))
        fine = {known: times for known, times in by.items() if known[0] == "clustering" and times is not coarse}
        if coarse is None or not fine:
            return None
        choice, best = min(fine.items(), key=lambda run: run[1][0])
        span = min(times[1] for times in fine.values())
        cells = [heads, beta, f"{coarse[0]:.2f}", f"{best[0]:.2f}", ", ".join(choice[1:])]
        dynamic = [by.get((policy, str(gpu), str(cpu), "")) for policy, gpu, cpu, _ in DYNAMIC]
        cells += [f"{one[0]:.2f}" if one else "–" for one in dynamic]
        cells += [f"{coarse[0] / best[0]:.2f}", f"{coarse[1] / span:.2f}"]
        cells += [f"{one[0] / best[0]:.2f}" if one else "–" for one in dynamic]
        return "| " + " | ".join(map(str, cells)) + " |"


def main():
    asked = arguments()
    print("| H | β | coarse | fine | q_gpu, q_cpu, h_cpu | eager | HEFT | over coarse | over coarse, device span | over eager | over HEFT |")
    print("| --: " * 11 + "|", flush=True)
    missing = 0
    with tempfile.TemporaryDirectory() as folder:
        sweep = Sweep(asked, pathlib.Path(folder))
        for heads in asked.heads:
            for beta in asked.beta:
                missing += sum(not sweep.run(heads, beta, one) for one in configurations(asked, heads))
                line = sweep.table_row(heads, beta)
                if line is not None:
                    print(line, flush=True)
    if missing:
        print(f"{missing} configurations have not run; the same command goes on with them", file=sys.stderr)


if __name__ == "__main__":
    main()
