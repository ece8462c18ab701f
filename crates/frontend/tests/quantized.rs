//! Networks of quantised tensors: which conversions their operators take in, and what types and sizes are left.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

use bytes::Bytes;
use paracompile_frontend::import::onnx::{Convolutions, ImportOptions, Imported, import_bytes};
use paracompile_frontend::ir::{DataType, Op, TensorId};
use paracompile_testkit::onnx::{
    Attribute, Graph, Message, dtype, fixed, in_domain, integers, node, tensor, zeros,
};

use proptest::prelude::*;

use Attribute::{Float, Int, Ints, Text};

const INT32: i32 = 6;
const HALF: i32 = 10;
const UINT4: i32 = 21;
const INT4: i32 = 22;

fn read_as(graph: &Graph, convolutions: Convolutions) -> Imported {
    let opset = |domain: &str, version| Message::new().text(1, domain).int(2, version);
    let model = Message::new()
        .int(1, 10)
        .message(7, &graph.encode())
        .message(8, &opset("", 21))
        .message(8, &opset("com.microsoft", 1));
    let options = ImportOptions {
        convolutions,
        ..ImportOptions::default()
    };
    import_bytes("test", &Bytes::from(model.into_bytes()), &options).unwrap()
}

fn read(graph: &Graph) -> Imported {
    read_as(graph, Convolutions::Fold)
}

fn scalar(name: &str, value: f32) -> Message {
    tensor(name, dtype::FLOAT, &[], &value.to_le_bytes())
}

fn bytes_of(name: &str, dtype: i32, dims: &[i64], bits: i64) -> Message {
    let size = (dims.iter().product::<i64>() * bits).div_euclid(8);
    tensor(name, dtype, dims, &vec![1; usize::try_from(size).unwrap()])
}

/// A quantised image of eight channels, and constants, through `nodes` to `y`.
fn network(nodes: Vec<Message>) -> Graph {
    Graph {
        nodes,
        inputs: vec![
            fixed("x", dtype::UINT8, &[1, 8, 6, 6]),
            fixed("x2", dtype::UINT8, &[1, 8, 6, 6]),
            fixed("real", dtype::FLOAT, &[1, 8, 6, 6]),
        ],
        outputs: vec![Message::new().text(1, "y")],
        constants: vec![
            scalar("s", 0.5),
            scalar("same", 0.5),
            scalar("t", 0.25),
            tensor("z", dtype::UINT8, &[], &[128]),
            tensor("z_same", dtype::UINT8, &[], &[128]),
            bytes_of("w", dtype::INT8, &[8, 8, 3, 3], 8),
            bytes_of("b", INT32, &[8], 32),
            bytes_of("plane", dtype::INT8, &[6, 6], 8),
            bytes_of("packed", INT4, &[6, 6], 4),
            bytes_of("zeros4", INT4, &[2, 6], 4),
            zeros("block_scales", &[2, 6]),
            zeros("by_channel", &[8]),
            zeros("real_b", &[8]),
            scalar("low", 0.0),
            scalar("high", 6.0),
            integers("flat", &[1, 288]),
            integers("back", &[1, 8, 6, 6]),
            integers("first", &[0]),
            integers("four", &[4]),
            integers("channel", &[1]),
        ],
        ..Graph::default()
    }
}

fn dq(from: &str, to: &str) -> Message {
    node("DequantizeLinear", &[from, "s", "z"], &[to], &[])
}

fn q(from: &str, to: &str) -> Message {
    node("QuantizeLinear", &[from, "s", "z"], &[to], &[])
}

/// The same with another scale.
fn other_q(from: &str, to: &str) -> Message {
    node("QuantizeLinear", &[from, "t", "z"], &[to], &[])
}

fn op(kind: &str, inputs: &[&str], to: &str) -> Message {
    node(kind, inputs, &[to], &[])
}

/// A convolution that keeps the image's extents.
fn conv(inputs: &[&str], to: &str) -> Message {
    node("Conv", inputs, &[to], &[("pads", Ints(&[1, 1, 1, 1]))])
}

/// Weights and a bias, dequantised as `wf` and `bf`.
fn weights() -> Vec<Message> {
    vec![
        node(
            "DequantizeLinear",
            &["w", "by_channel"],
            &["wf"],
            &[("axis", Int(0))],
        ),
        node(
            "DequantizeLinear",
            &["b", "by_channel"],
            &["bf"],
            &[("axis", Int(0))],
        ),
    ]
}

fn with_weights(nodes: Vec<Message>) -> Graph {
    network(weights().into_iter().chain(nodes).collect())
}

fn typed(imported: &Imported, id: TensorId) -> String {
    let tensor = &imported.graph.tensors[id];
    format!("{} {}", tensor.name, tensor.dtype)
}

