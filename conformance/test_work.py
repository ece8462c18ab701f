"""What `paracompile inspect --as-written` counts, counted again from the ONNX file."""

import json
import math

import networkx
import numpy
import pytest
import scipy.sparse
from conftest import paracompile
from networks import Network, macs
from scipy.sparse.csgraph import maximum_bipartite_matching

#: Class by operator, for those whose arithmetic is defined by multiply-accumulates.
PRODUCTS = {"Conv": "conv", "ConvTranspose": "conv_transpose", "Gemm": "gemm", "MatMul": "matmul"}

#: Operators whose constant operands behind the first are parameters, as attributes are: bounds, axes, extents.
PARAMETRIC = {"Clip", "Pad", "ReduceMax", "ReduceMean", "ReduceSum", "Resize", "Slice", "Split"}


@pytest.fixture(scope="module")
def inspected():
    known = {}

    def inspect(model):
        if model not in known:
            known[model] = json.loads(paracompile("inspect", model, "--as-written", "--json"))
        return known[model]

    return inspect


def class_of(network, index):
    node = network.nodes[index]
    if node.op_type == "Conv":
        group = next((a.i for a in node.attribute if a.name == "group"), 1)
        # Depthwise is one input channel a group.
        return "depthwise_conv" if group > 1 and network.shape(node.input[1])[1] == 1 else "conv"
    if node.op_type == "MatMul" and network.constants(index):
        # A product with a weight is a fully connected layer.
        return "gemm"
    return PRODUCTS.get(node.op_type)


def test_products_have_the_arithmetic_of_their_shapes(model, inspected):
    network = Network(model)
    expected = {}
    for index in network.computing:
        name = class_of(network, index)
        if name is None:
            continue
        operators, flops = expected.get(name, (0, 0))
        flops += 2 * macs(network, index)
        node = network.nodes[index]
        if len(node.input) > 2 and node.input[2]:
            # The bias of a convolution or Gemm is an addition for each element of the result.
            flops += math.prod(network.shape(node.output[0]))
        expected[name] = (operators + 1, flops)
    assert expected, "every network here has a product"
    found = {
        entry["class"]: (entry["operators"], round(entry["gflop"] * 1e9))
        for entry in inspected(model)["classes"]
        if entry["class"] in {"depthwise_conv", *PRODUCTS.values()}
    }
    assert found == expected


def test_operators_are_the_nodes_that_depend_on_an_input(model, inspected):
    shown = inspected(model)
    network = Network(model)
    assert shown["operators"] == len(network.computing)
    by_class = sum(entry["operators"] for entry in shown["classes"])
    assert shown["operators"] == by_class + shown["free_operators"]
    assert shown["fused_operators"] == sum(entry["tasks"] for entry in shown["classes"])


def tasks_of(plan):
    """Fused operators as lists of node indices."""
    return [[operator["node"] for operator in task["operators"]] for task in plan["tasks"]]


def fused_graph(network, tasks):
    """Tasks and what flows between them, views followed."""
    owner = {node: task for task, members in enumerate(tasks) for node in members}
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(len(tasks)))
    for task, members in enumerate(tasks):
        for node in members:
            for name in network.nodes[node].input:
                source = network.producer.get(network.storage(name)) if name in network.variable else None
                if source is not None and owner[source] != task:
                    graph.add_edge(owner[source], task)
    return graph


def single_plan(mapped, model):
    """A plan of one stage on one processor: all tasks of the network."""
    directory = mapped(model, "--as-written", "--max-stages", "1")
    return json.loads((directory / "baselines/single-big.json").read_text())


def test_width_is_the_largest_antichain(model, inspected, mapped):
    network = Network(model)
    graph = fused_graph(network, tasks_of(single_plan(mapped, model)))
    place = {task: index for index, task in enumerate(graph)}
    behind = numpy.zeros((len(graph), len(graph)), dtype=bool)
    for task in reversed(list(networkx.topological_sort(graph))):
        for reader in graph.successors(task):
            behind[place[task]] |= behind[place[reader]]
            behind[place[task], place[reader]] = True
    matching = maximum_bipartite_matching(scipy.sparse.csr_array(behind))
    # Dilworth: an antichain is as large as a cover by chains needs chains.
    assert inspected(model)["width"] == {"exactly": len(graph) - int((matching >= 0).sum())}


def test_gates_are_comparable_with_all_and_passed_by_nothing(model, inspected, mapped):
    network = Network(model)
    tasks = tasks_of(single_plan(mapped, model))
    graph = fused_graph(network, tasks)
    owner = {node: task for task, members in enumerate(tasks) for node in members}
    writer, readers = {}, {}
    for task, members in enumerate(tasks):
        for node in members:
            for name in filter(network.variable.__contains__, network.nodes[node].input):
                readers.setdefault(network.storage(name), set()).add(task)
    for name in readers:
        source = network.producer.get(name)
        writer[name] = None if source is None else owner[source]
    leaving = {network.storage(name) for name in network.outputs}
    gates = 0
    for task in graph:
        before, behind = networkx.ancestors(graph, task), networkx.descendants(graph, task)
        if len(before) + len(behind) + 1 < len(graph):
            continue
        passed = any(
            (source is None or source in before)
            and (readers[name] & behind or (name in leaving and source is not None))
            for name, source in writer.items()
        )
        gates += not passed
    assert inspected(model)["gates"] == gates


def test_weights_are_counted_once_a_task(model, inspected, mapped):
    network = Network(model)
    expected = 0
    for members in tasks_of(single_plan(mapped, model)):
        constants = set()
        for index in members:
            node = network.nodes[index]
            weighty = node.input[: 1 if node.op_type in PARAMETRIC else None]
            constants |= network.constants(index) & set(weighty)
        expected += sum(network.bytes(name) for name in constants)
    assert inspected(model)["weight_bytes"] == expected
