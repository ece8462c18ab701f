//! Whole small models: folding, order, symbols, what is unknown, and everything that can be wrong with a file.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

use bytes::Bytes;
use paracompile_frontend::import::onnx::{
    ImportError, ImportOptions, Imported, Warning, import, import_bytes,
};
use paracompile_frontend::ir::{OpKind, Summary, TensorRole, WeightRef, dump};
use paracompile_testkit::onnx::{
    Attribute, Dim, Graph, Message, dtype, fixed, floats, integers, node, tensor, value, zeros,
};
use proptest::prelude::*;

use Attribute::Graph as Body;
use Attribute::{Int, Tensor};

fn read(graph: &Graph) -> Result<Imported, ImportError> {
    read_with(graph, &[])
}

fn read_with(graph: &Graph, dims: &[(&str, u64)]) -> Result<Imported, ImportError> {
    let dims = dims
        .iter()
        .map(|&(name, extent)| (name.to_owned(), extent))
        .collect();
    import_bytes(
        "test",
        &Bytes::from(graph.model(17)),
        &ImportOptions {
            dims,
            ..ImportOptions::default()
        },
    )
}

#[track_caller]
fn fails(graph: &Graph, expected: &str) {
    let error = read(graph)
        .map(|imported| dump(&imported.graph))
        .unwrap_err();
    assert_eq!(error.to_string(), expected);
}

fn output(name: &str) -> Message {
    Message::new().text(1, name)
}

/// `x` through `nodes` to `y`.
fn network(dims: &[i64], nodes: Vec<Message>) -> Graph {
    Graph {
        nodes,
        inputs: vec![fixed("x", dtype::FLOAT, dims)],
        outputs: vec![output("y")],
        ..Graph::default()
    }
}

fn relu(from: &str, to: &str) -> Message {
    node("Relu", &[from], &[to], &[])
}

/// Operator types in order.
fn types(imported: &Imported) -> Vec<&str> {
    imported
        .graph
        .ops
        .as_slice()
        .iter()
        .map(|op| op.op_type.as_str())
        .collect()
}

#[test]
fn identities_and_dropouts_fold() {
    let imported = read(&network(
        &[4],
        vec![
            node("Identity", &["x"], &["a"], &[]),
            relu("a", "b"),
            node("Dropout", &["b"], &["c", "mask"], &[]),
            node("Identity", &["c"], &["d"], &[]),
            relu("d", "y"),
        ],
    ))
    .unwrap();
    assert_eq!(types(&imported), ["Relu", "Relu"]);
    assert_eq!(imported.folded.identities.len(), 2);
    assert_eq!(imported.folded.dropouts.len(), 1);
    let second = &imported.graph.ops.as_slice()[1];
    let operand = second.inputs[0].unwrap();
    assert_eq!(imported.graph.tensors[operand].name, "b");
    assert_eq!(second.at.node, 4, "places are those of the file");
}

#[test]
fn an_identity_that_names_an_output_stays_as_a_view() {
    let imported = read(&network(
        &[4],
        vec![relu("x", "a"), node("Identity", &["a"], &["y"], &[])],
    ))
    .unwrap();
    assert_eq!(types(&imported), ["Relu", "Identity"]);
    assert_eq!(imported.graph.ops.as_slice()[1].kind, OpKind::View);
    assert_eq!(imported.graph.tensors[imported.graph.outputs[0]].name, "y");
}

#[test]
fn constants_fold_and_dead_nodes_go() {
    let mut graph = network(
        &[2, 3],
        vec![
            node("ConstantOfShape", &["extents"], &["w"], &[]),
            node("Transpose", &["w"], &["wt"], &[]),
            node("MatMul", &["x", "wt"], &["y"], &[]),
            relu("x", "nobody"),
            relu("nobody", "reads"),
        ],
    );
    graph.constants = vec![integers("extents", &[4, 3])];
    let imported = read(&graph).unwrap();
    assert_eq!(types(&imported), ["MatMul"]);
    assert_eq!(imported.folded.constants.len(), 2);
    assert_eq!(imported.folded.dead.len(), 2);
    let weights: Vec<_> = imported
        .graph
        .tensors
        .as_slice()
        .iter()
        .filter(|tensor| tensor.role == TensorRole::Weight(WeightRef::Generated))
        .map(|tensor| (tensor.name.as_str(), tensor.shape.to_string()))
        .collect();
    assert_eq!(weights, [("wt", "[3, 4]".to_owned())]);
}

