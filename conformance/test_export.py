"""What `--emit` writes is valid for onnx, and gives in onnxruntime what the whole model gives."""

import json
import os
import shutil
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from conftest import BINARY, ROOT, paracompile
from networks import VIEWS
from onnx import TensorProto, helper, numpy_helper

#: Networks that are small enough to run, with every kind of export that `models/README.md` names.
NETWORKS = [
    "googlenet",
    "inception_v3",
    "mobilenet_v2",
    "resnet50",
    "squeezenet1_1",
    "raw/mobilenet_v2",
    "raw/resnet50",
    "raw/squeezenet1_1",
]


# Making and running models.


def with_weights(source, target):
    """The model with seeded random initializers instead of `ConstantOfShape` nodes, small enough that nothing overflows."""
    model = onnx.load(source)
    graph = model.graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    spreads = {
        name
        for node in graph.node
        if node.op_type == "BatchNormalization"
        for name in (node.input[1], node.input[4])
    }
    rng = np.random.default_rng(20260101)
    kept = []
    for node in graph.node:
        shape = stored.get(node.input[0]) if node.op_type == "ConstantOfShape" else None
        if shape is None:
            kept.append(node)
            continue
        if node.output[0] in spreads:
            weights = rng.uniform(0.5, 1.5, shape)
        elif len(shape) < 2:
            weights = rng.normal(0, 0.1, shape)
        else:
            fan_in = np.prod(shape[1:]) if len(shape) > 2 else max(shape)
            weights = rng.normal(0, np.sqrt(2 / fan_in), shape)
        graph.initializer.append(numpy_helper.from_array(weights.astype(np.float32), node.output[0]))
    assert len(kept) < len(graph.node)
    del graph.node[:]
    graph.node.extend(kept)
    onnx.save(model, target)


def session(path, assignment=None):
    options = onnxruntime.SessionOptions()
    # Without rewrites and with one thread the arithmetic is the same however the model is cut.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if assignment:
        options.add_session_config_entry("session.layer_assignment_settings", assignment)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


TYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
}


def frame(whole, dims=None):
    """Random inputs of a session, the same in every run."""
    rng = np.random.default_rng(7)
    values = {}
    for port in whole.get_inputs():
        shape = [extent if isinstance(extent, int) else (dims or {})[extent] for extent in port.shape]
        if port.type == "tensor(int64)":
            values[port.name] = rng.integers(0, 2, shape)
        elif port.type == "tensor(bool)":
            values[port.name] = np.ones(shape, np.bool_)
        else:
            values[port.name] = rng.normal(0, 1, shape).astype(TYPES[port.type])
    return values


def run_stages(folder, inputs):
    """Runs the stages in order, each with nothing but what the manifest gives it; returns the network's outputs."""
    manifest = json.loads((folder / "stages.json").read_text())
    given, outputs = {}, {}
    for index, stage in enumerate(manifest["stages"]):
        onnx.checker.check_model(folder / stage["file"], full_check=True)
        part = session(folder / stage["file"])
        taken = {}
        for port in stage["inputs"]:
            if port["from_stage"] is None:
                taken[port["name"]] = inputs[port["name"]]
            else:
                assert port["from_stage"] < index
                taken[port["name"]] = given[port["from_stage"], port["name"]]
        optional = {port.name for port in part.get_overridable_initializers()}
        assert {port.name for port in part.get_inputs()} - optional == set(taken)
        names = [port["name"] for port in stage["outputs"]]
        assert [port.name for port in part.get_outputs()] == names
        for port, value in zip(stage["outputs"], part.run(names, taken), strict=True):
            declared = next(found for found in part.get_outputs() if found.name == port["name"])
            if all(isinstance(extent, int) for extent in declared.shape):
                assert list(value.shape) == declared.shape
            if port["network_output"]:
                assert port["name"] not in outputs
                outputs[port["name"]] = value
            for reader in port["to_stages"]:
                assert reader > index
                given[index, port["name"]] = value
    return manifest, outputs


def plan_of(out, stages):
    """The path of the plan with most stages, at most `stages`, the fastest of several, and the plan."""
    plans = [(path, json.loads(path.read_text())) for path in sorted(out.glob("*/*.json"))]
    fitting = [found for found in plans if len(found[1]["stages"]) <= stages]
    return max(fitting, key=lambda found: (len(found[1]["stages"]), -found[1]["predicted"]["interval_ns"]))


