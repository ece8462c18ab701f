#!/usr/bin/env python3
"""Writes the kernel graph of the heads of an attention layer, in PySchedCL's symbolic form.

A head of width beta is nine kernels (Ghose et al., "PySchedCL"): three products make Q, K and V of X, K is transposed, Q * K^T goes
through a softmax, and two more products apply V and the output weights; an empty kernel stands for the one copy of X.

    scripts/attention_graph.py --heads 4 --beta 256 -o examples/kernels/attention_h4_b256.graph
"""

import argparse
import json
import sys

GPU, CPU = 10, 0
EDGES = [(0, 2, 4, 0), (1, 2, 3, 0), (3, 1, 4, 1), (4, 2, 5, 0), (2, 2, 6, 1), (5, 1, 6, 0), (6, 2, 7, 0),
         (8, 0, 0, 0), (8, 0, 1, 0), (8, 0, 2, 0)]


def graph(heads, beta, cpu_heads, tile, per_item):
    """The lines of the file; the first `cpu_heads` heads are for the CPU."""
    product = {"m1": beta, "p1": beta, "n1": beta, "TS": tile, "wpt": per_item}
    kernels = [("FFC_sans_bias.json", product)] * 9
    kernels[3] = ("coalesced_transpose.json", {"m1": beta, "n1": beta, "TS": tile})
    kernels[5] = ("softmax.json", {"r1": beta, "c1": beta})
    kernels[8] = ("empty.json", {"n1": beta, "w1": beta})
    lines = []
    for head in range(heads):
        device = CPU if head < cpu_heads else GPU
        for index, (file, symbols) in enumerate(kernels):
            text = json.dumps({**symbols, "partition": device, "tc": head}, separators=(",", ":"))
            lines.append(f"{9 * head + index} {file} {text}")
    lines.append("---")
    for head in range(heads):
        base = 9 * head
        lines += [f"{base + a} {i}->{base + b} {j}" for a, i, b, j in EDGES]
    lines.append("---")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--heads", type=int, required=True, help="number of heads, 1 to 256")
    parser.add_argument("--beta", type=int, required=True, help="rows and columns of all matrices, a multiple of the tile")
    parser.add_argument("--cpu-heads", type=int, default=0, help="heads that are meant for the CPU, the first ones")
    parser.add_argument("--tile", type=int, default=32, help="side of a work group of products")
    parser.add_argument("--per-item", type=int, default=1, help="elements that a work item of a product makes")
    parser.add_argument("-o", "--out", help="the file; standard output if absent")
    args = parser.parse_args()
    if not 1 <= args.heads <= 256 or not 0 <= args.cpu_heads <= args.heads:
        parser.error("--heads must be 1 to 256, and --cpu-heads no more than that")
    if args.tile < 1 or args.per_item < 1 or args.tile % args.per_item:
        parser.error("--tile must be a multiple of --per-item")
    if args.beta < args.tile or args.beta % args.tile:
        parser.error("--beta must be a multiple of --tile")
    text = "\n".join(graph(args.heads, args.beta, args.cpu_heads, args.tile, args.per_item)) + "\n"
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
