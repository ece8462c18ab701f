//! Constants behind operators, seen where they decide the shape of a reshape.

use bytes::Bytes;
use paracompile_frontend::import::onnx::{ImportOptions, import_bytes};
use paracompile_testkit::onnx::Attribute::{Int, Text};
use paracompile_testkit::onnx::{
    Attribute, Graph, Message, dtype, fixed, floats, integers, node, tensor,
};

/// The shape of 24 elements reshaped to what the nodes compute as `s`.
fn reshaped(constants: &[Message], nodes: &[Message]) -> String {
    let reshape = node("Reshape", &["x", "s"], &["r"], &[]);
    let relu = node("Relu", &["r"], &["y"], &[]);
    let graph = Graph {
        nodes: nodes.iter().cloned().chain([reshape, relu]).collect(),
        constants: constants.to_vec(),
        inputs: vec![fixed("x", dtype::FLOAT, &[24])],
        outputs: vec![Message::new().text(1, "y")],
        ..Graph::default()
    };
    let bytes = Bytes::from(graph.model(18));
    match import_bytes("m", &bytes, &ImportOptions::default()) {
        Ok(imported) => {
            let output = imported.graph.outputs[0];
            imported.graph.tensors[output].shape.to_string()
        }
        Err(error) => error.to_string(),
    }
}

fn to_integers(from: &str) -> Message {
    node("Cast", &[from], &["s"], &[("to", Int(7))])
}