def agrees(model, out, *options, stages=3, least=2, dims=None, tolerance=0, soc="vim3"):
    """Maps a model, exports the plan with most stages, and compares everything with the whole model."""
    arguments = ["--no-plots", "--no-report", "--quiet", "--effort", "quick", *options]
    paracompile(model, "--soc", soc, "--out", out, *arguments)
    path, plan = plan_of(out, stages)
    assert len(plan["stages"]) >= least, "the model is too small to be cut"
    exported = out / "exported"
    as_written = [option for option in options if option == "--as-written"]
    paracompile("export", path, "--model", model, "--emit", "annotated,stages", "-o", exported, *as_written)
    whole = session(model)
    inputs = frame(whole, dims)
    names = [port.name for port in whole.get_outputs()]
    expected = dict(zip(names, whole.run(names, inputs), strict=True))
    assert any(np.any(value != value.flat[0]) for value in expected.values() if value.size > 1)
    assert all(np.all(np.isfinite(value)) for value in expected.values())

    manifest, found = run_stages(exported / "stages", inputs)
    assert len(manifest["stages"]) == len(plan["stages"])
    assert found.keys() == expected.keys()
    for name in names:
        np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=tolerance, err_msg=name)

    annotated = exported / "annotated" / model.name
    check_annotations(model, annotated, plan)
    layers = sorted({layer for layer in layers_of(onnx.load(annotated, load_external_data=False)).values() if layer})
    assignment = f"cpu({', '.join('=' + layer for layer in layers)})"
    same = session(annotated, assignment).run(names, inputs)
    for name, value in zip(names, same, strict=True):
        np.testing.assert_array_equal(value, expected[name], err_msg=name)
    if onnx.load(model, load_external_data=False).ir_version >= 11:
        # The model is the same one to a plan, and annotations replace annotations.
        again = out / "again"
        paracompile("export", path, "--model", annotated, "--emit", "annotated", "-o", again, *as_written)
        assert (again / "annotated" / model.name).read_bytes() == annotated.read_bytes()
    return plan, manifest, exported


def layers_of(model):
    """The layer annotation of each node, by index; None where it has none."""
    layers = {}
    for index, node in enumerate(model.graph.node):
        found = [entry.value for entry in node.metadata_props if entry.key == "layer_ann"]
        assert len(found) <= 1
        layers[index] = found[0] if found else None
    return layers


def check_annotations(original, annotated, plan):
    """The annotated model is the original and annotations, and these are the plan's."""
    before = onnx.load(original, load_external_data=False)
    after = onnx.load(annotated, load_external_data=False)
    full = True
    try:
        onnx.checker.check_model(original, full_check=True)
    except onnx.checker.ValidationError:
        full = False
    onnx.checker.check_model(annotated, full_check=full)
    assert after.ir_version == max(before.ir_version, 11)
    names = [processor["name"] for processor in plan["processors"]]
    (configuration,) = after.configuration
    assert (configuration.name, configuration.num_devices, list(configuration.device)) == ("paracompile", len(names), names)
    layers = layers_of(after)
    queues = {queue["id"]: queue["processor"] for queue in plan["queues"]}
    seen = set()
    for task in plan["tasks"]:
        for operator in task["operators"]:
            node = after.graph.node[operator["node"]]
            processor = queues[task["queue"]]
            assert layers[operator["node"]] == f"stage{task['stage']}/{processor}"
            (entry,) = node.device_configurations
            assert (entry.configuration_id, entry.pipeline_stage) == ("paracompile", task["stage"])
            assert [spec.tensor_name for spec in entry.sharding_spec] == [name for name in node.output if name]
            assert all(list(spec.device) == [names.index(processor)] for spec in entry.sharding_spec)
            seen.add(operator["node"])
    assert seen
    # Without what was added, the messages are equal.
    for node in after.graph.node:
        kept = [entry for entry in node.metadata_props if entry.key != "layer_ann"]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
        del node.device_configurations[:]
    del after.configuration[:]
    after.ir_version = before.ir_version
    assert after == before