/// Operators with the types of what they read, write and compute in, such as `Relu(x uint8) -> y uint8 in uint8`.
fn shown(imported: &Imported) -> Vec<String> {
    let show = |op: &Op| {
        let operands = op.inputs.iter();
        let operands = operands.map(|slot| slot.map_or("-".to_owned(), |id| typed(imported, id)));
        let results: Vec<_> = op.outputs.iter().map(|&id| typed(imported, id)).collect();
        let arithmetic = match op.class() {
            Some(_) => format!(" in {}", op.work.arithmetic),
            None => String::new(),
        };
        format!(
            "{}({}) -> {}{arithmetic}",
            op.op_type,
            operands.collect::<Vec<_>>().join(", "),
            results.join(", "),
        )
    };
    imported.graph.ops.as_slice().iter().map(show).collect()
}

fn read_shown(graph: &Graph) -> Vec<String> {
    shown(&read(graph))
}

#[test]
fn a_convolution_between_conversions_runs_on_quantised_tensors() {
    let graph = with_weights(vec![
        dq("x", "xf"),
        conv(&["xf", "wf", "bf"], "c"),
        q("c", "y"),
    ]);
    let imported = read(&graph);
    assert_eq!(
        shown(&imported),
        ["Conv(x uint8, w int8, b int32) -> y uint8 in uint8"]
    );
    let work = imported.graph.ops.as_slice()[0].work;
    assert_eq!(work.input_bytes.count(), 288);
    assert_eq!(work.weight_bytes.count(), 8 * 8 * 9 + 8 * 4);
    assert_eq!(work.output_bytes.count(), 288);
    assert_eq!(work.macs, 36 * 8 * 72);
    // Those of the weights are constants, as before.
    let folded: Vec<usize> = imported
        .folded
        .conversions
        .iter()
        .map(|at| at.node)
        .collect();
    assert_eq!(folded, [2, 4]);
    let written = read_as(&graph, Convolutions::AsWritten);
    assert_eq!(
        shown(&written),
        [
            "DequantizeLinear(x uint8) -> xf float in float",
            "Conv(xf float, wf float, bf float) -> c float in float",
            "QuantizeLinear(c float) -> y uint8 in float"
        ]
    );
}

#[test]
fn limits_of_what_is_stored_are_part_of_storing() {
    for clamp in [
        op("Relu", &["c"], "r"),
        op("Clip", &["c", "low", "high"], "r"),
    ] {
        let nodes = vec![dq("x", "xf"), conv(&["xf", "wf"], "c"), clamp, q("r", "y")];
        assert_eq!(
            read_shown(&with_weights(nodes)),
            ["Conv(x uint8, w int8) -> y uint8 in uint8"]
        );
    }
    // Others run behind, and what lies between was never quantised.
    let nodes = vec![
        dq("x", "xf"),
        conv(&["xf", "wf"], "c"),
        op("Sigmoid", &["c"], "r"),
        q("r", "y"),
    ];
    assert_eq!(
        read_shown(&with_weights(nodes)),
        [
            "Conv(x uint8, w int8) -> c float in uint8",
            "Sigmoid(c float) -> y uint8 in float"
        ]
    );
}

#[test]
fn a_product_whose_result_stays_real_reads_quantised_operands() {
    let nodes = vec![dq("x", "xf"), conv(&["xf", "wf", "real_b"], "y")];
    assert_eq!(
        read_shown(&with_weights(nodes)),
        ["Conv(x uint8, w int8, real_b float) -> y float in uint8"]
    );
}

#[test]
fn an_operator_with_one_real_operand_keeps_the_conversions() {
    let nodes = vec![dq("x", "xf"), op("Add", &["xf", "real"], "a"), q("a", "y")];
    assert_eq!(
        read_shown(&network(nodes)),
        [
            "DequantizeLinear(x uint8) -> xf float in float",
            "Add(xf float, real float) -> a float in float",
            "QuantizeLinear(a float) -> y uint8 in float"
        ]
    );
    let nodes = vec![
        dq("x", "xf"),
        dq("x2", "x2f"),
        op("Add", &["xf", "x2f"], "a"),
        other_q("a", "y"),
    ];
    assert_eq!(
        read_shown(&network(nodes)),
        ["Add(x uint8, x2 uint8) -> y uint8 in uint8"]
    );
}

#[test]
fn a_conversion_stays_for_whoever_needs_it() {
    let nodes = vec![
        dq("x", "xf"),
        op("Sqrt", &["xf"], "a"),
        q("a", "aq"),
        dq("aq", "af"),
        op("NoSuchOperator", &["xf"], "unknown"),
        op("Add", &["af", "real"], "y"),
    ];
    let mut graph = network(nodes);
    graph.outputs.push(fixed("unknown", dtype::FLOAT, &[1, 8]));
    let shown = read_shown(&graph);
    assert!(shown.contains(&"DequantizeLinear(x uint8) -> xf float in float".to_owned()));
    assert!(shown.contains(&"Sqrt(x uint8) -> aq uint8 in uint8".to_owned()));
    assert!(shown.contains(&"DequantizeLinear(aq uint8) -> af float in float".to_owned()));
    // What the network returns is what the file says.
    let nodes = vec![dq("x", "xf"), op("Sqrt", &["xf"], "y"), q("y", "yq")];
    let mut graph = network(nodes);
    graph.outputs.push(Message::new().text(1, "yq"));
    assert_eq!(
        read_shown(&graph),
        [
            "DequantizeLinear(x uint8) -> xf float in float",
            "Sqrt(xf float) -> y float in float",
            "QuantizeLinear(y float) -> yq uint8 in float"
        ]
    );
}

