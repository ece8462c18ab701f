#!/usr/bin/env python3
"""Runs heads of attention by every policy and some numbers of queues, and prints a table of median times in milliseconds.

    scripts/attention_sweep.py target/release/pararun --device gpu=gpu --device cpu=cpu --heads 1,2,4,8,12,16 --beta 256
    scripts/attention_sweep.py target/release/pararun --device gpu=gpu --device cpu=cpu --heads 16 --beta 64,128,256,512

The coarse default is everything on the GPU with one queue; the best fine-grained run is that of the least total time among two and more
queues on the GPU, and one head on the CPU with one to three queues there (Ghose et al., "PySchedCL", section V).
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples" / "kernels"


def numbers(text):
    return [int(part) for part in text.split(",")]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="pararun")
    parser.add_argument("--device", action="append", required=True, help="NAME=DEVICE, one named gpu and one named cpu")
    parser.add_argument("--heads", type=numbers, default=[1, 2, 4, 8, 12, 16])
    parser.add_argument("--beta", type=numbers, default=[256])
    parser.add_argument("--queues", type=int, default=5, help="most queues on the GPU")
    parser.add_argument("--frames", type=int, default=30)
    parser.add_argument("--tile", type=int, default=16, help="side of a work group of products")
    return parser.parse_args()


def measured(asked, graph, *policy):
    """Total time and device span of a frame in milliseconds."""
    devices = [word for device in asked.device for word in ("--device", device)]
    command = [asked.binary, "schedule", str(graph), "--json", "--kernel-dir", str(EXAMPLES / "info"),
               "--kernel-dir", str(EXAMPLES / "src"), "--frames", str(asked.frames), *devices, *policy]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{run.stderr}")
    answer = json.loads(run.stdout)
    return answer["total_ns"] / 1e6, answer["device_span_ns"] / 1e6


def clustering(gpu, cpu, heads):
    return ("--policy", "clustering", "--queues", f"gpu={gpu},cpu={cpu}", "--cpu-heads", str(heads))


def row(asked, heads, beta, folder):
    graph = folder / f"attention_h{heads}_b{beta}.graph"
    subprocess.run([sys.executable, HERE / "attention_graph.py", "--heads", str(heads), "--beta", str(beta), "--tile", str(asked.tile),
                    "-o", graph], check=True)
    coarse = measured(asked, graph, *clustering(1, 1, 0))
    fine = {(gpu, 1, 0): measured(asked, graph, *clustering(gpu, 1, 0)) for gpu in range(2, asked.queues + 1)}
    fine |= {(3, cpu, 1): measured(asked, graph, *clustering(3, cpu, 1)) for cpu in range(1, 4)}
    choice, best = min(fine.items(), key=lambda run: run[1][0])
    eager = measured(asked, graph, "--policy", "eager")
    heft = measured(asked, graph, "--policy", "heft")
    span = min(span for _, span in fine.values())
    cells = [heads, beta, f"{coarse[0]:.2f}", f"{best[0]:.2f}", "{}, {}, {}".format(*choice), f"{eager[0]:.2f}", f"{heft[0]:.2f}",
             f"{coarse[0] / best[0]:.2f}", f"{coarse[1] / span:.2f}", f"{eager[0] / best[0]:.2f}", f"{heft[0] / best[0]:.2f}"]
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def main():
    asked = arguments()
    print("| H | β | coarse | fine | q_gpu, q_cpu, h_cpu | eager | HEFT | over coarse | over coarse, device span | over eager | over HEFT |")
    print("| --: " * 11 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for heads in asked.heads:
            for beta in asked.beta:
                row(asked, heads, beta, pathlib.Path(folder))


if __name__ == "__main__":
    main()
