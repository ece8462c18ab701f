#!/usr/bin/env python3
"""Writes an ONNX file of about one gigabyte, whose weights are inside: a chain of 4096 × 4096 matrix products.

Needs nothing but Python, and little memory: the file is written piece by piece.
Usage: write_large_model.py FILE [--layers 16] [--field raw_data|float_data]
"""

import argparse

FIELDS = {"raw_data": 9, "float_data": 4}
SIDE = 4096
FLOAT = 1


def varint(number):
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def number(field, value):
    return varint(field << 3) + varint(value)


def header(field, length):
    """The start of a field whose content of `length` bytes follows."""
    return varint(field << 3 | 2) + varint(length)


def field(number, content):
    content = content.encode() if isinstance(content, str) else content
    return header(number, len(content)) + content


def value_info(name, shape):
    dims = b"".join(field(1, number(1, extent)) for extent in shape)
    return field(1, name) + field(2, field(1, number(1, FLOAT) + field(2, dims)))


def node(operator, inputs, output):
    return b"".join(field(1, name) for name in inputs) + field(2, output) + field(3, f"{output}/node") + field(4, operator)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--field", choices=FIELDS, default="raw_data")
    arguments = parser.parse_args()

    payload = 4 * SIDE * SIDE
    before, weights = b"", []
    for layer in range(arguments.layers):
        before += field(1, node("MatMul", [f"x{layer}", f"w{layer}"], f"x{layer + 1}"))
        head = number(1, SIDE) * 2 + number(2, FLOAT) + field(8, f"w{layer}") + header(FIELDS[arguments.field], payload)
        weights.append(header(5, len(head) + payload) + head)
    before += field(2, "large")
    after = field(11, value_info("x0", [1, SIDE])) + field(12, value_info(f"x{arguments.layers}", [1, SIDE]))
    graph = len(before) + sum(len(head) + payload for head in weights) + len(after)
    # One half, 2^18 times: 1 MiB.
    piece = b"\x00\x00\x00\x3f" * (1 << 18)
    with open(arguments.file, "wb") as file:
        file.write(number(1, 8) + field(8, number(2, 17)) + header(7, graph) + before)
        for head in weights:
            file.write(head)
            for _ in range(payload // len(piece)):
                file.write(piece)
        file.write(after)


if __name__ == "__main__":
    main()
