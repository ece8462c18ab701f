//! What convolutions and pools take in: padding before them and batch normalisation behind them, and what has to stay apart.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

use bytes::Bytes;
use paracompile_frontend::import::onnx::{Convolutions, ImportOptions, Imported, import_bytes};
use paracompile_frontend::ir::Op;
use paracompile_testkit::onnx::{
    Attribute, Graph, Message, dtype, fixed, floats, integers, node, zeros,
};

use Attribute::{Int, Ints, Text};

fn read(graph: &Graph, convolutions: Convolutions) -> Imported {
    read_at(graph, 17, convolutions)
}

fn read_at(graph: &Graph, opset: i64, convolutions: Convolutions) -> Imported {
    let options = ImportOptions {
        convolutions,
        ..ImportOptions::default()
    };
    import_bytes("test", &Bytes::from(graph.model(opset)), &options).unwrap()
}

/// An image of three channels through `nodes` to `y`.
fn network(nodes: Vec<Message>) -> Graph {
    Graph {
        nodes,
        inputs: vec![fixed("x", dtype::FLOAT, &[1, 3, 8, 8])],
        outputs: vec![Message::new().text(1, "y")],
        constants: vec![
            zeros("w", &[16, 3, 3, 3]),
            zeros("b", &[16]),
            zeros("scale", &[16]),
            zeros("shift", &[16]),
            zeros("mean", &[16]),
            zeros("variance", &[16]),
            zeros("other", &[16]),
            integers("around", &[0, 0, 1, 1, 0, 0, 1, 1]),
            integers("inwards", &[0, 0, -1, -1, 0, 0, 1, 1]),
            integers("channels", &[0, 1, 1, 1, 0, 0, 1, 1]),
            floats("zero", &[0.0]),
            floats("one", &[1.0]),
            floats("minus_infinity", &[f32::NEG_INFINITY]),
            floats("lowest", &[f32::MIN]),
            floats("tiny", &[f32::from_bits(1)]),
            integers("one_side", &[0, 0, 2, 0, 0, 0, 0, 2]),
            integers("wide", &[0, 0, 3, 0, 0, 0, 0, 0]),
            integers("wide_behind", &[0, 0, 0, 0, 0, 0, 0, 3]),
            integers("wide_width", &[3, 0]),
            integers("around_width", &[1, 1]),
            integers("width", &[-1]),
        ],
        ..Graph::default()
    }
}

fn conv(from: &str, to: &str) -> Message {
    node("Conv", &[from, "w"], &[to], &[])
}

fn norm(from: &str, to: &str) -> Message {
    let operands = [from, "scale", "shift", "mean", "variance"];
    node("BatchNormalization", &operands, &[to], &[])
}

/// Operator types after folding.
fn types(nodes: Vec<Message>) -> Vec<String> {
    types_at(17, nodes)
}

fn types_at(opset: i64, nodes: Vec<Message>) -> Vec<String> {
    let imported = read_at(&network(nodes), opset, Convolutions::Fold);
    let ops = imported.graph.ops.as_slice().iter();
    ops.map(|op| op.op_type.clone()).collect()
}

fn first(imported: &Imported) -> &Op {
    &imported.graph.ops.as_slice()[0]
}

#[test]
fn a_convolution_with_its_normalisation_is_one_with_a_bias() {
    let apart = network(vec![conv("x", "c"), norm("c", "y")]);
    let folded = read(&apart, Convolutions::Fold);
    assert_eq!(folded.graph.ops.len(), 1);
    assert_eq!(folded.folded.batch_norms[0].node, 1);
    // What a simplifier writes.
    let simplified = network(vec![node("Conv", &["x", "w", "b"], &["y"], &[])]);
    let simplified = read(&simplified, Convolutions::Fold);
    assert_eq!(first(&folded).work, first(&simplified).work);
    assert_eq!(first(&folded).inputs.len(), 3);
    let written = first(&folded).outputs[0];
    assert_eq!(folded.graph.tensors[written].name, "y");
    assert_eq!(read(&apart, Convolutions::AsWritten).graph.ops.len(), 2);
}

