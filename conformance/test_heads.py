"""Attention split by head gives in onnxruntime what the file gives."""

import json

import numpy as np
import onnx
import pytest
from conftest import ROOT, paracompile
from onnx import TensorProto, helper, numpy_helper
from test_export import frame, run_stages, session, with_weights

HEADS, ROWS, FEATURES = 6, 10, 16


def attention(opset, mask, softmax_axis, layers=2):
    """Layers of scaled, masked attention with projections, the way torch writes it."""
    rng = np.random.default_rng(5)
    width = HEADS * FEATURES
    nodes, constants = [], []

    def constant(name, values):
        constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(op_type, inputs, output, **attributes):
        nodes.append(helper.make_node(op_type, inputs, [output], name=output, **attributes))
        return output

    split = constant("split", np.array([1, ROWS, HEADS, FEATURES]))
    joined = constant("joined", np.array([1, ROWS, width]))
    scale = constant("scale", np.array(4, np.float32))
    source = "x"
    for layer in range(layers):
        heads = {}
        for part, order in [("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])]:
            name = f"{layer}{part}"
            weights = rng.normal(0, 1 / np.sqrt(width), (width, width)).astype(np.float32)
            projected = node("MatMul", [source, constant(f"{name} weights", weights)], f"{name} projected")
            node("Reshape", [projected, split], f"{name} split")
            heads[part] = node("Transpose", [f"{name} split"], name, perm=order)
        scores = node("MatMul", [heads["q"], heads["k"]], f"{layer} scores")
        scaled = node("Div", [scores, scale], f"{layer} scaled")
        masked = node("Add", [scaled, "mask"], f"{layer} masked")
        weights = node("Softmax", [masked], f"{layer} weights", axis=softmax_axis)
        mixed = node("MatMul", [weights, heads["v"]], f"{layer} mixed")
        back = node("Transpose", [mixed], f"{layer} back", perm=[0, 2, 1, 3])
        source = node("Reshape", [back, joined], "y" if layer + 1 == layers else f"{layer} out")
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, ROWS, width]),
        helper.make_tensor_value_info("mask", TensorProto.FLOAT, mask),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, ROWS, width])]
    graph = helper.make_graph(nodes, "attention", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def split_gives_the_same(model, out, option, groups):
    """Maps with heads apart, exports the network as one file, and compares; returns the operators of that file."""
    common = ["--no-plots", "--no-report", "--quiet", "--effort", "quick", "--max-stages", "1"]
    paracompile(model, "--soc", "vim3", "--out", out, option, *common)
    (plan, *_) = sorted((out / "plans").glob("*.json"))
    assert option.removeprefix("--") in json.loads(plan.read_text())["model"]["rewrites"]
    assert "correct" in paracompile("check", out, "--model", model, "--soc", "vim3", option)
    # How the model was split is in the plan.
    paracompile("export", plan, "--model", model, "--emit", "annotated,stages", "-o", out / "exported")
    whole = session(model)
    inputs = frame(whole)
    names = [port.name for port in whole.get_outputs()]
    expected = whole.run(names, inputs)
    _, found = run_stages(out / "exported/stages", inputs)
    annotated = session(out / "exported/annotated" / model.name).run(names, inputs)
    for name, value, other in zip(names, expected, annotated, strict=True):
        assert np.ptp(value) > 0
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-5, err_msg=name)
        np.testing.assert_allclose(other, value, rtol=1e-4, atol=1e-5, err_msg=name)
    (stage,) = sorted((out / "exported/stages").glob("*.onnx"))
    types = [node.op_type for node in onnx.load(stage, load_external_data=False).graph.node]
    attentions = [node.op_type for node in onnx.load(model, load_external_data=False).graph.node].count("Softmax")
    assert types.count("Softmax") == groups * attentions
    return types


@pytest.mark.parametrize(
    ["opset", "mask", "axis"],
    [
        (11, [1, 1, 1, ROWS], 3),
        (13, [1, 1, ROWS, ROWS], -1),
        (17, [1, HEADS, ROWS, ROWS], -1),
        (18, [HEADS, 1, ROWS], 3),
        (21, [ROWS], -1),
    ],
)
def test_every_head_alone_gives_the_same(opset, mask, axis, tmp_path):
    model = tmp_path / "attention.onnx"
    onnx.save(attention(opset, mask, axis), model)
    types = split_gives_the_same(model, tmp_path / "out", "--expose-heads", HEADS)
    assert types.count("Concat") == 2


@pytest.mark.parametrize(["most", "groups"], [(4, 3), (2, 2)])
def test_groups_of_heads_give_the_same(most, groups, tmp_path):
    model = tmp_path / "attention.onnx"
    onnx.save(attention(17, [1, 1, ROWS, ROWS], -1), model)
    split_gives_the_same(model, tmp_path / "out", f"--expose-heads={most}", groups)


def test_a_vision_transformer_gives_the_same(tmp_path):
    model = tmp_path / "vit.onnx"
    with_weights(ROOT / "models/vit_base_patch16_224.onnx", model)
    split_gives_the_same(model, tmp_path / "out", "--expose-heads=3", 3)
