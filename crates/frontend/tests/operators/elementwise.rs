//! Operators that keep the shape, broadcast or reduce.

use paracompile_testkit::onnx::Attribute::{Int, Ints};
use paracompile_testkit::onnx::{dtype, floats, integers, zeros};

use super::case::op;

#[test]
fn normalisations_and_activations_keep_the_shape() {
    op("Relu", &["x"])
        .input("x", &[1, 2, 3])
        .is("activation float [1, 2, 3]");
    op("Gelu", &["x"])
        .opset(20)
        .input("x", &[1, 2, 3])
        .is("activation float [1, 2, 3]");
    op("Softmax", &["x"])
        .input("x", &[4, 5])
        .is("softmax float [4, 5]");
    op("LRN", &["x"])
        .input("x", &[1, 2, 3, 3])
        .attribute("size", Int(5))
        .is("local_response_norm float [1, 2, 3, 3]");
    let norm = op("BatchNormalization", &["x", "s", "b", "m", "v"]).input("x", &[1, 4, 2, 2]);
    ["s", "b", "m", "v"]
        .iter()
        .fold(norm, |norm, name| norm.constant(zeros(name, &[4])))
        .is("batch_norm float [1, 4, 2, 2]");
    op("LayerNormalization", &["x", "s"])
        .input("x", &[2, 6, 8])
        .constant(zeros("s", &[8]))
        .outputs(3)
        .is("layer_norm float [2, 6, 8], float [2, 6, 1], float [2, 6, 1]");
    op("Clip", &["x", "", "high"])
        .input("x", &[4])
        .constant(floats("high", &[6.0]))
        .is("activation float [4]");
    // One slope a channel, which later versions would align with the last axis.
    op("PRelu", &["x", "s"])
        .opset(6)
        .input("x", &[2, 3, 4, 5])
        .input("s", &[3])
        .is("activation float [2, 3, 4, 5]");
    op("PRelu", &["x", "s"])
        .input("x", &[1, 4, 2, 2])
        .constant(zeros("s", &[4, 1, 1]))
        .is("activation float [1, 4, 2, 2]");
}

#[test]
fn element_wise_operators_broadcast() {
    op("Add", &["a", "b"])
        .input("a", &[8, 1, 6, 1])
        .input("b", &[7, 1, 5])
        .is("elementwise float [8, 7, 6, 5]");
    op("Less", &["a", "b"])
        .input("a", &[3])
        .input("b", &[])
        .is("elementwise bool [3]");
    op("Where", &["c", "a", "b"])
        .typed("c", dtype::BOOL, &[3, 1])
        .input("a", &[1])
        .input("b", &[4])
        .is("elementwise float [3, 4]");
    let work = op("Sum", &["a", "b", "c"])
        .input("a", &[3])
        .input("b", &[3])
        .input("c", &[2, 3])
        .is("elementwise float [2, 3]");
    assert_eq!(work.other_flops, 12);
    op("Add", &["a", "b"])
        .input("a", &[2])
        .input("b", &[3])
        .fails(
            "node 0 (Add): shapes [2] and [3] do not fit: they cannot be broadcast to each other",
        );
    op("Add", &["a", "b"])
        .opset(6)
        .input("a", &[2, 3, 4, 5])
        .input("b", &[3, 4])
        .attribute("broadcast", Int(1))
        .attribute("axis", Int(1))
        .is("elementwise float [2, 3, 4, 5]");
}

#[test]
fn reductions() {
    op("ReduceMean", &["x"])
        .input("x", &[2, 3, 4])
        .attribute("axes", Ints(&[-1, 0]))
        .is("reduce float [1, 3, 1]");
    op("ReduceSum", &["x", "axes"])
        .input("x", &[2, 3, 4])
        .constant(integers("axes", &[1]))
        .attribute("keepdims", Int(0))
        .is("reduce float [2, 4]");
    op("ReduceMax", &["x"])
        .input("x", &[2, 3])
        .attribute("keepdims", Int(0))
        .is("reduce float []");
    op("ReduceSum", &["x"])
        .input("x", &[2, 3])
        .attribute("noop_with_empty_axes", Int(1))
        .is("view float [2, 3]");
    // An element that is reduced alone is still squared.
    op("ReduceSumSquare", &["x"])
        .opset(18)
        .input("x", &[2, 3])
        .attribute("noop_with_empty_axes", Int(1))
        .is("reduce float [2, 3]");
    op("ArgMax", &["x"])
        .input("x", &[2, 9])
        .attribute("axis", Int(1))
        .is("reduce int64 [2, 1]");
    op("TopK", &["x", "k"])
        .input("x", &[2, 9])
        .constant(integers("k", &[5]))
        .outputs(2)
        .is("reduce float [2, 5], int64 [2, 5]");
    op("CumSum", &["x", "axis"])
        .input("x", &[2, 9])
        .constant(integers("axis", &[0]))
        .is("reduce float [2, 9]");
}