fn one(op: &str, inputs: &[&str], attributes: &[(&str, Attribute<'_>)]) -> Message {
    node(op, inputs, &["s"], attributes)
}

#[test]
fn shapes_are_edited_by_scatters() {
    let constants = [
        integers("a", &[1, 1, 4]),
        tensor(
            "i",
            dtype::INT64,
            &[2, 1],
            &[0i64, -2].map(i64::to_le_bytes).concat(),
        ),
        integers("j", &[0, -2]),
        integers("u", &[2, 3]),
    ];
    assert_eq!(
        reshaped(&constants, &[one("ScatterND", &["a", "i", "u"], &[])]),
        "[2, 3, 4]"
    );
    assert_eq!(
        reshaped(&constants, &[one("ScatterElements", &["a", "j", "u"], &[])]),
        "[2, 3, 4]"
    );
    let added = one(
        "ScatterElements",
        &["a", "j", "u"],
        &[("reduction", Text("add"))],
    );
    assert!(reshaped(&constants, &[added]).contains("must be a constant"));
}

#[test]
fn shapes_are_picked_by_gathers() {
    let constants = [
        integers("a", &[7, 6, 4]),
        tensor(
            "i",
            dtype::INT64,
            &[2, 1],
            &[1i64, -1].map(i64::to_le_bytes).concat(),
        ),
        integers("j", &[2, -2]),
    ];
    assert_eq!(
        reshaped(&constants, &[one("GatherND", &["a", "i"], &[])]),
        "[6, 4]"
    );
    assert_eq!(
        reshaped(&constants, &[one("GatherElements", &["a", "j"], &[])]),
        "[4, 6]"
    );
}

#[test]
fn shapes_are_padded_reduced_and_shifted() {
    let matrix = tensor(
        "m",
        dtype::INT64,
        &[2, 2],
        &[2i64, 1, 3, 4].map(i64::to_le_bytes).concat(),
    );
    let constants = [
        integers("a", &[9, 6, 4]),
        integers("pads", &[-1, 1]),
        integers("fill", &[1]),
        integers("axis", &[1]),
        integers("one", &[1]),
        matrix,
    ];
    assert_eq!(
        reshaped(&constants, &[one("Pad", &["a", "pads", "fill"], &[])]),
        "[6, 4, 1]"
    );
    let no_axis = [("keepdims", Int(0))];
    assert_eq!(
        reshaped(&constants, &[one("ReduceProd", &["m", "axis"], &no_axis)]),
        "[2, 12]"
    );
    assert_eq!(
        reshaped(&constants, &[one("ReduceMax", &["m", "axis"], &no_axis)]),
        "the new shape is [2, 4] for [24], but a view keeps the number of elements"
            .replace("the new", "node 1 (Reshape): the new")
    );
    let last_two = node("Slice", &["a", "one", "end"], &["t"], &[]);
    let with_end: Vec<Message> = constants
        .iter()
        .cloned()
        .chain([integers("end", &[3])])
        .collect();
    let shifted = one("BitShift", &["t", "one"], &[("direction", Text("RIGHT"))]);
    assert_eq!(
        reshaped(&with_end, &[last_two, shifted]),
        "node 2 (Reshape): the new shape is [3, 2] for [24], but a view keeps the number of elements"
    );
}

#[test]
fn remainders_have_the_sign_that_their_definition_says() {
    let scalar = |name: &str, value: f32| tensor(name, dtype::FLOAT, &[1], &value.to_le_bytes());
    let constants = [scalar("a", -36.0), scalar("b", 60.0), scalar("c", -1.0)];
    // -36 is 24 above a multiple of 60, and 36 below one.
    let floored = [node("Mod", &["a", "b"], &["t"], &[]), to_integers("t")];
    assert_eq!(reshaped(&constants, &floored), "[24]");
    let truncated = [
        node("Mod", &["a", "b"], &["u"], &[("fmod", Int(1))]),
        node("Mul", &["u", "c"], &["t"], &[]),
        to_integers("t"),
    ];
    assert!(reshaped(&constants, &truncated).contains("the new shape is [36]"));
}

/// Half-precision arithmetic gives what half-precision numbers can hold: 2049 is none.
#[test]
fn half_precision_numbers_are_rounded() {
    let halves = |name: &str, bits: &[u16]| {
        let raw: Vec<u8> = bits.iter().flat_map(|bits| bits.to_le_bytes()).collect();
        tensor(name, 10, &[i64::try_from(bits.len()).unwrap()], &raw)
    };
    // 2, 12 and their quotient.
    let constants = [halves("a", &[0x4000, 0x4a00])];
    assert_eq!(reshaped(&constants, &[to_integers("a")]), "[2, 12]");
    // 2048 + 1 is 2048 in half precision, and 2048 - 2024 is 24.
    let constants = [
        halves("a", &[0x6800]),
        halves("b", &[0x3c00]),
        halves("c", &[0x67e8]),
    ];
    let nodes = [
        node("Add", &["a", "b"], &["t"], &[]),
        node("Sub", &["t", "c"], &["d"], &[]),
        to_integers("d"),
    ];
    assert_eq!(reshaped(&constants, &nodes), "[24]");
}

#[test]
fn ranges_of_real_numbers_are_known() {
    let scalar = |name: &str, value: f32| tensor(name, dtype::FLOAT, &[], &value.to_le_bytes());
    let constants = [scalar("a", 2.0), scalar("b", 5.0), scalar("c", 1.0)];
    let nodes = [
        node("Range", &["a", "b", "c"], &["t"], &[]),
        to_integers("t"),
    ];
    assert_eq!(reshaped(&constants, &nodes), "[2, 3, 4]");
}

#[test]
fn casts_keep_what_fits() {
    let nodes = [
        node("Cast", &["a"], &["t"], &[("to", Int(2))]),
        to_integers("t"),
    ];
    assert_eq!(reshaped(&[integers("a", &[4, 6])], &nodes), "[4, 6]");
    // 260 does not fit a byte, so its value is nobody's.
    assert!(reshaped(&[integers("a", &[260])], &nodes).contains("must be a constant"));
    let clipped = [
        node("Clip", &["f", "", "high"], &["t"], &[]),
        to_integers("t"),
    ];
    let constants = [
        floats("f", &[24.0]),
        tensor("high", dtype::FLOAT, &[], &30f32.to_le_bytes()),
    ];
    assert_eq!(reshaped(&constants, &clipped), "[24]");
}

#[test]
fn optionals_are_what_is_in_them() {
    let nodes = [
        node("Optional", &["a"], &["o"], &[]),
        node("OptionalHasElement", &["o"], &["h"], &[]),
        node("Cast", &["h"], &["n"], &[("to", Int(7))]),
        node("OptionalGetElement", &["o"], &["e"], &[]),
        one("Mul", &["e", "n"], &[]),
    ];
    assert_eq!(reshaped(&[integers("a", &[4, 6])], &nodes), "[4, 6]");
    let sequence = [one("SequenceConstruct", &["a"], &[])];
    assert_eq!(
        reshaped(&[integers("a", &[4, 6])], &sequence),
        "node 0 (SequenceConstruct): works on sequences of tensors, which are not supported; export the model with tensors of fixed number"
    );
}
