#!/usr/bin/env python3
"""Draws what scripts/attention_sweep.py measured, as Ghose et al. do in "PySchedCL", section V: speed-up against heads and against width.

    python -m pip install matplotlib
    scripts/attention_plots.py sweep.csv -o docs/img

Writes `heads-over-coarse.svg`, the best clustering over everything on the GPU with one queue, in total time and in device span, against the
number of heads; and `heads-over-policies.svg`, the best clustering over eager and over HEFT in total time, against the width β of a head.
Each needs two numbers of heads, or two widths, in the file; of the other quantity the largest value that has most points is drawn, or what
`--beta` and `--heads` say.
A band is the range that the paper gives, on its own machine.
The same file gives the same bytes.
"""

import argparse
import collections
import csv
import pathlib
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("attention_plots.py needs matplotlib: python -m pip install matplotlib")

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "paracompile", "svg.fonttype": "none", "font.family": ["DejaVu Sans"], "font.size": 9})

from matplotlib import pyplot  # noqa: E402  the backend is chosen first

#: Okabe and Ito's blue and vermilion, which people with any kind of colour vision tell apart.
COLOURS = ["#0072B2", "#D55E00"]
MARKS = ["o", "s"]
#: Policies, and what they are called where something is compared with them.
POLICIES = {"clustering": "over clustering", "eager": "over eager", "heft": "over HEFT"}


def read(path):
    """Total time and device span in milliseconds, by heads and width, then by policy and (q_gpu, q_cpu, h_cpu)."""
    graphs = collections.defaultdict(dict)
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file), start=2):
            try:
                graph = int(row["heads"]), int(row["beta"])
                configuration = tuple(row[column] for column in ("policy", "q_gpu", "q_cpu", "h_cpu"))
                if configuration[0] not in POLICIES:
                    raise ValueError(f"there is no policy {configuration[0]}")
                graphs[graph][configuration] = float(row["total_ms"]), float(row["device_span_ms"])
            except (KeyError, TypeError, ValueError) as error:
                sys.exit(f"{path}, line {number}: {error!r}; the file of attention_sweep.py --csv is meant")
    return graphs


def speed_ups(times):
    """What the best clustering gains, by over what; nothing where its runs are missing."""
    coarse = times.get(("clustering", "1", "0", "0"))
    fine = [each for configuration, each in times.items() if configuration[0] == "clustering" and each is not coarse]
    if not fine:
        return {}
    total, span = (min(each[quantity] for each in fine) for quantity in (0, 1))
    found = {}
    if coarse is not None:
        found |= {"total time": coarse[0] / total, "device span": coarse[1] / span}
    for configuration, each in times.items():
        if configuration[0] != "clustering":
            found[POLICIES[configuration[0]]] = each[0] / total
    return found


def most_points(graphs, axis, asked):
    """The value of the other axis to draw: what is asked for, else what has most points, the largest of those."""
    if asked is not None:
        return asked
    counts = collections.Counter(graph[1 - axis] for graph in graphs)
    return max(counts, key=lambda value: (counts[value], value))


def draw(path, title, axis_name, series, bands):
    """Lines of speed-up over a quantity, with the bands of the paper."""
    figure, axes = pyplot.subplots(figsize=(5.6, 3.8), layout="constrained")
    for (name, points), colour, mark in zip(series.items(), COLOURS, MARKS):
        low, high = bands[name]
        axes.axhspan(low, high, color=colour, alpha=0.12, linewidth=0, label=f"{name}, the paper: {low:.2f} to {high:.2f}")
        xs, ys = zip(*sorted(points))
        axes.plot(xs, ys, color=colour, marker=mark, markersize=5, label=name)
    axes.axhline(1, color="#555555", linewidth=0.8)
    ticks = sorted({x for points in series.values() for x, _ in points})
    if ticks[-1] >= 64:
        axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel(axis_name)
    axes.set_ylabel("speed-up")
    axes.set_title(title, fontsize=10)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.legend(frameon=False, fontsize=8, loc="outside lower center", ncols=2)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    print(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", type=pathlib.Path, help="what attention_sweep.py --csv wrote")
    parser.add_argument("-o", "--out", type=pathlib.Path, default=pathlib.Path(), help="folder of the pictures")
    parser.add_argument("--beta", type=int, help="the width in the picture over heads")
    parser.add_argument("--heads", type=int, help="the number of heads in the picture over widths")
    parser.add_argument("--suffix", default="", help="behind the names of the pictures and a dash, such as gpu")
    asked = parser.parse_args()
    graphs = read(asked.csv)
    if not graphs:
        sys.exit(f"{asked.csv}: no runs; attention_sweep.py --csv writes them")
    suffix = f"-{asked.suffix}" if asked.suffix else ""
    asked.out.mkdir(parents=True, exist_ok=True)

    def series(axis, fixed, names):
        lines = {}
        for name in names:
            points = [(graph[axis], speed_ups(times)[name]) for graph, times in graphs.items()
                      if graph[1 - axis] == fixed and name in speed_ups(times)]
            if len(points) > 1:
                lines[name] = points
        return lines

    beta = most_points(graphs, 0, asked.beta)
    heads = most_points(graphs, 1, asked.heads)
    over_coarse = series(0, beta, ["total time", "device span"])
    over_policies = series(1, heads, ["over eager", "over HEFT"])
    if not over_coarse and not over_policies:
        sys.exit(f"{asked.csv}: no two numbers of heads of β = {beta}, and no two β of {heads} heads")
    if over_coarse:
        draw(asked.out / f"heads-over-coarse{suffix}.svg", f"best clustering over the coarse default, β = {beta}", "heads H",
             over_coarse, {"total time": (1.09, 1.30), "device span": (1.25, 1.62)})
    if over_policies:
        draw(asked.out / f"heads-over-policies{suffix}.svg", f"best clustering over eager and HEFT, H = {heads}", "width β",
             over_policies, {"over eager": (2.3, 3.3), "over HEFT": (1.4, 2.3)})


if __name__ == "__main__":
    main()