def between(manifest, plan):
    """What goes from stage to stage, in the manifest and in the plan, by name."""
    ports = {
        port["name"] for stage in manifest["stages"] for port in stage["inputs"] if port["from_stage"] is not None
    }
    written, read = {}, set()
    for task in plan["tasks"]:
        written.update((plan["buffers"][buffer]["tensor"], task["stage"]) for buffer in task["writes"])
    for task in plan["tasks"]:
        names = {plan["buffers"][buffer]["tensor"] for buffer in task["reads"]}
        read |= {name for name in names if written.get(name, task["stage"]) < task["stage"]}
    return ports, read


# Networks.


@pytest.mark.parametrize("name", NETWORKS)
def test_stages_in_order_give_what_the_network_gives(name, tmp_path):
    model = tmp_path / f"{name.replace('/', '_')}.onnx"
    with_weights(ROOT / f"models/{name}.onnx", model)
    plan, manifest, _ = agrees(model, tmp_path / "out")
    # Between stages goes what the plan has there, one port a tensor; only views may go by another name.
    ports, buffers = between(manifest, plan)
    assert len(ports) == len(buffers)
    views = {node.output[0] for node in onnx.load(model).graph.node if node.op_type in VIEWS}
    assert ports - buffers <= views


def test_the_weightless_models_can_be_cut_as_they_are(tmp_path):
    out = tmp_path / "out"
    model = ROOT / "models/squeezenet1_1.onnx"
    paracompile(model, "--soc", "vim3", "--out", out, "--no-plots", "--quiet", "--emit", "annotated,stages")
    whole = session(model)
    inputs = frame(whole)
    manifest, found = run_stages(out / "export/stages", inputs)
    for name, value in zip(found, whole.run(list(found), inputs), strict=True):
        np.testing.assert_array_equal(value, found[name])
    front = json.loads((out / "front.json").read_text())
    plan = json.loads((out / front["recommended"]).read_text())
    assert [stage["processors"] for stage in manifest["stages"]] == [stage["processors"] for stage in plan["stages"]]


# Small models, each with something that a cut can get wrong.

FLOAT = TensorProto.FLOAT


class Sketch:
    """A small model in the making; convolutions keep the extents, and are large enough to be worth a stage."""

    def __init__(self, dtype=FLOAT, extents=(1, 32, 28, 28)):
        self.rng = np.random.default_rng(3)
        self.dtype, self.extents = dtype, list(extents)
        self.nodes, self.constants = [], []
        self.inputs = [helper.make_tensor_value_info("x", dtype, self.extents)]
        self.outputs = []
        self.values = []

    def constant(self, name, values):
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def node(self, op_type, inputs, outputs, **attributes):
        outputs = [outputs] if isinstance(outputs, str) else outputs
        self.nodes.append(helper.make_node(op_type, inputs, outputs, **attributes))
        return outputs[0]

    def conv(self, source, target, **more):
        channels = self.extents[1]
        spread = 1 / np.sqrt(9 * channels)
        weights = self.rng.normal(0, spread, (channels, channels, 3, 3))
        weights = weights.astype(helper.tensor_dtype_to_np_dtype(self.dtype))
        name = self.constant(f"weights of {target}", weights)
        return self.node("Conv", [source, name], target, pads=[1, 1, 1, 1], **more)

    def output(self, name, shape=None, dtype=None):
        self.outputs.append(helper.make_tensor_value_info(name, dtype or self.dtype, shape or self.extents))

    def model(self, opsets=(("", 17),), ir=8, **more):
        graph = helper.make_graph(
            self.nodes, "sketch", self.inputs, self.outputs, self.constants, value_info=self.values
        )
        imports = [helper.make_opsetid(domain, version) for domain, version in opsets]
        return helper.make_model(graph, opset_imports=imports, ir_version=ir, **more)


def chain(sketch, source, names):
    for name in names:
        source = sketch.conv(source, name)
    return source


def small(sketch, tmp_path, *options, model=None, **more):
    path = tmp_path / "small.onnx"
    onnx.save(model or sketch.model(), path)
    return agrees(path, tmp_path / "out", *options, **more)


def three_alike(folder):
    """A chip of three equal processors, on which three stages are best."""
    chip = folder / "chip.json"
    processors = [part for name in "abc" for part in ("--processor", f"{name}=cpu:4x2.0GHz")]
    paracompile("soc", "new", "chip", *processors, "-o", chip)
    return chip


#: Inside of a block without gates there are cuts only if it is long.
LONG = [f"long {index}" for index in range(126)]


