//! Results as long as their data says: taken at the largest, with a warning.

use paracompile_testkit::onnx::Attribute::{Int, Ints};
use paracompile_testkit::onnx::{Dim, dtype, integers, node, value};

use bytes::Bytes;
use paracompile_frontend::import::onnx::{ImportOptions, import_bytes};
use paracompile_testkit::onnx::Graph;

use super::case::op;

const WARNING: &str = "extents that depend on the values of an input are taken at their upper bounds, which --dim can lower: ";

#[test]
fn what_survives_is_no_more_than_all() {
    let hits = op("NonZero", &["x"]).input("x", &[3, 4]);
    hits.is("other int64 [2, 12]");
    hits.warns(&format!("{WARNING}y0[1] <= 12"));
    op("Unique", &["x"])
        .input("x", &[3, 4])
        .outputs(4)
        .is("reduce float [12], int64 [12], int64 [12], int64 [12]");
    op("Unique", &["x"])
        .input("x", &[3, 4])
        .attribute("axis", Int(1))
        .is("reduce float [3, 4]");
    op("Compress", &["x", "c"])
        .input("x", &[3, 4])
        .typed("c", dtype::BOOL, &[2])
        .attribute("axis", Int(0))
        .is("gather float [2, 4]");
    op("TopK", &["x", "k"])
        .input("x", &[2, 9])
        .typed("k", dtype::INT64, &[1])
        .outputs(2)
        .is("reduce float [2, 9], int64 [2, 9]");
}

#[test]
fn boxes_are_kept_up_to_a_number_in_each_class_of_each_image() {
    let suppression = |most: i64| {
        op("NonMaxSuppression", &["b", "s", "m"])
            .input("b", &[2, 100, 4])
            .input("s", &[2, 3, 100])
            .constant(integers("m", &[most]))
    };
    suppression(7).is("other int64 [42, 3]");
    suppression(1000).is("other int64 [600, 3]");
    suppression(7).warns(&format!("{WARNING}y0[0] <= 42"));
    op("NonMaxSuppression", &["b", "s"])
        .input("b", &[2, 100, 4])
        .input("s", &[2, 3, 99])
        .fails("node 0 (NonMaxSuppression): shapes [2, 100, 4] and [2, 3, 99] do not fit: there has to be a score a class for each box of each image");
}

#[test]
fn constants_are_counted() {
    let condition = paracompile_testkit::onnx::tensor("c", dtype::BOOL, &[4], &[1, 0, 1, 1]);
    let compress = op("Compress", &["x", "c"])
        .input("x", &[3, 4])
        .constant(condition)
        .attribute("axis", Int(1));
    compress.is("gather float [3, 3]");
    compress.warns("");
}

/// A file that says how many there are is believed, unless there cannot be so many.
#[test]
fn a_declaration_within_the_bound_is_taken() {
    let import = |declared: i64| {
        let graph = Graph {
            nodes: vec![node("NonZero", &["x"], &["y"], &[])],
            inputs: vec![value("x", dtype::FLOAT, &[Dim::Value(3), Dim::Value(4)])],
            outputs: vec![value(
                "y",
                dtype::INT64,
                &[Dim::Value(2), Dim::Value(declared)],
            )],
            ..Graph::default()
        };
        let bytes = Bytes::from(graph.model(17));
        let imported = import_bytes("m", &bytes, &ImportOptions::default()).unwrap();
        let output = imported.graph.outputs[0];
        (
            imported.graph.tensors[output].shape.to_string(),
            imported
                .warnings
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>(),
        )
    };
    let (shape, warnings) = import(5);
    assert_eq!(shape, "[2, 5]");
    assert_eq!(
        warnings,
        ["shapes that depend on the values of an input are taken as declared: `y[1]`"]
    );
    let (shape, warnings) = import(13);
    assert_eq!(shape, "[2, 12]");
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].starts_with(WARNING), "{warnings:?}");
    assert!(
        warnings[1].contains("`y` is int64 [2, 12], not int64 [2, 13]"),
        "{warnings:?}"
    );
}

#[test]
fn strings() {
    op("StringNormalizer", &["x"])
        .typed("x", dtype::STRING, &[4])
        .is("other string [4]");
    op("StringSplit", &["x"])
        .opset(20)
        .typed("x", dtype::STRING, &[4])
        .attribute("maxsplit", Int(2))
        .outputs(2)
        .is("other string [4, 3], int64 [4]");
    op("StringConcat", &["x", "y"])
        .opset(20)
        .typed("x", dtype::STRING, &[4, 1])
        .typed("y", dtype::STRING, &[3])
        .is("other string [4, 3]");
    op("RegexFullMatch", &["x"])
        .opset(20)
        .typed("x", dtype::STRING, &[4])
        .is("other bool [4]");
    op("TfIdfVectorizer", &["x"])
        .typed("x", dtype::INT64, &[2, 6])
        .attribute("ngram_indexes", Ints(&[0, 1, 2, 6, 5]))
        .is("other float [2, 7]");
}