#[test]
fn shapes_are_computed_through_small_constants() {
    // reshape(x, concat(shape(x)[0:1], [-1], [shape(x)[2] * 2 / 2])), as exporters write it.
    let constant = |name: &str, values: &[i64]| {
        node(
            "Constant",
            &[],
            &[name],
            &[("value", Tensor(integers("", values)))],
        )
    };
    let imported = read(&network(
        &[2, 6, 4],
        vec![
            node("Shape", &["x"], &["s"], &[]),
            constant("zero", &[0]),
            constant("one", &[1]),
            constant("two", &[2]),
            constant("free", &[-1]),
            node("Slice", &["s", "zero", "one"], &["batch"], &[]),
            node("Gather", &["s", "two"], &["width"], &[]),
            node("Mul", &["width", "two"], &["double"], &[]),
            node("Div", &["double", "two"], &["half"], &[]),
            node(
                "Concat",
                &["batch", "free", "half"],
                &["shape"],
                &[("axis", Int(0))],
            ),
            node("Reshape", &["x", "shape"], &["v"], &[]),
            relu("v", "y"),
        ],
    ))
    .unwrap();
    assert_eq!(types(&imported), ["Reshape", "Relu"]);
    assert_eq!(
        imported.graph.tensors[imported.graph.outputs[0]].shape.0,
        [2, 6, 4]
    );
    assert_eq!(
        imported.graph.ops.as_slice()[0].inputs.len(),
        1,
        "the shape is a parameter and no operand"
    );
}

#[test]
fn scaled_shapes_round_as_in_single_precision() {
    // floor(10 * 0.7f): 6.99999988 exactly, but 7 in single precision, which is what runs.
    let mut graph = network(
        &[1, 10],
        vec![
            node("Shape", &["x"], &["s"], &[("start", Int(1))]),
            node("Cast", &["s"], &["f"], &[("to", Int(1))]),
            node("Mul", &["f", "scale"], &["scaled"], &[]),
            node("Floor", &["scaled"], &["whole"], &[]),
            node("Cast", &["whole"], &["n"], &[("to", Int(7))]),
            node("Slice", &["x", "zero", "n", "one"], &["y"], &[]),
        ],
    );
    graph.constants = vec![
        floats("scale", &[0.7]),
        integers("zero", &[0]),
        integers("one", &[1]),
    ];
    let imported = read(&graph).unwrap();
    assert_eq!(
        imported.graph.tensors[imported.graph.outputs[0]].shape.0,
        [1, 7]
    );
}

#[test]
fn conditions_on_shapes_are_evaluated() {
    // where(equal(shape, -1), 5, shape), the way exporters write expand.
    let mut graph = network(
        &[3, 1],
        vec![
            node(
                "ConstantOfShape",
                &["rank"],
                &["ones"],
                &[("value", Tensor(integers("", &[1])))],
            ),
            node("Equal", &["wanted", "free"], &["is_free"], &[]),
            node("Where", &["is_free", "ones", "wanted"], &["shape"], &[]),
            node("Expand", &["x", "shape"], &["y"], &[]),
        ],
    );
    graph.constants = vec![
        integers("rank", &[2]),
        integers("wanted", &[-1, 7]),
        integers("free", &[-1]),
    ];
    let imported = read(&graph).unwrap();
    assert_eq!(
        imported.graph.tensors[imported.graph.outputs[0]].shape.0,
        [3, 7]
    );
}

#[test]
fn nodes_out_of_order_are_sorted_and_keep_their_places() {
    let imported = read(&network(
        &[4],
        vec![relu("b", "y"), relu("x", "a"), relu("a", "b")],
    ))
    .unwrap();
    let places: Vec<u32> = imported
        .graph
        .ops
        .as_slice()
        .iter()
        .map(|op| op.at.node)
        .collect();
    assert_eq!(places, [1, 2, 0]);
}

#[test]
fn a_cycle_names_its_nodes() {
    fails(
        &network(
            &[4],
            vec![
                node("Add", &["x", "b"], &["a"], &[]),
                relu("a", "b"),
                relu("b", "y"),
            ],
        ),
        "node 0 (Add), node 1 (Relu) form a cycle",
    );
}