def test_a_value_may_skip_a_stage_and_outputs_may_lie_in_the_middle(tmp_path):
    sketch = Sketch(extents=(1, 32, 28, 28))
    first = sketch.conv("x", "first")
    chain(sketch, first, LONG)
    sketch.node("Add", [LONG[-1], "first"], "last")
    for name in [LONG[5], "last", "first", LONG[60]]:
        sketch.output(name)
    _, manifest, _ = small(sketch, tmp_path, soc=three_alike(tmp_path), least=3)
    outputs = [port for stage in manifest["stages"] for port in stage["outputs"]]
    assert {port["name"] for port in outputs if port["network_output"]} == {LONG[5], "last", "first", LONG[60]}
    (skipping,) = [port for port in outputs if port["name"] == "first"]
    assert 2 in skipping["to_stages"], "the plan has no value that skips a stage"


def test_an_input_may_be_read_by_two_stages(tmp_path):
    sketch = Sketch(extents=(1, 32, 28, 28))
    chain(sketch, "x", LONG)
    sketch.node("Add", [LONG[-1], "x"], "last")
    sketch.output("last")
    _, manifest, _ = small(sketch, tmp_path, soc=three_alike(tmp_path), least=3)
    readers = [stage for stage in manifest["stages"] if {"name": "x", "from_stage": None} in stage["inputs"]]
    assert len(readers) > 1, "the plan reads the input in one stage"


def test_names_with_odd_characters_survive(tmp_path):
    sketch = Sketch()
    names = ["a b", "c;d(=e),f", "g\nh\x1b[2J", "../../etc/passwd", "\u202eüñ\U0001f600"]
    sketch.output(chain(sketch, "x", names))
    for node, name in zip(sketch.nodes, names, strict=True):
        node.name = f"node {name}"
    small(sketch, tmp_path)


def test_weights_outside_of_the_model_are_taken_over(tmp_path):
    sketch = Sketch()
    sketch.output(chain(sketch, "x", ["a", "b", "c", "d"]))
    path = tmp_path / "small.onnx"
    (tmp_path / "weights").mkdir()
    onnx.save(
        sketch.model(), path, save_as_external_data=True, location="weights/w.bin", size_threshold=0, convert_attribute=False
    )
    _, manifest, exported = agrees(path, tmp_path / "out")
    stages = exported / "stages"
    assert all(stage["data"] for stage in manifest["stages"])
    # Every stage has its own weights, and no other's.
    sizes = [(stages / stage["data"]).stat().st_size for stage in manifest["stages"]]
    assert sum(sizes) < (tmp_path / "weights/w.bin").stat().st_size + 4096 * len(sketch.constants)
    for stage in manifest["stages"]:
        part = onnx.load(stages / stage["file"], load_external_data=False)
        places = [entry.value for tensor in part.graph.initializer for entry in tensor.external_data if entry.key == "location"]
        assert set(places) == {stage["data"]}

    plan, _ = plan_of(tmp_path / "out", 3)
    (tmp_path / "weights/w.bin").rename(tmp_path / "elsewhere")
    command = [BINARY, "export", plan, "--model", path, "--emit", "stages", "-o", tmp_path / "none"]
    refused = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "400"})
    assert refused.returncode == 2 and "w.bin: not found" in refused.stderr, refused.stderr
    assert not (tmp_path / "none").exists()
    secret = tmp_path.parent / f"{tmp_path.name}.secret"
    shutil.copy(tmp_path / "elsewhere", secret)
    (tmp_path / "weights/w.bin").symlink_to(secret)
    refused = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "400"})
    assert refused.returncode == 2 and "leads out of the model's folder" in refused.stderr, refused.stderr


def test_half_precision_stays_half_precision(tmp_path):
    sketch = Sketch(dtype=TensorProto.FLOAT16)
    sketch.output(chain(sketch, "x", ["a", "b", "c"]))
    # onnxruntime computes convolutions in single precision and rounds where a node of half precision ends, which a cut adds to.
    _, manifest, exported = small(sketch, tmp_path, tolerance=0.004)
    for stage in manifest["stages"]:
        part = onnx.load(exported / "stages" / stage["file"])
        assert all(port.type.tensor_type.elem_type == TensorProto.FLOAT16 for port in part.graph.input)