#[test]
fn a_bias_that_is_there_stays_the_only_one() {
    let nodes = vec![node("Conv", &["x", "w", "b"], &["c"], &[]), norm("c", "y")];
    let folded = read(&network(nodes), Convolutions::Fold);
    let names: Vec<&str> = first(&folded)
        .inputs
        .iter()
        .flatten()
        .map(|&id| folded.graph.tensors[id].name.as_str())
        .collect();
    assert_eq!(names, ["x", "w", "b"]);
}

#[test]
fn normalisation_stays_where_folding_would_change_a_result() {
    // Somebody else reads what lies between.
    let seen = vec![
        conv("x", "c"),
        norm("c", "n"),
        node("Add", &["n", "c"], &["y"], &[]),
    ];
    assert_eq!(types(seen), ["Conv", "BatchNormalization", "Add"]);
    // It is in training mode.
    let operands = ["c", "scale", "shift", "mean", "variance"];
    let trains = node(
        "BatchNormalization",
        &operands,
        &["y"],
        &[("training_mode", Int(1))],
    );
    assert_eq!(
        types(vec![conv("x", "c"), trains]),
        ["Conv", "BatchNormalization"]
    );
    // It returns statistics, which before version 14 says the same.
    let operands = ["c", "scale", "shift", "mean", "variance"];
    let results = ["y", "m", "v"];
    let returns = node("BatchNormalization", &operands, &results, &[]);
    let nodes = vec![conv("x", "c"), returns];
    assert_eq!(types_at(9, nodes).len(), 2);
    // Its parameters are computed.
    let computed = vec![
        conv("x", "c"),
        node(
            "ReduceMean",
            &["c"],
            &["m"],
            &[("axes", Ints(&[0, 2, 3])), ("keepdims", Int(0))],
        ),
        conv("x", "d"),
        node(
            "BatchNormalization",
            &["d", "scale", "shift", "m", "variance"],
            &["y"],
            &[],
        ),
    ];
    assert!(types(computed).contains(&"BatchNormalization".to_owned()));
    // There is no convolution.
    let alone = vec![
        node("Relu", &["x"], &["r"], &[]),
        conv("r", "c"),
        node("Relu", &["c"], &["s"], &[]),
        norm("s", "y"),
    ];
    assert_eq!(types(alone).last().unwrap(), "BatchNormalization");
}