#[test]
fn what_moves_elements_moves_quantised_ones_if_the_scale_stays() {
    let moved = |quantize: fn(&str, &str) -> Message| {
        let transposed = node("Transpose", &["f"], &["turned"], &[("perm", Ints(&[1, 0]))]);
        let nodes = vec![
            dq("x", "xf"),
            op("Reshape", &["xf", "flat"], "f"),
            transposed,
            quantize("turned", "y"),
        ];
        read_shown(&network(nodes))
    };
    let same = |from: &str, to: &str| node("QuantizeLinear", &[from, "same", "z_same"], &[to], &[]);
    for quantize in [q, same] {
        assert_eq!(
            moved(quantize),
            [
                "Reshape(x uint8) -> f uint8",
                "Transpose(f uint8) -> y uint8 in uint8"
            ]
        );
    }
    // Moving and storing with another scale is one pass.
    assert_eq!(
        moved(other_q),
        [
            "Reshape(x uint8) -> f uint8",
            "Transpose(f uint8) -> y uint8 in uint8"
        ]
    );
    // A view moves nothing, so it cannot store anything.
    let nodes = vec![
        dq("x", "xf"),
        op("Reshape", &["xf", "flat"], "f"),
        other_q("f", "y"),
    ];
    assert_eq!(
        read_shown(&network(nodes)),
        [
            "DequantizeLinear(x uint8) -> xf float in float",
            "Reshape(xf float) -> f float",
            "QuantizeLinear(f float) -> y uint8 in float"
        ]
    );
}

#[test]
fn moved_elements_may_have_several_readers_that_agree() {
    let split = |last: Message| {
        let parts = node(
            "Split",
            &["xf"],
            &["a", "b2"],
            &[("axis", Int(1)), ("num_outputs", Int(2))],
        );
        let nodes = vec![
            dq("x", "xf"),
            parts,
            op("Add", &["a", "b2"], "sum"),
            q("sum", "y"),
            last,
        ];
        let mut graph = network(nodes);
        graph.outputs.push(Message::new().text(1, "again"));
        read_shown(&graph)
    };
    assert_eq!(
        split(q("a", "again")),
        [
            "Split(x uint8) -> again uint8, b2 uint8 in uint8",
            "Add(again uint8, b2 uint8) -> y uint8 in uint8"
        ]
    );
    // One who reads them in floating point keeps everything so.
    let apart = split(op("Relu", &["a"], "again"));
    assert_eq!(apart.len(), 5);
    assert!(apart.iter().all(|op| op.ends_with("in float")), "{apart:?}");
}

#[test]
fn a_slice_reads_its_part_of_a_quantised_tensor() {
    let nodes = vec![
        dq("x", "xf"),
        op("Slice", &["xf", "first", "four", "channel"], "part"),
        q("part", "y"),
    ];
    let imported = read(&network(nodes));
    assert_eq!(shown(&imported), ["Slice(x uint8) -> y uint8 in uint8"]);
    let work = imported.graph.ops.as_slice()[0].work;
    assert_eq!(
        (work.input_bytes.count(), work.output_bytes.count()),
        (144, 144)
    );
}

#[test]
fn padding_that_was_quantised_again_is_folded_too() {
    let mut graph = with_weights(vec![
        dq("x", "xf"),
        op("Pad", &["xf", "around"], "p"),
        q("p", "pq"),
        dq("pq", "pf"),
        op("Conv", &["pf", "wf"], "c"),
        q("c", "y"),
    ]);
    graph
        .constants
        .push(integers("around", &[0, 0, 0, 0, 0, 0, 1, 1]));
    let imported = read(&graph);
    assert_eq!(
        shown(&imported),
        ["Conv(x uint8, w int8) -> y uint8 in uint8"]
    );
    assert_eq!(imported.folded.paddings.len(), 1);
}