def test_shapes_and_constants_are_computed_where_they_are_read(tmp_path):
    sketch = Sketch()
    chain(sketch, "x", ["a", "b"])
    sketch.node("Shape", ["a"], "shape")
    sketch.node("Identity", ["b"], "alias")
    sketch.node("Constant", [], "two", value=numpy_helper.from_array(np.float32(2)))
    sketch.node("Mul", ["alias", "two"], "doubled")
    sketch.node("Constant", [], "zero", value=numpy_helper.from_array(np.array([0])))
    sketch.node("Gather", ["shape", "zero"], "batch")
    sketch.node("Concat", ["batch", sketch.constant("rest", np.array([32, 784]))], "flat", axis=0)
    sketch.node("Reshape", ["doubled", "flat"], "line")
    sketch.node("Reshape", ["line", "shape"], "square")
    chain(sketch, "square", ["c", "d"])
    sketch.node("Mul", ["d", "two"], "last")
    sketch.output("last")
    _, manifest, _ = small(sketch, tmp_path)
    ports = {port["name"] for stage in manifest["stages"] for port in stage["inputs"] if port["from_stage"] is not None}
    assert not ports & {"shape", "batch", "flat", "two", "zero"}


def test_padding_and_batch_normalisation_follow_their_convolutions(tmp_path):
    sketch = Sketch()
    parameters = [sketch.constant(name, sketch.rng.uniform(0.5, 1.5, 32).astype(np.float32)) for name in "sbmv"]
    source = "x"
    for name in "pqrt":
        conv = sketch.conv(source, f"conv {name}")
        sketch.nodes[-1].attribute[0].ints[:] = [0, 0, 0, 0]
        pads = sketch.constant(f"pads {name}", np.array([0, 0, 1, 1, 0, 0, 1, 1]))
        sketch.nodes[-1].input[0] = padded = f"padded {name}"
        sketch.nodes.insert(-1, helper.make_node("Pad", [source, pads], [padded]))
        sketch.node("BatchNormalization", [conv, *parameters], f"normal {name}")
        source = sketch.node("Relu", [f"normal {name}"], name)
    sketch.output(source)
    _, manifest, _ = small(sketch, tmp_path)
    ports = {port["name"] for stage in manifest["stages"] for port in stage["inputs"] if port["from_stage"] is not None}
    assert ports and ports <= set("pqrt")


def test_a_file_as_written_is_cut_as_written(tmp_path):
    sketch = Sketch()
    parameters = [sketch.constant(name, sketch.rng.uniform(0.5, 1.5, 32).astype(np.float32)) for name in "sbmv"]
    source = "x"
    for name in "pqr":
        conv = sketch.conv(source, f"conv {name}")
        sketch.node("BatchNormalization", [conv, *parameters], f"normal {name}")
        source = sketch.node("Relu", [f"normal {name}"], name)
    sketch.output(source)
    small(sketch, tmp_path, "--as-written")


def test_functions_and_operator_sets_come_along(tmp_path):
    sketch = Sketch()
    chain(sketch, "x", ["a", "b"])
    sketch.node("Twice", ["b"], "twice", domain="local")
    chain(sketch, "twice", ["c", "d"])
    sketch.output("d")
    for name in ["twice"]:
        sketch.values.append(helper.make_tensor_value_info(name, FLOAT, sketch.extents))
    inner = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    functions = [
        helper.make_function("local", "Twice", ["i"], ["o"], [helper.make_node("Sum2", ["i", "i"], ["o"], domain="local")], inner),
        helper.make_function("local", "Sum2", ["i", "j"], ["o"], [helper.make_node("Add", ["i", "j"], ["o"])], inner),
        helper.make_function("local", "Unused", ["i"], ["o"], [helper.make_node("Abs", ["i"], ["o"])], inner),
    ]
    model = sketch.model(opsets=(("", 17), ("local", 1), ("com.microsoft", 1)), ir=8, functions=functions)
    _, manifest, exported = small(sketch, tmp_path, model=model)
    used = []
    for stage in manifest["stages"]:
        part = onnx.load(exported / "stages" / stage["file"])
        assert len(part.opset_import) == 3
        used.append({function.name for function in part.functions})
    assert {"Twice", "Sum2"} in used and set() in used and all("Unused" not in names for names in used)


