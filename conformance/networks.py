"""ONNX files as the tests read them: nodes that compute something, what is constant, what is free."""

import math

import onnx
from onnx import TensorProto, shape_inference

#: Operators whose output is their first input, seen in another shape.
VIEWS = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"}
#: Operators that leave no trace.
FOLDED = {"Identity", "Dropout"}

BITS = {
    TensorProto.FLOAT: ("float", 32),
    TensorProto.INT64: ("int64", 64),
    TensorProto.INT32: ("int32", 32),
    TensorProto.BOOL: ("bool", 8),
    TensorProto.FLOAT16: ("float16", 16),
    TensorProto.DOUBLE: ("double", 64),
}


class Network:
    """A model without stored shapes, shapes inferred by onnx, and its nodes that depend on an input."""

    def __init__(self, path):
        self.model = strip(onnx.load(path))
        inferred = shape_inference.infer_shapes(self.model, check_type=True, strict_mode=True, data_prop=True)
        graph = inferred.graph
        self.nodes = list(graph.node)
        self.initializers = {tensor.name: tensor for tensor in graph.initializer}
        self.inputs = [value.name for value in graph.input if value.name not in self.initializers]
        self.outputs = [value.name for value in graph.output]
        self.types = {}
        for value in [*graph.input, *graph.value_info, *graph.output]:
            shape = value.type.tensor_type.shape.dim
            assert all(dim.HasField("dim_value") for dim in shape), f"{value.name}: onnx infers no shape"
            self.types[value.name] = (value.type.tensor_type.elem_type, [dim.dim_value for dim in shape])
        for name, tensor in self.initializers.items():
            self.types[name] = (tensor.data_type, list(tensor.dims))
        self.variable = set(self.inputs)
        for node in self.nodes:
            if any(name in self.variable for name in node.input):
                self.variable.update(node.output)
        self.producer = {output: index for index, node in enumerate(self.nodes) for output in node.output}
        needed, open_names = set(), list(self.outputs)
        while open_names:
            index = self.producer.get(open_names.pop())
            if index is not None and index not in needed:
                needed.add(index)
                open_names.extend(self.nodes[index].input)
        #: Indices of the nodes that run for a frame.
        self.computing = [
            index
            for index, node in enumerate(self.nodes)
            if index in needed and node.op_type not in FOLDED and any(name in self.variable for name in node.input)
        ]

    def shape(self, name):
        return self.types[name][1]

    def dtype(self, name):
        return BITS[self.types[name][0]][0]

    def bytes(self, name):
        return math.prod(self.shape(name)) * BITS[self.types[name][0]][1] // 8

    def constants(self, index):
        """Constant inputs of a node, each once."""
        return {name for name in self.nodes[index].input if name and name not in self.variable}

    def through_folded(self, name):
        """The tensor behind nodes that leave no trace."""
        while name in self.producer and self.nodes[self.producer[name]].op_type in FOLDED:
            name = self.nodes[self.producer[name]].input[0]
        return name

    def storage(self, name):
        """The tensor behind views, which has memory of its own."""
        while name in self.producer and self.nodes[self.producer[name]].op_type in VIEWS:
            name = self.nodes[self.producer[name]].input[0]
        return name


def strip(model):
    """The model without stored shapes of inner tensors."""
    del model.graph.value_info[:]
    return model


def macs(network, index):
    """Multiply-accumulates of a convolution or matrix product, counted from shapes; None for other operators."""
    node = network.nodes[index]
    output = math.prod(network.shape(node.output[0]))
    if node.op_type == "Conv":
        # Each output element sums over the kernel's window of the channels of its group.
        return output * math.prod(network.shape(node.input[1])[1:])
    if node.op_type == "ConvTranspose":
        # Each input element is spread over the kernel's window of the output channels of its group.
        return math.prod(network.shape(node.input[0])) * math.prod(network.shape(node.input[1])[1:])
    if node.op_type == "Gemm":
        transposed = any(a.name == "transA" and a.i for a in node.attribute)
        return output * network.shape(node.input[0])[0 if transposed else 1]
    if node.op_type == "MatMul":
        return output * network.shape(node.input[0])[-1]
    return None
