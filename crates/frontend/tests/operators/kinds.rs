//! Element types, recurrent layers, random tensors, and operands whose values are needed.

use paracompile_testkit::onnx::Attribute::{Int, Ints, Text};
use paracompile_testkit::onnx::{dtype, floats, zeros};

use super::case::op;

#[test]
fn types_convert() {
    op("Cast", &["x"])
        .input("x", &[3])
        .attribute("to", Int(10))
        .is("cast float16 [3]");
    op("Cast", &["x"])
        .input("x", &[3])
        .attribute("to", Int(1))
        .is("view float [3]");
    op("Cast", &["x"])
        .input("x", &[3])
        .attribute("to", Int(99))
        .fails("node 0 (Cast): element type 99 is unknown");
    op("QuantizeLinear", &["x", "scale"])
        .input("x", &[3])
        .constant(floats("scale", &[0.1]))
        .is("cast uint8 [3]");
    op("DequantizeLinear", &["x", "scale"])
        .typed("x", dtype::INT8, &[3])
        .constant(floats("scale", &[0.1]))
        .is("cast float [3]");
    op("DequantizeLinear", &["x", "scale"])
        .opset(23)
        .typed("x", dtype::INT8, &[3])
        .constant(floats("scale", &[0.1]))
        .attribute("output_dtype", Int(10))
        .is("cast float16 [3]");
    op("Cast", &["x"])
        .opset(5)
        .input("x", &[3])
        .attribute("to", Text("INT64"))
        .is("cast int64 [3]");
    op("BitCast", &["x"])
        .opset(26)
        .input("x", &[3])
        .attribute("to", Int(6))
        .is("view int32 [3]");
    op("BitCast", &["x"])
        .opset(26)
        .input("x", &[3])
        .attribute("to", Int(7))
        .fails("node 0 (BitCast): operand `input` has type float, but the bits of its elements have to fit the new type");
}

#[test]
fn recurrent_layers() {
    let layer = |kind, gates: i64| {
        op(kind, &["x", "w", "r"])
            .input("x", &[7, 2, 5])
            .constant(zeros("w", &[1, gates * 6, 5]))
            .constant(zeros("r", &[1, gates * 6, 6]))
            .attribute("hidden_size", Int(6))
    };
    let work = layer("LSTM", 4)
        .outputs(3)
        .is("recurrent float [7, 1, 2, 6], float [1, 2, 6], float [1, 2, 6]");
    assert_eq!(work.macs, 7 * 2 * 24 * 11);
    layer("GRU", 3).is("recurrent float [7, 1, 2, 6]");
    layer("RNN", 1)
        .outputs(3)
        .fails("node 0 (RNN): lists 3 results, but the operator has 2");
}

#[test]
fn what_needs_values_says_so() {
    op("Reshape", &["x", "s"]).input("x", &[4]).typed("s", dtype::INT64, &[1]).fails(
        "node 0 (Reshape): operand `shape` must be a constant, since its values decide the result's shape",
    );
    op("OneHot", &["i", "d", "v"]).typed("i", dtype::INT64, &[4]).typed("d", dtype::INT64, &[]).constant(floats("v", &[0.0, 1.0])).fails(
        "node 0 (OneHot): operand `depth` must be a constant, since its values decide the result's shape",
    );
}

#[test]
fn random_tensors_are_not_folded() {
    op("RandomNormalLike", &["x"])
        .input("x", &[4])
        .is("other float [4]");
    op("RandomUniform", &[])
        .input("x", &[4])
        .attribute("shape", Ints(&[2, 2]))
        .is("other float [2, 2]");
}