def test_files_of_ir_version_3_list_constants_as_inputs(tmp_path):
    sketch = Sketch()
    sketch.output(chain(sketch, "x", ["a", "b", "c"]))
    for tensor in sketch.constants:
        sketch.inputs.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    small(sketch, tmp_path, model=sketch.model(opsets=(("", 8),), ir=3))


def test_branches_take_what_they_read_from_outside(tmp_path):
    sketch = Sketch()
    sketch.inputs.append(helper.make_tensor_value_info("flag", TensorProto.BOOL, []))
    chain(sketch, "x", ["a", "b", "c"])
    value = helper.make_tensor_value_info("chosen", FLOAT, sketch.extents)
    then = helper.make_graph([helper.make_node("Add", ["a", "c"], ["then"])], "then", [], [value_named(value, "then")])
    other = helper.make_graph([helper.make_node("Neg", ["c"], ["other"])], "else", [], [value_named(value, "other")])
    sketch.node("If", ["flag"], "chosen", then_branch=then, else_branch=other)
    sketch.values.append(value)
    chain(sketch, "chosen", ["d", "e"])
    sketch.output("e")
    small(sketch, tmp_path)


def value_named(value, name):
    named = onnx.ValueInfoProto()
    named.CopyFrom(value)
    named.name = name
    return named


def test_symbolic_extents_are_bound_as_the_plan_says(tmp_path):
    sketch = Sketch()
    sketch.output(chain(sketch, "x", ["a", "b", "c"]), ["batch", 32, 28, 28])
    sketch.inputs[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    small(sketch, tmp_path, "--dim", "batch=2", dims={"batch": 2})


def test_annotating_an_annotated_model_changes_nothing(tmp_path):
    sketch = Sketch()
    sketch.output(chain(sketch, "x", ["a", "b", "c"]))
    small(sketch, tmp_path, model=sketch.model(ir=12))


def test_one_stage_is_the_whole_network(tmp_path):
    sketch = Sketch()
    sketch.output(chain(sketch, "x", ["a", "b"]))
    _, manifest, exported = small(sketch, tmp_path, stages=1, least=1)
    (stage,) = manifest["stages"]
    part = onnx.load(exported / "stages" / stage["file"])
    whole = onnx.load(tmp_path / "small.onnx")
    assert list(part.graph.node) == list(whole.graph.node)
    assert part.graph.input == whole.graph.input and part.graph.output == whole.graph.output


def test_annotations_of_others_and_unknown_fields_survive(tmp_path):
    sketch = Sketch()
    sketch.output(chain(sketch, "x", ["a", "b", "c"]))
    model = sketch.model(ir=10)
    model.metadata_props.add(key="author", value="somebody")
    model.configuration.add(name="theirs", num_devices=2)
    for node in model.graph.node:
        node.metadata_props.add(key="layer_ann", value="old")
        node.metadata_props.add(key="theirs", value="kept")
    path = tmp_path / "small.onnx"
    # Field 4000 of the model is nobody's.
    path.write_bytes(model.SerializeToString() + b"\x82\xfa\x01\x03abc")
    out = tmp_path / "out"
    paracompile(path, "--soc", "vim3", "--out", out, "--no-plots", "--quiet", "--emit", "annotated")
    annotated = out / "export/annotated/small.onnx"
    assert b"\x82\xfa\x01\x03abc" in annotated.read_bytes()
    after = onnx.load(annotated)
    assert [configuration.name for configuration in after.configuration] == ["theirs", "paracompile"]
    for node in after.graph.node:
        entries = [(entry.key, entry.value) for entry in node.metadata_props]
        assert ("theirs", "kept") in entries and ("layer_ann", "old") not in entries


def test_onnxruntime_reads_the_layer_annotations(tmp_path):
    sketch = Sketch()
    sketch.output(chain(sketch, "x", ["a", "b", "c"]))
    path = tmp_path / "small.onnx"
    onnx.save(sketch.model(), path)
    out = tmp_path / "out"
    paracompile(path, "--soc", "vim3", "--out", out, "--no-plots", "--quiet", "--emit", "annotated")
    annotated = out / "export/annotated/small.onnx"
    (layer, *_) = [found for found in layers_of(onnx.load(annotated)).values() if found]
    # Settings that are no settings are refused, so the good ones above were read.
    with pytest.raises(Exception, match="layering config"):
        session(annotated, f"cpu(={layer}")
    session(annotated, f"gpu(={layer}); cpu(stage9/)")
