#!/usr/bin/env python3
"""Fills the weights of a model with the numbers of `pararun --weights random:SEED`, for other runtimes.

    scripts/random_weights.py MODEL SEED OUT.onnx

Needs numpy and onnx.
What is filled, and how, is in crates/runtime/src/weights: real constants of more than 64 elements that the file stores or makes by
ConstantOfShape; element i of a tensor is number i of SplitMix64, started by the seed and the tensor's name, scaled by what reads it.
The weights of the result lie in OUT.onnx.data beside it.
"""

import collections
import math
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

KEPT_ELEMENTS = 64
STEP = np.uint64(0x9E3779B97F4A7C15)
CARRIERS = {"Identity", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Split", "Slice"}
NORMS = {"LayerNormalization", "InstanceNormalization", "GroupNormalization", "RMSNormalization"}
DTYPES = {TensorProto.FLOAT: np.float32, TensorProto.DOUBLE: np.float64}
OTHER_REALS = {TensorProto.FLOAT16, TensorProto.BFLOAT16}
# From the least to the most important: of several readers the greatest counts.
SMALL, EMBEDDING, SCALE, FILTER = range(4)


def mix(bits):
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def units(seed, name, count):
    """Numbers in [0, 1), multiples of 2^-24."""
    fnv = 0xCBF29CE484222325
    for byte in name.encode():
        fnv = (fnv ^ byte) * 0x100000001B3 % 2**64
    with np.errstate(over="ignore"):
        start = mix(np.uint64(fnv) ^ mix(np.uint64(seed) + STEP))
        bits = mix(start + (np.arange(count, dtype=np.uint64) + np.uint64(1)) * STEP)
    return (bits >> np.uint64(40)).astype(np.float64) / 2.0**24


def role(node, position, shape):
    """What a constant is to a reader, with how many products an element of the result sums if it is a filter."""
    attributes = {attribute.name: attribute.i for attribute in node.attribute}
    back = lambda axes: shape[max(len(shape) - axes, 0)]
    key = (node.op_type, position)
    if key == ("Conv", 1):
        return FILTER, math.prod(shape[1:])
    if key == ("ConvTranspose", 1):
        return FILTER, math.prod(shape) // shape[1] // max(attributes.get("group", 1), 1)
    if key == ("Gemm", 0):
        return FILTER, back(2 if attributes.get("transA") else 1)
    if key == ("Gemm", 1):
        return FILTER, back(1 if attributes.get("transB") else 2)
    if key == ("MatMul", 0):
        return FILTER, back(1)
    if key == ("MatMul", 1):
        return FILTER, back(2)
    if key == ("Gather", 0):
        return EMBEDDING, 0
    is_scale = key in {("BatchNormalization", 1), ("BatchNormalization", 4)} or (node.op_type in NORMS and position == 1)
    return (SCALE if is_scale or node.op_type in {"Mul", "Div"} else SMALL), 0


def interval(kind, fan_in):
    bound = math.sqrt(6.0 / max(fan_in, 1))
    return {SMALL: (-0.1, 0.1), EMBEDDING: (-1.0, 1.0), SCALE: (0.5, 1.5), FILTER: (-bound, bound)}[kind]


def constants(graph):
    """By name, type and shape of what the file stores or makes by ConstantOfShape."""
    found = {tensor.name: (tensor.data_type, list(tensor.dims)) for tensor in graph.initializer}
    stored = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            stored[node.output[0]] = node.attribute[0].t
            found[node.output[0]] = (node.attribute[0].t.data_type, list(node.attribute[0].t.dims))
    for node in graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in stored:
            dtype = node.attribute[0].t.data_type if node.attribute else TensorProto.FLOAT
            found[node.output[0]] = (dtype, numpy_helper.to_array(stored[node.input[0]]).tolist())
    return found


def live_readers(graph):
    """By name, the nodes that read it on the way to an output, and where."""
    needed = {output.name for output in graph.output}
    readers = collections.defaultdict(list)
    for node in reversed(graph.node):
        if needed.isdisjoint(node.output):
            continue
        needed.update(node.input)
        carried = [reader for result in node.output for reader in readers[result]] if node.op_type in CARRIERS else []
        for position, name in enumerate(node.input):
            readers[name] += carried if carried and position == 0 else [(node, position)]
    return readers


def weights(model, seed):
    """By name, the random elements of every constant that is filled."""
    graph = model.graph
    if model.functions or any(attribute.g.node for node in graph.node for attribute in node.attribute):
        sys.exit("models with functions or bodies are not supported")
    readers = live_readers(graph)
    filled = {}
    for name, (dtype, shape) in constants(graph).items():
        if math.prod(shape) <= KEPT_ELEMENTS or not readers[name]:
            continue
        if dtype in OTHER_REALS:
            sys.exit(f"`{name}`: random weights are float or double")
        if dtype in DTYPES:
            low, high = interval(*max(role(node, position, shape) for node, position in readers[name]))
            values = low + (high - low) * units(seed, name, math.prod(shape))
            filled[name] = values.astype(DTYPES[dtype]).reshape(shape)
    return filled


def fill(model, seed):
    """Puts initializers in the place of what is filled."""
    filled = weights(model, seed)
    graph = model.graph
    nodes = [node for node in graph.node if filled.keys().isdisjoint(node.output)]
    kept = [tensor for tensor in graph.initializer if tensor.name not in filled]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(kept)
    graph.initializer.extend(numpy_helper.from_array(values, name) for name, values in filled.items())


if __name__ == "__main__":
    if len(sys.argv) != 4 or not sys.argv[2].isdigit():
        sys.exit(__doc__)
    source, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[3])
    loaded = onnx.load(source)
    fill(loaded, int(sys.argv[2]))
    data = out.with_name(out.name + ".data")
    data.unlink(missing_ok=True)
    onnx.save(loaded, out, save_as_external_data=True, location=data.name)
