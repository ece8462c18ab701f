//! Losses and optimizers.

use paracompile_testkit::onnx::Attribute::Text;
use paracompile_testkit::onnx::dtype;

use super::case::op;

#[test]
fn losses() {
    let loss = |kind| {
        op(kind, &["s", "l"])
            .input("s", &[3, 5, 2])
            .typed("l", dtype::INT64, &[3, 2])
    };
    loss("NegativeLogLikelihoodLoss").is("reduce float []");
    loss("NegativeLogLikelihoodLoss")
        .attribute("reduction", Text("none"))
        .is("reduce float [3, 2]");
    loss("SoftmaxCrossEntropyLoss")
        .outputs(2)
        .is("reduce float [], float [3, 5, 2]");
    op("SoftmaxCrossEntropyLoss", &["s", "l"])
        .input("s", &[3, 5])
        .typed("l", dtype::INT64, &[5])
        .fails("node 0 (SoftmaxCrossEntropyLoss): shapes [3, 5] and [5] do not fit: there has to be one label wherever there are scores of classes");
}

#[test]
fn optimizers_return_all_but_gradients() {
    let adam = |inputs: &[&'static str]| {
        let case = op("Adam", inputs)
            .domain("ai.onnx.preview.training", 1)
            .input("r", &[])
            .typed("t", dtype::INT64, &[]);
        let parameters = inputs[2..].iter();
        parameters.fold(case, |case, name| {
            case.input(name, if name.ends_with('1') { &[1] } else { &[2] })
        })
    };
    adam(&["r", "t", "x1", "x2", "g1", "g2", "v1", "v2", "h1", "h2"])
        .outputs(6)
        .is("elementwise float [1], float [2], float [1], float [2], float [1], float [2]");
    adam(&["r", "t", "x1", "x2", "g1"]).fails(
        "node 0 (ai.onnx.preview.training.Adam): the number of operands is 5, but a rate, a time step, and as many tensors of each kind are needed",
    );
}