#[test]
fn old_normalisation_folds_only_if_it_says_that_it_does_not_train() {
    let old = |opset, attributes: &[(&str, Attribute<'_>)]| {
        let operands = ["c", "scale", "shift", "mean", "variance"];
        let norm = node("BatchNormalization", &operands, &["y"], attributes);
        types_at(opset, vec![conv("x", "c"), norm]).len()
    };
    assert_eq!(old(6, &[("is_test", Int(1))]), 1);
    assert_eq!(old(6, &[("is_test", Int(0))]), 2);
    assert_eq!(old(6, &[]), 2, "zero is the default");
    assert_eq!(old(7, &[]), 1, "the attribute is gone");
    // A parameter for each place, not for each channel.
    assert_eq!(old(8, &[("spatial", Int(0))]), 2);
    assert_eq!(old(8, &[("spatial", Int(1))]), 1);
}

#[test]
fn a_shared_filter_is_folded_only_in_one_way() {
    let other = ["d", "other", "shift", "mean", "variance"];
    let unlike = vec![
        conv("x", "c"),
        norm("c", "n"),
        conv("x", "d"),
        node("BatchNormalization", &other, &["m"], &[]),
        node("Add", &["n", "m"], &["y"], &[]),
    ];
    assert_eq!(types(unlike).len(), 5);
    let alike = vec![
        conv("x", "c"),
        norm("c", "n"),
        conv("x", "d"),
        norm("d", "m"),
        node("Add", &["n", "m"], &["y"], &[]),
    ];
    assert_eq!(types(alike), ["Conv", "Conv", "Add"]);
}

fn pad(amount: &str, fill: &str) -> Message {
    node("Pad", &["x", amount, fill], &["p"], &[])
}

fn pool(kind: &str, attributes: &[(&str, Attribute<'_>)]) -> Message {
    let kernel = [("kernel_shape", Ints(&[3, 3]))];
    let attributes: Vec<_> = kernel
        .into_iter()
        .chain(attributes.iter().cloned())
        .collect();
    node(kind, &["p"], &["y"], &attributes)
}

#[test]
fn zeros_fold_into_a_convolution_that_then_reads_the_image() {
    let folded = read(
        &network(vec![pad("around", "zero"), conv("p", "y")]),
        Convolutions::Fold,
    );
    assert_eq!(folded.folded.paddings[0].node, 0);
    let padded = node(
        "Conv",
        &["x", "w"],
        &["y"],
        &[("pads", Ints(&[1, 1, 1, 1]))],
    );
    let written = read(&network(vec![padded]), Convolutions::Fold);
    assert_eq!(first(&folded).work, first(&written).work);
    // Without a fill value, zero is meant.
    let bare = node("Pad", &["x", "around"], &["p"], &[]);
    assert_eq!(types(vec![bare, conv("p", "y")]), ["Conv"]);
}

#[test]
fn zeros_fold_into_averages_that_count_them_and_minus_infinity_into_maxima() {
    let after = |fill, pool| types(vec![pad("around", fill), pool]);
    assert_eq!(after("zero", pool("AveragePool", &[])), ["AveragePool"]);
    assert_eq!(after("minus_infinity", pool("MaxPool", &[])), ["MaxPool"]);
    assert_eq!(after("zero", pool("MaxPool", &[])), ["Pad", "MaxPool"]);
    assert_eq!(
        after("minus_infinity", pool("AveragePool", &[])),
        ["Pad", "AveragePool"]
    );
    // A maximum over an image of minus infinities would become a finite number.
    assert_eq!(after("lowest", pool("MaxPool", &[])), ["Pad", "MaxPool"]);
    let ceil = pool("AveragePool", &[("ceil_mode", Int(1))]);
    assert_eq!(after("zero", ceil), ["Pad", "AveragePool"]);
    let skips = pool("AveragePool", &[("pads", Ints(&[1, 1, 1, 1]))]);
    assert_eq!(after("zero", skips), ["Pad", "AveragePool"]);
    let counts = [("pads", Ints(&[1, 1, 1, 1])), ("count_include_pad", Int(1))];
    let counts = pool("AveragePool", &counts);
    assert_eq!(after("zero", counts), ["AveragePool"]);
    // Small as a number may be, its sum is not that of zeros.
    assert_eq!(
        after("tiny", pool("AveragePool", &[])),
        ["Pad", "AveragePool"]
    );
    let ceil = pool("MaxPool", &[("ceil_mode", Int(1))]);
    assert_eq!(after("minus_infinity", ceil), ["Pad", "MaxPool"]);
    let places = [("kernel_shape", Ints(&[3, 3]))];
    let places = vec![
        pad("around", "minus_infinity"),
        node("MaxPool", &["p"], &["m", "i"], &places),
        node("Cast", &["i"], &["f"], &[("to", Int(1))]),
        node("Add", &["m", "f"], &["y"], &[]),
    ];
    assert!(types(places).contains(&"Pad".to_owned()));
}

#[test]
fn averages_that_cannot_count_padding_yet_do_not_take_it_in() {
    let nodes = || {
        let pads = [("pads", Ints(&[0, 0, 1, 1, 0, 0, 1, 1]))];
        vec![node("Pad", &["x"], &["p"], &pads), pool("AveragePool", &[])]
    };
    assert_eq!(types_at(7, nodes()), ["AveragePool"]);
    assert_eq!(types_at(6, nodes()), ["Pad", "AveragePool"]);
}

#[test]
fn pools_take_in_only_padding_that_is_narrower_than_their_kernel() {
    let runs = |kind, amount, attributes: &[(&str, Attribute<'_>)]| {
        let fill = if kind == "MaxPool" {
            "minus_infinity"
        } else {
            "zero"
        };
        types(vec![pad(amount, fill), pool(kind, attributes)]).len()
    };
    let own = |pads| [("pads", Ints(pads)), ("count_include_pad", Int(1))];
    for kind in ["MaxPool", "AveragePool"] {
        let own = |pads| own(pads)[..if kind == "MaxPool" { 1 } else { 2 }].to_vec();
        assert_eq!(runs(kind, "around", &[]), 1, "{kind}");
        assert_eq!(runs(kind, "one_side", &[]), 1, "{kind}");
        assert_eq!(runs(kind, "wide", &[]), 2, "{kind}");
        assert_eq!(runs(kind, "wide_behind", &[]), 2, "{kind}");
        // Both paddings count together, each side for itself.
        assert_eq!(runs(kind, "around", &own(&[1, 1, 1, 1])), 1, "{kind}");
        assert_eq!(runs(kind, "around", &own(&[0, 0, 0, 2])), 2, "{kind}");
        assert_eq!(runs(kind, "one_side", &own(&[0, 1, 1, 0])), 1, "{kind}");
        assert_eq!(runs(kind, "one_side", &own(&[1, 0, 0, 0])), 2, "{kind}");
        // A window with gaps may miss the image.
        let gaps = [("dilations", Ints(&[2, 1]))];
        if kind == "MaxPool" {
            assert_eq!(runs(kind, "around", &gaps), 2, "{kind}");
        }
    }
    // A convolution is one whatever its padding.
    assert_eq!(types(vec![pad("wide", "zero"), conv("p", "y")]), ["Conv"]);
}

#[test]
fn pools_take_in_padding_of_listed_axes() {
    let pads = |amount| {
        let operands = ["x", amount, "minus_infinity", "width"];
        let padding = node("Pad", &operands, &["p"], &[]);
        let imported = read_at(
            &network(vec![padding, pool("MaxPool", &[])]),
            18,
            Convolutions::Fold,
        );
        imported.graph.ops.len()
    };
    assert_eq!(pads("around_width"), 1);
    assert_eq!(pads("wide_width"), 2);
}

#[test]
fn padding_stays_where_a_convolution_cannot_say_it() {
    let before = |padding| types(vec![padding, conv("p", "y")]);
    assert_eq!(before(pad("inwards", "zero")), ["Pad", "Conv"]);
    assert_eq!(before(pad("around", "one")), ["Pad", "Conv"]);
    let reflect = node(
        "Pad",
        &["x", "around"],
        &["p"],
        &[("mode", Text("reflect"))],
    );
    assert_eq!(before(reflect), ["Pad", "Conv"]);
    let same = node(
        "Conv",
        &["p", "w"],
        &["y"],
        &[("auto_pad", Text("SAME_UPPER"))],
    );
    assert_eq!(types(vec![pad("around", "zero"), same]), ["Pad", "Conv"]);
    let shared = vec![
        pad("around", "zero"),
        conv("p", "c"),
        node("Relu", &["p"], &["r"], &[]),
        node("ReduceMax", &["r"], &["m"], &[]),
        node("Add", &["c", "m"], &["y"], &[]),
    ];
    assert!(types(shared).contains(&"Pad".to_owned()));
}

#[test]
fn arithmetic_with_a_neutral_constant_does_nothing() {
    let nodes = |operator, constant| {
        vec![
            conv("x", "c"),
            node(operator, &["c", constant], &["d"], &[]),
            node("Relu", &["d"], &["y"], &[]),
        ]
    };
    for (operator, constant) in [
        ("Mul", "one"),
        ("Div", "one"),
        ("Add", "zero"),
        ("Sub", "zero"),
    ] {
        assert_eq!(
            types(nodes(operator, constant)),
            ["Conv", "Relu"],
            "{operator}"
        );
    }
    for (operator, constant) in [("Mul", "zero"), ("Add", "one"), ("Pow", "one")] {
        assert_eq!(types(nodes(operator, constant)).len(), 3, "{operator}");
    }
}
