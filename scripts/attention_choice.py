#!/usr/bin/env python3
"""Holds `paracompile cluster` against the measurements that PySchedCL was published with: heads of attention on a GPU and a CPU.

    scripts/attention_choice.py target/release/paracompile --data DIR

DIR has the files of github anighose25/pyschedcl-concurrent (MIT licence): `info/` with descriptions of kernels, `costs/b256.json` with their
times, and `measured_beta256.csv` with total times and device spans of every (q_gpu, q_cpu, h_cpu) for 1 to 16 heads.
Graphs come from scripts/attention_graph.py and links from profiles/examples/cpu-gpu-pcie.json; there the CPU gets a memory of its own, with
the links of the GPU, since the paper's `enq` puts writes and reads on the queues of every device.
One coefficient is fitted, the host's time a kernel: the mean of (total time - device span) / kernels over the rows of 1 and 2 heads.
Everything is enqueued before devices begin, as the spans say, which hold no time of the host.
Exits with 1 where the choice for some number of heads is more than 5 % slower than the best that was measured.
"""

import argparse
import csv
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROFILE = HERE.parent / "profiles" / "examples" / "cpu-gpu-pcie.json"
FITTED = (1, 2)
CHOSEN = (4, 8, 12, 16)
KERNELS_OF_A_HEAD = 9
MOST_REGRET = 0.05


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="paracompile")
    parser.add_argument("--data", type=pathlib.Path, required=True, metavar="DIR", help="the published files")
    parser.add_argument("--beta", type=int, default=256, help="rows and columns of all matrices")
    parser.add_argument("--enqueue", type=float, metavar="SECONDS", help="the host's time a kernel, instead of fitting it")
    parser.add_argument("--host-memory", action="store_true", help="leave the CPU in the host's memory, where it copies nothing")
    return parser.parse_args()


def measurements(path):
    """(heads, q_gpu, q_cpu, h_cpu) to (total, device span) in milliseconds."""
    with open(path, newline="", encoding="utf-8") as file:
        return {tuple(int(row[key]) for key in ("heads", "q_gpu", "q_cpu", "h_cpu")):
                (float(row["total_ms"]), float(row["device_span_ms"])) for row in csv.DictReader(file)}


def profile(path, in_host_memory):
    """The example's chip with a CPU that has a memory of its own, unless that is not wanted."""
    chip = json.loads(PROFILE.read_text(encoding="utf-8"))
    if in_host_memory:
        path.write_text(json.dumps(chip), encoding="utf-8")
        return
    chip["name"] = "cpu-gpu-contexts"
    chip["memories"].append({"name": "cpu", "bytes": None})
    next(one for one in chip["processors"] if one["name"] == "cpu")["memory"] = "cpu"
    there, back = chip["links"]
    chip["links"] += [{**there, "to": "cpu"}, {**back, "from": "cpu"}, {**back, "to": "cpu"}, {**there, "from": "cpu"}]
    path.write_text(json.dumps(chip), encoding="utf-8")


def clustered(asked, heads, enqueue, folder):
    """Every configuration of a number of heads, and which is chosen."""
    graph = folder / f"attention_h{heads}.graph"
    subprocess.run([sys.executable, HERE / "attention_graph.py", "--heads", str(heads), "--beta", str(asked.beta), "-o", graph], check=True)
    command = [asked.binary, "cluster", str(graph), "--kernel-dir", str(asked.data / "info"), "--soc", str(folder / "chip.json"),
               "--costs", str(asked.data / "costs" / f"b{asked.beta}.json"), "--starts", "enqueued", "--enqueue", repr(enqueue), "--json"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{run.stderr}")
    return json.loads(run.stdout)


def triple(configuration):
    """(q_gpu, q_cpu, h_cpu); a device without heads has no queue."""
    queues = configuration["queues"]
    return queues["gpu"], queues["cpu"], configuration["cpu_heads"]


def row_of(heads, choice):
    """The measured row of a choice: where a device has no head, its queues carry nothing, and the row with one queue there is read."""
    gpu, cpu, on_cpu = choice
    return heads, max(gpu, 1), max(cpu, 1), on_cpu


def used(key):
    """The choice that a measured row is of."""
    heads, gpu, cpu, on_cpu = key
    return gpu if on_cpu < heads else 0, cpu if on_cpu > 0 else 0, on_cpu


def errors(what, pairs):
    off = [abs(predicted - measured) / measured for predicted, measured in pairs]
    print(f"{what} of {len(off)} rows: median error {100 * statistics.median(off):.1f} %, at most {100 * max(off):.1f} %")


def signed(queues, spans):
    """How far spans are off with all heads on the GPU."""
    off = [100 * (predicted / measured - 1) for key, (predicted, measured) in spans.items() if key[1:] == (queues, 1, 0)]
    print(f"device span with all heads on the GPU and {queues} of its queues: off by {min(off):+.0f} to {max(off):+.0f} %")


def main():
    asked = arguments()
    measured = measurements(asked.data / f"measured_beta{asked.beta}.csv")
    fitted = statistics.mean((total - span) / (KERNELS_OF_A_HEAD * key[0]) for key, (total, span) in measured.items() if key[0] in FITTED)
    enqueue = asked.enqueue if asked.enqueue is not None else fitted / 1e3
    print(f"the host's time a kernel: {enqueue * 1e3:.3f} ms\n")
    print("| H | choice | predicted, ms | measured, ms | best measured | ms | regret |")
    print("| --: | --- | --: | --: | --- | --: | --: |")
    totals, spans, worst = [], {}, 0.0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        profile(folder / "chip.json", asked.host_memory)
        for heads in sorted({key[0] for key in measured}):
            answer = clustered(asked, heads, enqueue, folder)
            known = {triple(one): one for one in answer["configurations"]}
            rows = {key: times for key, times in measured.items() if key[0] == heads}
            for key, (total, span) in rows.items():
                one = known[used(key)]
                totals.append((one["total_ns"] / 1e6, total))
                spans[key] = (one["device_span_ns"] / 1e6, span)
            if heads not in CHOSEN:
                continue
            choice = triple(answer["choice"])
            total = measured[row_of(heads, choice)][0]
            best = min(rows, key=lambda key: rows[key][0])
            regret = total / rows[best][0] - 1
            worst = max(worst, regret)
            print(f"| {heads} | {choice} | {answer['choice']['total_ns'] / 1e6:.1f} | {total:.1f} | {best[1:]} | {rows[best][0]:.1f} "
                  f"| {100 * regret:.1f} % |")
    print()
    errors("total time", totals)
    errors("device span", spans.values())
    signed(1, spans)
    signed(3, spans)
    if worst > MOST_REGRET:
        sys.exit(f"a choice is {100 * worst:.1f} % slower than the best that was measured")


if __name__ == "__main__":
    main()