#[test]
fn names_are_made_unique() {
    let named = |name: &str, from: &str, to: &str| relu(from, to).text(3, name);
    let imported = read(&network(
        &[4],
        vec![
            named("r", "x", "a"),
            named("r", "a", "b"),
            relu("b", "c"),
            named("r@1", "c", "y"),
        ],
    ))
    .unwrap();
    let found: Vec<_> = imported
        .graph
        .ops
        .as_slice()
        .iter()
        .map(|op| op.name.as_str())
        .collect();
    assert_eq!(found, ["r", "r@1'", "Relu@2", "r@1"]);
}

#[test]
fn constants_listed_as_inputs_are_weights() {
    let mut graph = network(&[2, 3], vec![node("MatMul", &["x", "w"], &["y"], &[])]);
    graph.inputs.push(fixed("w", dtype::FLOAT, &[3, 4]));
    graph.constants.push(zeros("w", &[3, 4]));
    let imported = read(&graph).unwrap();
    assert_eq!(imported.graph.inputs.len(), 1);
    let bytes = graph.model(17);
    let weight = imported
        .graph
        .tensors
        .as_slice()
        .iter()
        .find(|tensor| tensor.name == "w")
        .unwrap();
    let TensorRole::Weight(WeightRef::Inline { offset, length }) = weight.role else {
        panic!("{:?}", weight.role);
    };
    let (offset, length) = (
        usize::try_from(offset).unwrap(),
        usize::try_from(length).unwrap(),
    );
    assert_eq!(length, 48);
    // The field header before the payload: field 9, 48 bytes.
    assert_eq!(bytes[offset - 2..offset], [9 << 3 | 2, 48]);
    assert!(bytes[offset..offset + length].iter().all(|&byte| byte == 0));
}

#[test]
fn external_weights_are_referenced_even_if_missing() {
    let entry = |key: &str, value: &str| Message::new().text(1, key).text(2, value);
    let external = |location: &str| {
        Message::new()
            .int(1, 3)
            .int(1, 4)
            .int(2, 1)
            .text(8, "w")
            .message(13, &entry("location", location))
            .message(13, &entry("offset", "64"))
            .message(13, &entry("length", "48"))
            .int(14, 1)
    };
    let mut graph = network(&[2, 3], vec![node("MatMul", &["x", "w"], &["y"], &[])]);
    graph.constants = vec![external("weights.bin")];
    let imported = read(&graph).unwrap();
    let expected = WeightRef::External {
        location: "weights.bin".to_owned(),
        offset: 64,
        length: Some(48),
    };
    assert!(
        imported
            .graph
            .tensors
            .as_slice()
            .iter()
            .any(|tensor| tensor.role == TensorRole::Weight(expected.clone()))
    );
    graph.constants = vec![external("../weights.bin")];
    fails(
        &graph,
        "constant `w`: external data `../weights.bin` is outside of the model's folder",
    );
}

fn symbolic() -> Graph {
    Graph {
        nodes: vec![node("MatMul", &["x", "k"], &["y"], &[])],
        inputs: vec![
            value(
                "x",
                dtype::FLOAT,
                &[Dim::Symbol("batch"), Dim::Symbol("tokens"), Dim::Unknown],
            ),
            value(
                "k",
                dtype::FLOAT,
                &[Dim::Symbol("batch"), Dim::Value(8), Dim::Value(-1)],
            ),
            value("unread", dtype::FLOAT, &[Dim::Symbol("other")]),
        ],
        outputs: vec![output("y")],
        ..Graph::default()
    }
}

#[test]
fn all_unbound_symbols_that_matter_are_named_at_once() {
    let error = read(&symbolic()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "symbolic dimensions without a value: `batch` (axis 0 of input `x`), `tokens` (axis 1 of input `x`), \
         `x[2]` (axis 2 of input `x`), `k[2]` (axis 2 of input `k`); \
         bind with --dim 'batch=N' --dim 'tokens=N' --dim 'x[2]=N' --dim 'k[2]=N'"
    );
}

