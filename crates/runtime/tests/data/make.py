#!/usr/bin/env python3
"""Makes tiny.onnx, whose plans were made by

    paracompile tiny.onnx --soc vim3 -o out

as out/plans/01-single-big.json (single.json) and out/plans/02-para-only-big+little.json (two.json).
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

weights = [numpy_helper.from_array(np.arange(3 * 32, dtype=np.float32).reshape(3, 32), "table"), numpy_helper.from_array(np.ones((32, 64), np.float32), "filter")]
nodes = [
    helper.make_node("Gather", ["table", "ids"], ["rows"]),
    helper.make_node("MatMul", ["rows", "filter"], ["left"]),
    helper.make_node("MatMul", ["x", "filter"], ["right"]),
    helper.make_node("Add", ["left", "right"], ["y"]),
]
inputs = [helper.make_tensor_value_info("ids", TensorProto.INT64, [4]), helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 32])]
outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 64])]
graph = helper.make_graph(nodes, "tiny", inputs, outputs, weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "tiny.onnx")
