//! The domain of classical machine learning.

use paracompile_testkit::onnx::Attribute::{Int, Ints};
use paracompile_testkit::onnx::dtype;

use super::case::{Case, op};

fn ml(op_type: &str, version: i64) -> Case<'_> {
    op(op_type, &["x"]).domain("ai.onnx.ml", version)
}

#[test]
fn features_are_prepared() {
    ml("Scaler", 3)
        .typed("x", dtype::INT64, &[4, 3])
        .is("elementwise float [4, 3]");
    ml("LabelEncoder", 2)
        .typed("x", dtype::STRING, &[5])
        .attribute("values_int64s", Ints(&[0, 1]))
        .is("elementwise int64 [5]");
    ml("LabelEncoder", 1)
        .typed("x", dtype::INT64, &[5])
        .is("elementwise string [5]");
    ml("OneHotEncoder", 1)
        .typed("x", dtype::INT64, &[4, 3])
        .attribute("cats_int64s", Ints(&[7, 8, 9, 10, 11]))
        .is("other float [4, 3, 5]");
    op("ArrayFeatureExtractor", &["x", "y"])
        .domain("ai.onnx.ml", 1)
        .input("x", &[3, 4])
        .typed("y", dtype::INT64, &[2])
        .is("gather float [3, 2]");
}

#[test]
fn models_give_labels_and_scores() {
    let work = ml("LinearClassifier", 1)
        .input("x", &[4, 10])
        .attribute("classlabels_ints", Ints(&[0, 1, 2]))
        .outputs(2)
        .is("gemm int64 [4], float [4, 3]");
    assert_eq!(work.macs, 4 * 10 * 3);
    // Two trees of three nodes and one: two levels each.
    let work = ml("TreeEnsembleRegressor", 3)
        .input("x", &[4, 10])
        .attribute("n_targets", Int(2))
        .attribute("nodes_treeids", Ints(&[0, 0, 0, 1]))
        .is("other float [4, 2]");
    assert_eq!(work.other_flops, 4 * 2 * 2);
    ml("TreeEnsembleClassifier", 3)
        .input("x", &[4, 10])
        .attribute("classlabels_int64s", Ints(&[0, 1]))
        .outputs(2)
        .is("other int64 [4], float [4, 2]");
    ml("TreeEnsemble", 5)
        .typed("x", dtype::DOUBLE, &[6, 1])
        .attribute("n_targets", Int(4))
        .is("other double [6, 4]");
    ml("LinearClassifier", 1)
        .input("x", &[4, 10])
        .fails("node 0 (ai.onnx.ml.LinearClassifier): attribute `classlabels_ints` is missing");
}