#[test]
fn bound_symbols_give_static_shapes() {
    let imported = read_with(
        &symbolic(),
        &[("batch", 2), ("tokens", 5), ("x[2]", 8), ("k[2]", 3)],
    )
    .unwrap();
    assert_eq!(
        imported.graph.tensors[imported.graph.outputs[0]].shape.0,
        [2, 5, 3]
    );
    assert_eq!(
        imported.warnings,
        [Warning::UnreadInputs(vec!["unread".to_owned()])]
    );
    assert_eq!(imported.graph.dims["tokens"], 5);
}

#[test]
fn unknown_bindings_list_what_the_model_has() {
    let error = read_with(&symbolic(), &[("bacth", 2)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the model has no symbolic dimension `bacth`; it has `batch`, `tokens`, `x[2]`, `k[2]`, `other`"
    );
    let error = read_with(&network(&[4], vec![relu("x", "y")]), &[("n", 2)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the model has no symbolic dimension `n`; all its dimensions are fixed"
    );
    let error = read_with(&symbolic(), &[("batch", 0)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "dimension `batch` bound to 0; a network without elements has nothing to map"
    );
}

#[test]
fn unknown_operators_are_placed_with_their_declared_shapes() {
    let mut graph = network(
        &[4],
        vec![
            node("Frobnicate", &["x"], &["a"], &[]),
            node("Relu", &["a"], &["b"], &[]).text(7, "com.example"),
            node("Frobnicate", &["b"], &["y"], &[]),
        ],
    );
    graph.declared = vec![
        fixed("a", dtype::FLOAT, &[7]),
        fixed("b", dtype::FLOAT, &[8]),
    ];
    graph.outputs = vec![fixed("y", dtype::FLOAT, &[9])];
    let imported = read(&graph).unwrap();
    assert_eq!(
        types(&imported),
        ["Frobnicate", "com.example.Relu", "Frobnicate"]
    );
    assert_eq!(
        imported.warnings,
        [Warning::OpaqueOperators(vec![
            ("Frobnicate".to_owned(), 2),
            ("com.example.Relu".to_owned(), 1)
        ])]
    );
    graph.declared.pop();
    graph.outputs = vec![output("y")];
    // The last node reads what is unknown; it is not blamed.
    fails(
        &graph,
        "node 1 (com.example.Relu): the shape of its result `b` is unknown; declare it under `value_info` (onnx.shape_inference, or the exporter's own), or say every axis of it: --dim 'b[0]=N' --dim 'b[1]=N' and so on",
    );
}

#[test]
fn branches_count_what_they_capture() {
    let branch = |reads: &str| {
        Graph {
            nodes: vec![
                node("Add", &[reads, reads], &["inner"], &[]),
                relu("inner", "result"),
            ],
            outputs: vec![fixed("result", dtype::FLOAT, &[4])],
            ..Graph::default()
        }
        .encode()
    };
    let mut graph = network(
        &[4],
        vec![
            relu("x", "a"),
            relu("x", "b"),
            node(
                "If",
                &["c"],
                &["y"],
                &[
                    ("then_branch", Body(branch("a"))),
                    ("else_branch", Body(branch("b"))),
                ],
            ),
        ],
    );
    graph.inputs.push(fixed("c", dtype::BOOL, &[]));
    let imported = read(&graph).unwrap();
    let condition = &imported.graph.ops.as_slice()[2];
    let operands: Vec<_> = condition
        .inputs
        .iter()
        .flatten()
        .map(|&id| imported.graph.tensors[id].name.as_str())
        .collect();
    assert_eq!(operands, ["c", "a", "b"]);
    assert_eq!(
        imported.graph.tensors[imported.graph.outputs[0]].shape.0,
        [4]
    );
    assert_eq!(
        imported.warnings,
        [Warning::DearestBranch(vec!["y".to_owned()])]
    );
}

#[test]
fn contradicting_declarations_are_ignored_with_a_warning() {
    let mut graph = network(&[4], vec![relu("x", "y")]);
    graph.outputs = vec![value("y", dtype::FLOAT, &[Dim::Value(5)])];
    let imported = read(&graph).unwrap();
    assert_eq!(
        imported.warnings[0].to_string(),
        "declared shapes that do not follow from the inputs are ignored: `y` is float [4], not float [5]"
    );
    graph.outputs = vec![value("y", dtype::FLOAT, &[Dim::Symbol("n")])];
    assert_eq!(
        read(&graph).unwrap().warnings,
        [],
        "a symbol leaves it open"
    );
}

#[test]
fn constant_outputs_are_left_out() {
    let mut graph = network(&[4], vec![relu("x", "y")]);
    graph.constants = vec![floats("c", &[1.0])];
    graph.outputs.push(output("c"));
    let imported = read(&graph).unwrap();
    assert_eq!(imported.graph.outputs.len(), 1);
    assert_eq!(
        imported.warnings,
        [Warning::ConstantOutputs(vec!["c".to_owned()])]
    );
    graph.outputs.remove(0);
    fails(
        &graph,
        "there is nothing to map: every output is a constant, an input, or another view of an input",
    );
}

#[test]
fn all_problems_of_a_file_come_at_once() {
    let mut graph = network(
        &[4],
        vec![
            node("Conv", &["x"], &["a"], &[]),
            relu("a", "hidden"),
            relu("nowhere", "b"),
            node("Concat", &["x", "x"], &["c"], &[("axis", Int(3))]),
            relu("x", "c"),
            node("Sum", &["hidden", "b", "c"], &["y"], &[]),
        ],
    );
    graph.constants = vec![tensor("w", dtype::FLOAT, &[1 << 62, 3], &[0; 4])];
    graph.outputs.push(output("z"));
    fails(
        &graph,
        "constant `w`: shape [4611686018427387904, 3]: its size overflows 64 bits\n\
         tensor `c`: written more than once, last by node 4 (Relu)\n\
         node 2 (Relu): reads `nowhere`, which nothing writes\n\
         output `z`: nothing writes it\n\
         node 0 (Conv): operand `X` has shape [4], but batch, channels and at least one spatial axis are needed\n\
         node 3 (Concat): axis 3 is out of range for rank 1",
    );
}

#[test]
fn constants_of_every_form_fold() {
    for (name, attribute) in [
        ("value", Tensor(floats("", &[1.0]))),
        ("value_float", Attribute::Float(1.0)),
        ("value_floats", Attribute::Floats(&[1.0, 2.0])),
        ("value_int", Int(1)),
        ("value_ints", Attribute::Ints(&[1, 2])),
        ("value_string", Attribute::Text("one")),
    ] {
        let nodes = vec![
            relu("x", "y"),
            node("Constant", &[], &["c"], &[(name, attribute)]),
        ];
        let mut graph = network(&[4], nodes);
        graph.outputs.push(output("c"));
        let imported = read(&graph).unwrap();
        assert_eq!(imported.folded.constants.len(), 1, "{name}");
        assert_eq!(
            imported.warnings,
            [Warning::ConstantOutputs(vec!["c".to_owned()])]
        );
    }
    let mut graph = network(&[4], vec![node("Constant", &[], &["c"], &[])]);
    graph.outputs = vec![output("c")];
    fails(&graph, "node 0 (Constant): attribute `value` is missing");
}

#[test]
fn a_network_of_views_has_nothing_to_map() {
    fails(
        &network(&[2, 2], vec![node("Flatten", &["x"], &["y"], &[])]),
        "there is nothing to map: every output is a constant, an input, or another view of an input",
    );
}

#[test]
fn dumps_are_readable() {
    let mut graph = network(
        &[2, 3],
        vec![
            node("MatMul", &["x", "w"], &["p"], &[]),
            node("Flatten", &["p"], &["y"], &[]),
        ],
    );
    graph.constants = vec![zeros("w", &[3, 4])];
    let imported = read(&graph).unwrap();
    let text = dump(&imported.graph);
    let (header, rest) = text.split_once('\n').unwrap();
    assert_eq!(header, format!("graph test {}", imported.graph.digest));
    assert_eq!(
        rest,
        "input `x`: float [2, 3]\n\
         weight `w`: float [3, 4] at 61, 48 bytes\n\
         0 gemm MatMul `MatMul@0`(`x`, `w`) -> `p`: float [2, 4]; 1 x 2 x 4 x 3 = 24 macs\n\
         1 view Flatten `Flatten@1`(`p`) -> `y`: float [2, 4]\n\
         output `y`\n"
    );
}

#[test]
fn absurd_shapes_cost_no_memory() {
    let huge = |extents: &[i64]| {
        let mut graph = network(
            &[4],
            vec![
                node("ConstantOfShape", &["extents"], &["w"], &[]),
                node("Gather", &["w", "i"], &["y"], &[]),
            ],
        );
        graph.inputs = vec![fixed("i", dtype::INT64, &[4])];
        graph.constants = vec![integers("extents", extents)];
        graph
    };
    let imported = read(&huge(&[1 << 40, 1 << 10])).unwrap();
    assert_eq!(
        imported.graph.ops.as_slice()[0].work.weight_bytes.count(),
        4 * 1024 * 4
    );
    fails(
        &huge(&[1 << 40, 1 << 30]),
        "node 0 (ConstantOfShape): the size of its result overflows 64 bits",
    );
    fails(
        &huge(&[-4]),
        "node 0 (ConstantOfShape): the shape is -4, but extents cannot be negative",
    );
    fails(
        &huge(&[1; 100]),
        "node 0 (ConstantOfShape): its result has 100 axes, more than 32",
    );
}

#[test]
fn absurd_inputs_are_refused() {
    fails(
        &network(&[i64::MAX, 4], vec![relu("x", "y")]),
        "input `x`: float [9223372036854775807, 4] overflows 64 bits",
    );
    fails(
        &network(&[-7], vec![relu("x", "y")]),
        "input `x`: axis 0 has extent -7",
    );
    let mut graph = network(&[4], vec![relu("x", "y")]);
    graph.inputs = vec![Message::new().text(1, "x")];
    fails(
        &graph,
        "input `x`: only dense tensors are supported as inputs",
    );
    graph.inputs = vec![fixed("x", 77, &[4])];
    fails(&graph, "input `x`: element type 77 is unknown");
    // Each fits, all together do not.
    let nodes = (0..40)
        .map(|index| relu("x", &format!("y{index}")))
        .collect();
    let mut graph = network(&[1 << 57], nodes);
    graph.outputs = (0..40).map(|index| output(&format!("y{index}"))).collect();
    fails(&graph, "the sizes of all tensors together exceed 64 bits");
}

#[test]
fn an_empty_range_or_a_huge_one_is_no_trap() {
    let range = |limit: i64| {
        let mut graph = network(
            &[1],
            vec![
                node("Range", &["zero", "limit", "one"], &["r"], &[]),
                node("Gather", &["x", "r"], &["y"], &[]),
            ],
        );
        let scalar = |name: &str, value: i64| tensor(name, dtype::INT64, &[], &value.to_le_bytes());
        graph.constants = vec![scalar("zero", 0), scalar("one", 1), scalar("limit", limit)];
        graph
    };
    assert_eq!(
        read(&range(3)).unwrap().graph.tensors.as_slice()[2].shape.0,
        [3]
    );
    assert_eq!(read(&range(1 << 50)).unwrap().graph.ops.len(), 1);
    fails(
        &range(-5),
        "there is nothing to map: every output is a constant, an input, or another view of an input",
    );
}

#[test]
fn a_hundred_thousand_nodes_in_a_row_do_not_overflow_the_stack() {
    let mut nodes: Vec<_> = (1..100_000)
        .map(|index| relu(&format!("t{}", index - 1), &format!("t{index}")))
        .collect();
    nodes.push(relu("t99999", "y"));
    nodes.reverse();
    let mut graph = network(&[4], nodes);
    graph.inputs = vec![fixed("t0", dtype::FLOAT, &[4])];
    assert_eq!(read(&graph).unwrap().graph.ops.len(), 100_000);
}

#[test]
fn a_default_operator_set_is_needed() {
    let graph = network(&[4], vec![relu("x", "y")]);
    let bytes = Message::new()
        .int(1, 8)
        .message(7, &graph.encode())
        .into_bytes();
    let error = import_bytes("test", &Bytes::from(bytes), &ImportOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the model imports no version of the default operator set"
    );
}

#[test]
fn files_say_what_is_wrong_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    let options = ImportOptions::default();
    let error = import(&path, &options).unwrap_err();
    assert!(
        error.to_string().ends_with("model.onnx: cannot be read"),
        "{error}"
    );
    std::fs::write(&path, b"").unwrap();
    assert_eq!(
        import(&path, &options).unwrap_err().to_string(),
        "the file is empty"
    );
    assert!(matches!(
        import(folder.path(), &options),
        Err(ImportError::Read { .. })
    ));
    std::fs::write(&path, network(&[4], vec![relu("x", "y")]).model(17)).unwrap();
    let imported = import(&path, &options).unwrap();
    assert_eq!(imported.graph.name, "model");
}

#[test]
fn the_digest_covers_structure_and_no_weights() {
    let model = |weights: &[f32], shape: i64, name: &str| {
        let mut graph = network(
            &[2, 2],
            vec![
                node("Mul", &["x", "w"], &["p"], &[]),
                node("Reshape", &["p", "shape"], &[name], &[]),
            ],
        );
        graph.constants = vec![floats("w", weights), integers("shape", &[shape, -1])];
        graph.outputs = vec![output(name)];
        read(&graph).unwrap().graph.digest.clone()
    };
    let digest = model(&[1.0, 2.0], 1, "y");
    assert_eq!(digest, model(&[3.0, 4.0], 1, "y"), "retrained");
    assert_ne!(digest, model(&[1.0, 2.0], 4, "y"), "another shape");
    assert_ne!(digest, model(&[1.0, 2.0], 1, "z"), "another name");
    assert_ne!(digest, model(&[2.0], 1, "y"), "another weight shape");
}

/// A model that uses much of the importer.
fn varied() -> Vec<u8> {
    varied_graph().model(17)
}

fn varied_graph() -> Graph {
    let mut graph = network(
        &[1, 3, 8, 8],
        vec![
            node(
                "Conv",
                &["x", "w", "b"],
                &["c"],
                &[("pads", Attribute::Ints(&[1, 1, 1, 1]))],
            ),
            node("Shape", &["c"], &["s"], &[]),
            node("Slice", &["s", "zero", "two"], &["lead"], &[]),
            node("Concat", &["lead", "free"], &["shape"], &[("axis", Int(0))]),
            node("Reshape", &["c", "shape"], &["flat"], &[]),
            node("Split", &["flat"], &["left", "right"], &[("axis", Int(2))]),
            node("MatMul", &["left", "m"], &["p"], &[]),
            node("Identity", &["p"], &["q"], &[]),
            node(
                "Resize",
                &["x", "", "scales"],
                &["big"],
                &[("mode", Attribute::Text("linear"))],
            ),
            node(
                "MaxPool",
                &["big"],
                &["pool"],
                &[("kernel_shape", Attribute::Ints(&[2, 2]))],
            ),
            node("ReduceMean", &["pool"], &["mean"], &[("keepdims", Int(0))]),
            node("Sum", &["q", "mean"], &["y"], &[]),
        ],
    );
    graph.constants = vec![
        zeros("w", &[4, 3, 3, 3]),
        zeros("b", &[4]),
        zeros("m", &[32, 5]),
        integers("zero", &[0]),
        integers("two", &[2]),
        integers("free", &[-1]),
        floats("scales", &[1.0, 1.0, 2.0, 2.0]),
    ];
    graph.outputs.push(output("right"));
    graph
}

fn survives(bytes: Vec<u8>) {
    let options = ImportOptions::default();
    // A result or a typed error, and a message that can be printed; a panic fails the test.
    if let Err(error) = import_bytes("fuzz", &Bytes::from(bytes), &options) {
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn the_varied_model_is_valid() {
    let imported =
        import_bytes("varied", &Bytes::from(varied()), &ImportOptions::default()).unwrap();
    assert_eq!(
        types(&imported),
        [
            "Conv",
            "Reshape",
            "Split",
            "MatMul",
            "Resize",
            "MaxPool",
            "ReduceMean",
            "Sum"
        ]
    );
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = varied();
    for length in 0..bytes.len() {
        let cut = Bytes::copy_from_slice(&bytes[..length]);
        let error = import_bytes("cut", &cut, &ImportOptions::default())
            .map(|_| ())
            .unwrap_err();
        assert!(
            matches!(
                error,
                ImportError::Empty
                    | ImportError::Malformed { .. }
                    | ImportError::NoGraph
                    | ImportError::Invalid(_)
            ),
            "{length}: {error}"
        );
    }
}

#[test]
fn every_single_byte_can_be_anything() {
    let bytes = varied();
    for position in 0..bytes.len() {
        for replacement in [
            0,
            1,
            0x7f,
            0x80,
            0xff,
            bytes[position] ^ 1,
            bytes[position] ^ 0x40,
        ] {
            let mut mutated = bytes.clone();
            mutated[position] = replacement;
            survives(mutated);
        }
    }
}

proptest! {
    #[test]
    fn the_order_of_nodes_in_the_file_does_not_matter(nodes in Just(varied_graph().nodes).prop_shuffle()) {
        let expected = Summary::of(&read(&varied_graph()).unwrap().graph);
        let graph = Graph { nodes, ..varied_graph() };
        prop_assert_eq!(Summary::of(&read(&graph).unwrap().graph), expected);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        survives(bytes);
    }

    #[test]
    fn mutated_models_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        insertion in prop::collection::vec(any::<u8>(), 0..4),
    ) {
        let mut bytes = varied();
        for (position, value) in changes {
            let position = position.index(bytes.len());
            bytes[position] = value;
        }
        let at = cut.index(bytes.len());
        bytes.splice(at..at, insertion);
        survives(bytes);
    }

    #[test]
    fn absurd_numbers_in_attributes_and_shapes_never_panic(
        op_type in prop::sample::select(vec![
            "Conv", "ConvTranspose", "MaxPool", "AveragePool", "Reshape", "Slice", "Pad", "Split", "Tile", "Expand", "Gather", "Concat",
            "Transpose", "Squeeze", "Unsqueeze", "Flatten", "TopK", "OneHot", "ReduceSum", "Resize", "DepthToSpace", "SpaceToDepth",
            "Range", "ConstantOfShape", "GatherND", "LSTM", "Softmax", "LayerNormalization", "MatMul", "CumSum", "Trilu", "Shape", "Mod",
            "Pow", "Einsum", "NonZero", "Col2Im", "BatchNormalization", "QLinearConv", "AffineGrid", "RoiAlign", "Cast", "Upsample", "LRN",
            "Attention", "LinearAttention", "RotaryEmbedding", "TensorScatter", "CausalConvWithState", "DeformConv", "MaxUnpool", "CenterCropPad",
            "Det", "DFT", "STFT", "HannWindow", "MelWeightMatrix", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", "Unique", "Compress",
            "NonMaxSuppression", "StringSplit", "TfIdfVectorizer", "ScatterND", "ScatterElements", "GatherElements", "BitShift", "BitCast",
            "SwiGLU", "Optional", "OptionalHasElement", "ReduceProd", "ReduceMean", "GridSample",
        ]),
        extents in prop::collection::vec(prop_oneof![0i64..5, Just(i64::MAX), Just(1 << 40), Just(1 << 31)], 0..5),
        numbers in prop::collection::vec(prop_oneof![-4i64..5, any::<i64>(), Just(i64::MIN), Just(i64::MAX)], 0..6),
        more in prop::collection::vec(prop_oneof![-4i64..5, any::<i64>()], 0..6),
        opset in 1i64..30,
    ) {
        let text = ["kernel_shape", "strides", "pads", "dilations", "output_padding", "perm", "axes", "shape", "split", "starts", "ends", "ngram_indexes"];
        let mut attributes: Vec<_> = text.iter().map(|&name| (name, Attribute::Ints(&numbers))).collect();
        let first = more.first().copied().unwrap_or(1);
        attributes.extend(["axis", "group", "blocksize", "k", "hidden_size", "size", "batch_dims", "to", "output_height", "q_num_heads", "kv_num_heads", "onesided", "inverse", "maxsplit"].map(|name| (name, Int(first))));
        attributes.push(("equation", Attribute::Text("ij,...k->ik")));
        // Odd seeds leave attributes out, so that newer versions read operands.
        if first % 2 != 0 {
            attributes.clear();
        }
        for inputs in [&["x", "n", "m"][..], &["x", "x", "x"], &["n", "m", "n"], &["x", "n", "m", "n", "m"], &["x", "", "f", "n"], &["x"], &["f", "n"]] {
            let mut graph = network(&extents, vec![node(op_type, inputs, &["r", "second"], &attributes), relu("r", "s"), node("Concat", &["s", "x"], &["y"], &[("axis", Int(0))])]);
            graph.constants = vec![integers("n", &numbers), integers("m", &more), floats("f", &[1.0, 0.5, f32::INFINITY, -1.0])];
            graph.outputs.push(output("r"));
            survives(graph.model(opset));
        }
    }
}