#[test]
fn weights_alone_stay_as_they_are_stored() {
    let product = |stored: &[&str], attributes: &[(&str, Attribute<'_>)]| {
        let nodes = vec![
            node("DequantizeLinear", stored, &["plane_f"], attributes),
            op("MatMul", &["real", "plane_f"], "y"),
        ];
        let imported = read(&network(nodes));
        let work = imported.graph.ops.as_slice()[0].work;
        (shown(&imported).concat(), work.weight_bytes.count())
    };
    let (shown, weights) = product(&["plane", "s"], &[]);
    assert_eq!(shown, "MatMul(real float, plane int8) -> y float in float");
    assert_eq!(weights, 36);
    // Half a byte an element, and scales and zero points of its blocks.
    let blocks = [("axis", Int(0)), ("block_size", Int(3))];
    let (shown, weights) = product(&["packed", "block_scales", "zeros4"], &blocks);
    assert_eq!(
        shown,
        "MatMul(real float, packed int4, block_scales float, zeros4 int4) -> y float in float"
    );
    assert_eq!(weights, 18 + 48 + 6);
}

#[test]
fn weights_that_are_moved_first_keep_their_type() {
    let nodes = vec![
        op("DequantizeLinear", &["plane", "s"], "plane_f"),
        op("Transpose", &["plane_f"], "turned"),
        op("MatMul", &["real", "turned"], "m"),
        op("MatMul", &["m", "turned"], "y"),
    ];
    let imported = read(&network(nodes));
    assert_eq!(
        shown(&imported),
        [
            "MatMul(real float, turned int8) -> m float in float",
            "MatMul(m float, turned int8) -> y float in float"
        ]
    );
    for op in imported.graph.ops.as_slice() {
        assert_eq!(op.work.weight_bytes.count(), 36);
    }
    // All their readers need the scales of blocks.
    let blocks = [("axis", Int(0)), ("block_size", Int(3))];
    let nodes = vec![
        node(
            "DequantizeLinear",
            &["packed", "block_scales"],
            &["f"],
            &blocks,
        ),
        op("Transpose", &["f"], "turned"),
        op("MatMul", &["real", "turned"], "m"),
        op("MatMul", &["m", "turned"], "y"),
    ];
    let imported = read(&network(nodes));
    for op in imported.graph.ops.as_slice() {
        assert_eq!(op.work.weight_bytes.count(), 18 + 48);
    }
    // Weights that the file holds in floating point and quantises itself are quantised once.
    let mut graph = network(vec![
        node("QuantizeLinear", &["plain", "s", "z"], &["stored"], &[]),
        dq("stored", "again"),
        op("MatMul", &["real", "again"], "y"),
    ]);
    graph.constants.push(zeros("plain", &[6, 6]));
    assert_eq!(
        read_shown(&graph),
        ["MatMul(real float, stored uint8) -> y float in float"]
    );
}

#[test]
fn scales_and_zero_points_are_parameters() {
    let mut graph = network(vec![node(
        "QLinearConv",
        &["x", "s", "z", "w", "by_channel", "zero", "t", "z", "b"],
        &["y"],
        &[],
    )]);
    graph.constants.push(bytes_of("zero", dtype::INT8, &[8], 8));
    let imported = read(&graph);
    assert_eq!(
        shown(&imported),
        ["QLinearConv(x uint8, -, -, w int8, -, -, -, -, b int32) -> y uint8 in uint8"]
    );
    let work = imported.graph.ops.as_slice()[0].work;
    assert_eq!(work.weight_bytes.count(), 576 + 32);
}

#[test]
fn a_chain_that_quantises_while_it_runs_has_the_sizes_of_its_types() {
    let nodes = vec![
        node("DynamicQuantizeLinear", &["real"], &["xq", "xs", "xz"], &[]),
        node("MatMulInteger", &["xq", "plane", "xz"], &["p"], &[]),
        node("Cast", &["p"], &["pf"], &[("to", Int(1))]),
        op("Mul", &["xs", "s"], "scale"),
        op("Mul", &["pf", "scale"], "y"),
    ];
    let imported = read(&network(nodes));
    assert_eq!(
        shown(&imported),
        [
            "DynamicQuantizeLinear(real float) -> xq uint8, xs float, xz uint8 in float",
            "MatMulInteger(xq uint8, plane int8, xz uint8) -> p int32 in uint8",
            "Cast(p int32) -> pf float in float",
            "Mul(xs float, s float) -> scale float in float",
            "Mul(pf float, scale float) -> y float in float"
        ]
    );
    assert_eq!(
        imported.graph.ops.as_slice()[1].work.weight_bytes.count(),
        36
    );
}

#[test]
fn what_grows_beyond_all_sizes_stays_as_it_is_written() {
    // Eight exbibytes in half precision, twice as many quantised.
    let mut graph = network(vec![
        op("DequantizeLinear", &["wide", "half"], "f"),
        op("Expand", &["f", "huge"], "e"),
        op("ArgMax", &["e"], "y"),
    ]);
    graph.inputs.push(fixed("wide", INT32, &[1]));
    graph.constants.push(tensor("half", HALF, &[], &[0, 0x3c]));
    graph.constants.push(integers("huge", &[1 << 30, 1 << 29]));
    let written = read_shown(&graph);
    assert_eq!(
        written[0],
        "DequantizeLinear(wide int32) -> f float16 in float16"
    );
}

#[test]
fn whole_numbers_on_the_way_are_other_weights() {
    let cast = |from: &str, to: &str, dtype| node("Cast", &[from], &[to], &[("to", Int(dtype))]);
    let nodes = vec![
        op("DequantizeLinear", &["plane", "s"], "plane_f"),
        cast("plane_f", "whole", 7),
        cast("whole", "rounded", 1),
        op("MatMul", &["real", "rounded"], "y"),
    ];
    assert_eq!(
        read_shown(&network(nodes)),
        ["MatMul(real float, rounded float) -> y float in float"]
    );
}

#[test]
fn scales_that_do_not_fit_are_refused() {
    let refused = |operands: &[&str], attributes: &[(&str, Attribute<'_>)]| {
        let graph = network(vec![node("DequantizeLinear", operands, &["y"], attributes)]);
        let bytes = Bytes::from(graph.model(21));
        import_bytes("test", &bytes, &ImportOptions::default())
            .unwrap_err()
            .to_string()
    };
    let found = refused(&["x", "by_channel"], &[("axis", Int(2))]);
    assert!(
        found.contains("one for each index along the axis"),
        "{found}"
    );
    let found = refused(&["x", "block_scales"], &[("block_size", Int(3))]);
    assert!(found.contains("one scale for each block"), "{found}");
    let found = refused(&["x", "by_channel", "z"], &[]);
    assert!(found.contains("as many zero points as scales"), "{found}");
    let found = refused(&["x", "by_channel"], &[("axis", Int(9))]);
    assert!(found.contains('9'), "{found}");
}

/// A node of `com.microsoft`, whose results are `y`, `y1`, ….
struct Contributed<'a> {
    inputs: Vec<Message>,
    constants: Vec<Message>,
    node: (&'a str, Vec<&'a str>, Vec<&'a str>),
    attributes: Vec<(&'a str, Attribute<'a>)>,
}

impl Contributed<'_> {
    /// The class, the results, and multiply-accumulates.
    fn is(&self, expected: &str) -> Op {
        let (kind, operands, results) = &self.node;
        let graph = Graph {
            nodes: vec![in_domain(
                "com.microsoft",
                node(kind, operands, results, &self.attributes),
            )],
            inputs: self.inputs.clone(),
            constants: self.constants.clone(),
            outputs: results
                .iter()
                .filter(|name| !name.is_empty())
                .map(|name| Message::new().text(1, name))
                .collect(),
            ..Graph::default()
        };
        let imported = read(&graph);
        let op = &imported.graph.ops.as_slice()[0];
        let results: Vec<String> = op
            .outputs
            .iter()
            .map(|&id| &imported.graph.tensors[id])
            .map(|tensor| format!("{} {}", tensor.dtype, tensor.shape))
            .collect();
        let found = format!(
            "{} in {}: {}; {} macs",
            op.class().unwrap().name(),
            op.work.arithmetic,
            results.join(", "),
            op.work.macs
        );
        assert_eq!(found, expected, "{kind}");
        op.clone()
    }
}

fn contributed<'a>(kind: &'a str, inputs: &[&'a str]) -> Contributed<'a> {
    Contributed {
        inputs: Vec::new(),
        constants: vec![scalar("s", 0.5), tensor("z", dtype::UINT8, &[], &[128])],
        node: (kind, inputs.to_vec(), vec!["y"]),
        attributes: Vec::new(),
    }
}

impl<'a> Contributed<'a> {
    fn input(mut self, name: &str, dtype: i32, dims: &[i64]) -> Self {
        self.inputs.push(fixed(name, dtype, dims));
        self
    }

    fn constant(mut self, constant: Message) -> Self {
        self.constants.push(constant);
        self
    }

    fn attribute(mut self, name: &'a str, attribute: Attribute<'a>) -> Self {
        self.attributes.push((name, attribute));
        self
    }

    fn results(mut self, results: &[&'a str]) -> Self {
        self.node.2 = results.to_vec();
        self
    }
}

#[test]
fn operators_on_quantised_tensors_that_onnxruntime_adds() {
    let image = |kind, operands: &[&'static str]| {
        contributed(kind, operands)
            .input("x", dtype::UINT8, &[1, 8, 6, 6])
            .input("x2", dtype::UINT8, &[1, 8, 6, 6])
    };
    let added = image("QLinearAdd", &["x", "s", "z", "x2", "s", "z", "s", "z"])
        .is("elementwise in uint8: uint8 [1, 8, 6, 6]; 0 macs");
    assert_eq!(added.work.input_bytes.count(), 2 * 288);
    assert_eq!(added.work.weight_bytes.count(), 0);
    image("QLinearConcat", &["s", "z", "x", "s", "z", "x2", "s", "z"])
        .attribute("axis", Int(1))
        .is("concat in uint8: uint8 [1, 16, 6, 6]; 0 macs");
    image("QLinearGlobalAveragePool", &["x", "s", "z", "s", "z"])
        .is("global_pool in uint8: uint8 [1, 8, 1, 1]; 0 macs");
    image("QLinearAveragePool", &["x", "s", "z", "s", "z"])
        .attribute("kernel_shape", Ints(&[2, 2]))
        .attribute("channels_last", Int(1))
        .is("average_pool in uint8: uint8 [1, 7, 5, 6]; 0 macs");
    image("QLinearSoftmax", &["x", "s", "z", "s", "z"])
        .attribute("opset", Int(13))
        .attribute("axis", Int(-1))
        .is("softmax in uint8: uint8 [1, 8, 6, 6]; 0 macs");
    image("QLinearSigmoid", &["x", "s", "z", "s", "z"])
        .is("activation in uint8: uint8 [1, 8, 6, 6]; 0 macs");
    image("QLinearReduceMean", &["x", "s", "z", "s", "z"])
        .attribute("axes", Ints(&[2, 3]))
        .attribute("keepdims", Int(0))
        .is("reduce in uint8: uint8 [1, 8]; 0 macs");
    image("QLinearConv", &["x", "s", "z", "w", "s", "wz", "s", "z"])
        .attribute("channels_last", Int(1))
        .constant(bytes_of("w", dtype::INT8, &[4, 6, 1, 1], 8))
        .constant(tensor("wz", dtype::INT8, &[], &[0]))
        .is("conv in uint8: uint8 [1, 8, 6, 4]; 1152 macs");
    contributed("QGemm", &["a", "s", "z", "w", "s", "wz", "c", "s", "z"])
        .input("a", dtype::UINT8, &[2, 5])
        .constant(bytes_of("w", dtype::INT8, &[5, 3], 8))
        .constant(tensor("wz", dtype::INT8, &[], &[0]))
        .constant(bytes_of("c", INT32, &[3], 32))
        .is("gemm in uint8: uint8 [2, 3]; 30 macs");
    contributed("MatMulIntegerToFloat", &["a", "w", "s", "s"])
        .input("a", dtype::UINT8, &[2, 5])
        .constant(bytes_of("w", dtype::INT8, &[5, 3], 8))
        .is("gemm in uint8: float [2, 3]; 30 macs");
    let quantizing = contributed("DynamicQuantizeMatMul", &["a", "w", "s"])
        .input("a", dtype::FLOAT, &[2, 5])
        .constant(bytes_of("w", dtype::INT8, &[5, 3], 8))
        .is("gemm in int8: float [2, 3]; 30 macs");
    assert_eq!(quantizing.work.weight_bytes.count(), 15);
}

#[test]
fn packed_weights_are_what_the_attributes_say() {
    let packed = |level| {
        contributed("MatMulNBits", &["a", "w", "scales"])
            .input("a", HALF, &[1, 7, 64])
            .constant(bytes_of("w", dtype::UINT8, &[10, 2, 16], 8))
            .constant(tensor("scales", HALF, &[20], &[0; 40]))
            .attribute("K", Int(64))
            .attribute("N", Int(10))
            .attribute("bits", Int(4))
            .attribute("block_size", Int(32))
            .attribute("accuracy_level", Int(level))
    };
    let op = packed(0).is("gemm in float16: float16 [1, 7, 10]; 4480 macs");
    assert_eq!(op.work.weight_bytes.count(), 320 + 40);
    packed(4).is("gemm in int8: float16 [1, 7, 10]; 4480 macs");
    let rows = contributed("GatherBlockQuantized", &["table", "i", "scales"])
        .input("i", dtype::INT64, &[1, 3])
        .constant(bytes_of("table", UINT4, &[100, 32], 4))
        .constant(tensor("scales", HALF, &[100, 1], &[0; 200]))
        .attribute("quantize_axis", Int(1))
        .attribute("block_size", Int(32))
        .is("gather in float16: float16 [1, 3, 32]; 0 macs");
    assert_eq!(rows.work.weight_bytes.count(), 3 * 16 + 3 * 2);
}

#[test]
fn fused_operators_that_onnxruntime_adds() {
    contributed("FusedConv", &["x", "w", "b", "skip"])
        .input("x", dtype::FLOAT, &[1, 2, 4, 4])
        .input("skip", dtype::FLOAT, &[1, 3, 4, 4])
        .constant(zeros("w", &[3, 2, 1, 1]))
        .constant(zeros("b", &[3]))
        .attribute("activation", Text("Relu"))
        .is("conv in float: float [1, 3, 4, 4]; 96 macs");
    contributed("FusedMatMul", &["a", "b"])
        .input("a", dtype::FLOAT, &[2, 4, 5])
        .input("b", dtype::FLOAT, &[2, 6, 5])
        .attribute("transB", Int(1))
        .attribute("alpha", Float(0.5))
        .is("matmul in float: float [2, 4, 6]; 240 macs");
    contributed("FusedGemm", &["a", "b"])
        .input("a", dtype::FLOAT, &[4, 5])
        .constant(zeros("b", &[5, 6]))
        .is("gemm in float: float [4, 6]; 120 macs");
    contributed("BiasGelu", &["a", "b"])
        .input("a", dtype::FLOAT, &[2, 4, 5])
        .constant(zeros("b", &[5]))
        .is("activation in float: float [2, 4, 5]; 0 macs");
    contributed("NhwcMaxPool", &["x"])
        .input("x", dtype::INT8, &[1, 8, 8, 3])
        .attribute("kernel_shape", Ints(&[2, 2]))
        .attribute("strides", Ints(&[2, 2]))
        .is("max_pool in int8: int8 [1, 4, 4, 3]; 0 macs");
    contributed("SkipLayerNormalization", &["a", "b", "g"])
        .input("a", dtype::FLOAT, &[2, 4, 5])
        .input("b", dtype::FLOAT, &[2, 4, 5])
        .constant(zeros("g", &[5]))
        .results(&["y", "", "", "sum"])
        .is("layer_norm in float: float [2, 4, 5], float [2, 4, 5]; 0 macs");
    let embedded = contributed(
        "EmbedLayerNormalization",
        &["i", "", "w", "p", "", "g", "b"],
    )
    .input("i", INT32, &[2, 3])
    .constant(zeros("w", &[100, 4]))
    .constant(zeros("p", &[10, 4]))
    .constant(zeros("g", &[4]))
    .constant(zeros("b", &[4]))
    .results(&["y", "mask"])
    .is("layer_norm in float: float [2, 3, 4], int32 [2]; 0 macs");
    assert_eq!(embedded.work.weight_bytes.count(), 2 * 96 + 2 * 16);
}

#[test]
fn attention_counts_its_products() {
    contributed("Attention", &["x", "w", "b"])
        .input("x", dtype::FLOAT, &[2, 5, 8])
        .constant(zeros("w", &[8, 24]))
        .constant(zeros("b", &[24]))
        .attribute("num_heads", Int(4))
        .is("gemm in float: float [2, 5, 8]; 2720 macs");
    contributed("MultiHeadAttention", &["q", "k", "v"])
        .input("q", dtype::FLOAT, &[2, 5, 8])
        .input("k", dtype::FLOAT, &[2, 7, 8])
        .input("v", dtype::FLOAT, &[2, 7, 12])
        .attribute("num_heads", Int(4))
        .is("matmul in float: float [2, 5, 12]; 1400 macs");
    // A cache of sixteen keys, of which ten are used.
    contributed("GroupQueryAttention", &["q", "k", "v", "pk", "pv", "seq", "total"])
        .input("q", HALF, &[1, 1, 32])
        .input("k", HALF, &[1, 1, 16])
        .input("v", HALF, &[1, 1, 16])
        .input("pk", HALF, &[1, 2, 16, 8])
        .input("pv", HALF, &[1, 2, 16, 8])
        .input("seq", INT32, &[1])
        .constant(tensor("total", INT32, &[], &10_i32.to_le_bytes()))
        .attribute("num_heads", Int(4))
        .attribute("kv_num_heads", Int(2))
        .results(&["y", "key", "value"])
        .is("matmul in float16: float16 [1, 1, 32], float16 [1, 2, 16, 8], float16 [1, 2, 16, 8]; 640 macs");
    contributed("QAttention", &["x", "w", "b", "s", "s", "", "z", "wz"])
        .input("x", dtype::UINT8, &[2, 5, 8])
        .constant(bytes_of("w", dtype::INT8, &[8, 24], 8))
        .constant(zeros("b", &[24]))
        .constant(tensor("wz", dtype::INT8, &[], &[0]))
        .attribute("num_heads", Int(4))
        .is("gemm in uint8: float [2, 5, 8]; 2720 macs");
}

#[test]
fn types_shorter_than_a_byte_are_packed() {
    let mut graph = network(vec![
        op("DequantizeLinear", &["odd", "s"], "f"),
        op("Relu", &["f"], "y"),
    ]);
    graph.inputs.push(fixed("odd", INT4, &[3, 5]));
    let imported = read(&graph);
    let odd = imported.graph.tensors.iter().map(|(_, tensor)| tensor);
    let odd = odd.into_iter().find(|tensor| tensor.name == "odd").unwrap();
    assert_eq!((odd.dtype, odd.bytes.count()), (DataType::Int4, 8));
}

/// Unary and binary operators of all roles, with a conversion before or behind or not.
fn random_nodes(choices: &[(usize, usize, usize)]) -> Vec<Message> {
    const KINDS: [&str; 9] = [
        "Relu",
        "Transpose",
        "Sqrt",
        "QuantizeLinear",
        "DequantizeLinear",
        "Add",
        "Reshape",
        "Identity",
        "NoSuchOperator",
    ];
    // Tensors of both kinds, by name.
    let mut real = vec!["real".to_owned()];
    let mut quantised = vec!["x".to_owned(), "x2".to_owned()];
    let mut nodes = Vec::new();
    for (index, &(kind, first, second)) in choices.iter().enumerate() {
        let result = format!("t{index}");
        let kind = KINDS[kind % KINDS.len()];
        let pick = |from: &[String], choice: usize| from[choice % from.len()].clone();
        match kind {
            "QuantizeLinear" => {
                let scale = ["s", "t"][second % 2];
                let from = pick(&real, first);
                nodes.push(node(
                    kind,
                    &[from.as_str(), scale, "z"],
                    &[result.as_str()],
                    &[],
                ));
                quantised.push(result);
            }
            "DequantizeLinear" => {
                nodes.push(dq(&pick(&quantised, first), &result));
                real.push(result);
            }
            _ => {
                let (a, b) = (pick(&real, first), pick(&real, second));
                let operands = match kind {
                    "Add" => vec![a.as_str(), b.as_str()],
                    "Reshape" => vec![a.as_str(), "back"],
                    _ => vec![a.as_str()],
                };
                // What turns everything round keeps the extents of a cube.
                let attributes = [("perm", Ints(&[0, 1, 3, 2]))];
                let attributes = &attributes[..usize::from(kind == "Transpose")];
                nodes.push(node(kind, &operands, &[result.as_str()], attributes));
                real.push(result);
            }
        }
    }
    nodes
}

/// What the network returns, by name, with its type.
fn returned(imported: &Imported) -> Vec<String> {
    let outputs = imported.graph.outputs.iter();
    outputs.map(|&id| typed(imported, id)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn folding_conversions_keeps_the_ports_and_adds_no_bytes(
        choices in prop::collection::vec((0usize..9, 0usize..50, 0usize..50), 1..25),
        last in prop::collection::vec(0usize..25, 1..4),
    ) {
        let nodes = random_nodes(&choices);
        let mut graph = network(nodes);
        let mut outputs: Vec<usize> = last.into_iter().map(|index| index % choices.len()).collect();
        outputs.sort_unstable();
        outputs.dedup();
        graph.outputs = outputs
            .iter()
            .map(|index| Message::new().text(1, &format!("t{index}")))
            .collect();
        graph.declared = (0..choices.len())
            .filter(|&index| choices[index].0 % 9 == 8)
            .map(|index| fixed(&format!("t{index}"), dtype::FLOAT, &[1, 8, 6, 6]))
            .collect();
        let bytes = Bytes::from(graph.model(21));
        let read = |convolutions| {
            let options = ImportOptions { convolutions, ..ImportOptions::default() };
            import_bytes("test", &bytes, &options)
        };
        // A network of views alone has nothing to map, folded or not.
        let (Ok(written), Ok(folded)) = (read(Convolutions::AsWritten), read(Convolutions::Fold)) else {
            return Ok(());
        };
        prop_assert_eq!(returned(&folded), returned(&written));
        let moved = |imported: &Imported| -> u64 {
            let ops = imported.graph.ops.as_slice().iter();
            ops.map(|op| op.work.input_bytes.count() + op.work.output_bytes.count()).sum()
        };
        prop_assert!(moved(&folded) <= moved(&written));
        let vanished = folded.folded.conversions.len();
        let dead = folded.folded.dead.len() - written.folded.dead.len();
        prop_assert_eq!(folded.graph.ops.len() + vanished + dead, written.graph.ops.len());
    }

    #[test]
    fn absurd_numbers_in_contributed_operators_never_panic(
        op_type in prop::sample::select(vec![
            "Attention", "QAttention", "MultiHeadAttention", "GroupQueryAttention", "RotaryEmbedding", "MatMulNBits", "MatMulBnb4",
            "GatherBlockQuantized", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "MatMulIntegerToFloat", "QGemm", "QLinearAdd",
            "QLinearAveragePool", "QLinearConcat", "QLinearConv", "QLinearSoftmax", "QLinearReduceMean", "QLinearWhere",
            "DequantizeLinear", "QuantizeLinear", "FusedConv", "FusedMatMul", "FusedGemm", "NhwcMaxPool", "NhwcFusedConv", "BiasSplitGelu",
            "BiasGelu", "SkipLayerNormalization", "EmbedLayerNormalization", "SimplifiedLayerNormalization", "GroupNorm", "GatherND",
        ]),
        extents in prop::collection::vec(prop_oneof![0i64..5, Just(i64::MAX), Just(1 << 40), Just(1 << 31)], 0..6),
        others in prop::collection::vec(prop_oneof![0i64..5, Just(1 << 40), Just(1 << 31)], 0..6),
        number in prop_oneof![-4i64..9, any::<i64>()],
        several in prop::collection::vec(prop_oneof![-4i64..5, any::<i64>()], 0..5),
    ) {
        let numbers = ["num_heads", "kv_num_heads", "K", "N", "bits", "block_size", "axis", "gather_axis", "opset", "channels_last", "group", "transB"];
        let mut attributes: Vec<_> = numbers.map(|name| (name, Int(number))).to_vec();
        attributes.extend(["kernel_shape", "qkv_hidden_sizes", "axes", "pads"].map(|name| (name, Ints(&several))));
        for inputs in [&["a", "b", "a", "b", "a", "b", "a", "b", "a"][..], &["a", "a", "a"], &["a", "", "b"], &["b", "a"], &["a"]] {
            let graph = Graph {
                nodes: vec![in_domain("com.microsoft", node(op_type, inputs, &["y", "y1", "y2"], &attributes))],
                inputs: vec![fixed("a", dtype::FLOAT, &extents), fixed("b", dtype::UINT8, &others)],
                outputs: vec![Message::new().text(1, "y"), Message::new().text(1, "y1")],
                ..Graph::default()
            };
            drop(import_bytes("test", &Bytes::from(graph.model(21)), &ImportOptions::default()));
        }
    }
}
