#!/usr/bin/env python3
"""Writes the kernel graph of the forward pass of a convolution over a batch.

Every sample is padded with zeros, convolved with every filter (3 x 3, each by itself), and the bias of the filter is added.
The four granularities of a task are levels of this graph: the batch is its stage, a sample a segment, a filter of a sample a branch
(convolution and addition), and each kernel an operator.

    scripts/conv_graph.py --samples 8 --filters 4 --side 64 -o examples/kernels/conv_forward.json
"""

import argparse
import json
import sys

TAPS = 3


def graph(samples, filters, side):
    """The file as JSON."""
    pixels, padded = "side*side", "(side+2)*(side+2)"
    kernels = [
        {
            "name": "pad", "source": "conv_forward.cl", "function": "pad", "global": ["side+2", "side+2"],
            "arguments": [{"name": "x", "in": "float", "size": pixels}, {"name": "y", "out": "float", "size": padded},
                          {"scalar": "int", "value": "side"}],
        },
        {
            "name": "conv2d", "source": "conv_forward.cl", "function": "conv2d", "global": ["side", "side"],
            "arguments": [{"name": "x", "in": "float", "size": padded}, {"name": "w", "in": "float", "size": str(TAPS * TAPS)},
                          {"name": "y", "out": "float", "size": pixels}, {"scalar": "int", "value": "side"}],
        },
        {
            "name": "add", "source": "conv_forward.cl", "function": "add", "global": ["side", "side"],
            "arguments": [{"name": "y", "inout": "float", "size": pixels}, {"name": "bias", "in": "float", "size": "1"},
                          {"scalar": "int", "value": "side"}],
        },
    ]
    launches, edges = [], []
    for sample in range(samples):
        launches.append({"name": f"s{sample}", "kernel": "pad"})
        for index in range(filters):
            convolution, addition = f"s{sample}f{index}", f"s{sample}f{index}b"
            launches += [{"name": convolution, "kernel": "conv2d"}, {"name": addition, "kernel": "add"}]
            edges += [{"from": f"s{sample}.y", "to": f"{convolution}.x"}, {"from": f"{convolution}.y", "to": f"{addition}.y"}]
    return {"schema": 1, "symbols": {"side": side}, "kernels": kernels, "launches": launches, "edges": edges}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--samples", type=int, required=True, help="samples of the batch, 1 to 1024")
    parser.add_argument("--filters", type=int, required=True, help="filters of each sample, 1 to 1024")
    parser.add_argument("--side", type=int, required=True, help="rows and columns of a sample, 1 to 16384")
    parser.add_argument("-o", "--out", help="the file; standard output if absent")
    args = parser.parse_args()
    if not 1 <= args.samples <= 1024 or not 1 <= args.filters <= 1024:
        parser.error("--samples and --filters must be 1 to 1024")
    if args.samples * (1 + 2 * args.filters) > 65536:
        parser.error("a kernel graph has at most 65536 kernels: fewer --samples or --filters")
    if not 1 <= args.side <= 16384:
        parser.error("--side must be 1 to 16384")
    text = json.dumps(graph(args.samples, args.filters, args.side), indent=1) + "\n"
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
