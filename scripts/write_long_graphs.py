#!/usr/bin/env python3
"""Writes ONNX files of many nodes, for what grows with their number; needs no package.

Usage: write_long_graphs.py FOLDER [NODES]
"""

import pathlib
import sys


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def block(field: int, payload: bytes | str) -> bytes:
    if isinstance(payload, str):
        payload = payload.encode()
    return varint(field << 3 | 2) + varint(len(payload)) + payload


def value(name: str, dims: list[int]) -> bytes:
    shape = b"".join(block(1, integer(1, extent)) for extent in dims)
    return block(1, name) + block(2, block(1, integer(1, 1) + block(2, shape)))


def node(op_type: str, reads: list[str], writes: list[str]) -> bytes:
    reads_and_writes = [block(1, name) for name in reads] + [block(2, name) for name in writes]
    return b"".join(reads_and_writes) + block(4, op_type)


def constant(name: str) -> bytes:
    return integer(1, 1) + integer(2, 1) + block(8, name) + block(9, b"\0" * 4)


def model(nodes, result: str, constants=(), values=()) -> bytes:
    graph = b"".join(
        [block(1, each) for each in nodes]
        + [block(2, "g")]
        + [block(5, each) for each in constants]
        + [block(11, value("x", [1, 4, 8, 8])), block(12, block(1, result))]
        + [block(13, each) for each in values]
    )
    return integer(1, 8) + block(7, graph) + block(8, integer(2, 17))


def chain(count: int) -> list[bytes]:
    return [node("Relu", [f"t{i - 1}" if i else "x"], [f"t{i}"]) for i in range(count)]


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    last = f"t{count - 1}"
    results = [f"t{i}" for i in range(count)]
    star = [node("Relu", ["x"], [name]) for name in results] + [node("Sum", results, ["y"])]
    sums = [node("Add", [f"t{i - 1}" if i else "x", f"w{i}"], [f"t{i}"]) for i in range(count)]
    files = {
        "chain": model(chain(count), last),
        "reversed": model(chain(count)[::-1], last),
        "star": model(star, "y"),
        "values": model(chain(count), last, values=[value(name, [1, 4, 8, 8]) for name in results]),
        "constants": model(sums, last, constants=[constant(f"w{i}") for i in range(count)]),
    }
    for name, content in files.items():
        (folder / f"{name}.onnx").write_bytes(content)


if __name__ == "__main__":
    main()
