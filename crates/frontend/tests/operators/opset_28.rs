//! What version 28 of the default operator set adds.
//!
//! No wheel has test data for it: the shapes and types here are those that `onnx.shape_inference` (strict) and `onnx.checker` of onnx
//! 1.23.2 gave for the same nodes.

use paracompile_testkit::onnx::Attribute::{Int, Text};
use paracompile_testkit::onnx::{dtype, floats, integers, tensor};

use super::case::{Case, op};

const BFLOAT16: i32 = 16;
const FLOAT6: i32 = 27;

fn new<'a>(op_type: &'a str, inputs: &[&'a str]) -> Case<'a> {
    op(op_type, inputs).opset(28)
}

#[test]
fn gates_of_swiglu_have_the_shape_of_their_values() {
    let gate = |extent| {
        new("SwiGLU", &["x", "b"])
            .typed("x", BFLOAT16, &[2, 3])
            .typed("b", BFLOAT16, &[2, extent])
    };
    gate(3).is("elementwise bfloat16 [2, 3]");
    // A product that would broadcast elsewhere.
    gate(1).fails(
        "node 0 (SwiGLU): shapes [2, 3] and [2, 1] do not fit: gate and value need the same shape",
    );
    gate(3).opset(27).fails("node 0 (SwiGLU): does not exist in version 27 of ai.onnx, which the model imports; version 28 has it");
}

#[test]
fn known_operators_take_more_types() {
    new("Celu", &["x"])
        .typed("x", BFLOAT16, &[2, 3])
        .is("activation bfloat16 [2, 3]");
    new("Mod", &["x", "b"])
        .input("x", &[2, 3])
        .input("b", &[3])
        .is("elementwise float [2, 3]");
    new("BitShift", &["x", "b"])
        .typed("x", 6, &[2, 3])
        .typed("b", 6, &[1])
        .attribute("direction", Text("LEFT"))
        .is("elementwise int32 [2, 3]");
    new("ReverseSequence", &["x", "l"])
        .typed("x", BFLOAT16, &[4, 2, 3])
        .typed("l", dtype::INT64, &[2])
        .is("transpose bfloat16 [4, 2, 3]");
    new("DepthToSpace", &["x"])
        .typed("x", BFLOAT16, &[1, 8, 2, 3])
        .attribute("blocksize", Int(2))
        .is("transpose bfloat16 [1, 2, 4, 6]");
    new("SpaceToDepth", &["x"])
        .typed("x", BFLOAT16, &[1, 2, 4, 6])
        .attribute("blocksize", Int(2))
        .attribute("mode", Text("CRD"))
        .is("transpose bfloat16 [1, 8, 2, 3]");
    new("Einsum", &["x", "b"])
        .typed("x", BFLOAT16, &[2, 3])
        .typed("b", BFLOAT16, &[3, 5])
        .attribute("equation", Text("ij,jk->ik"))
        .is("matmul bfloat16 [2, 5]");
    new("ReduceLogSum", &["x", "a"])
        .typed("x", BFLOAT16, &[2, 3])
        .constant(integers("a", &[1]))
        .attribute("keepdims", Int(0))
        .is("reduce bfloat16 [2]");
    new("ReduceLogSumExp", &["x", "a"])
        .typed("x", BFLOAT16, &[2, 3])
        .constant(integers("a", &[0]))
        .is("reduce bfloat16 [1, 3]");
    new("OneHot", &["i", "d", "v"])
        .typed("i", dtype::INT64, &[4])
        .constant(tensor("d", dtype::INT64, &[], &6i64.to_le_bytes()))
        .typed("v", BFLOAT16, &[2])
        .is("other bfloat16 [4, 6]");
    // onnx leaves the extents open that depend on the data; these are their bounds.
    new("Compress", &["x", "c"])
        .typed("x", BFLOAT16, &[2, 3])
        .typed("c", dtype::BOOL, &[2])
        .attribute("axis", Int(0))
        .is("gather bfloat16 [2, 3]");
    new("Unique", &["x"])
        .typed("x", BFLOAT16, &[2, 3])
        .outputs(4)
        .is("reduce bfloat16 [6], int64 [6], int64 [6], int64 [6]");
}

/// Elements of six bits, four of which are three bytes.
#[test]
fn six_bit_numbers() {
    new("Cast", &["x"])
        .input("x", &[2, 3])
        .attribute("to", Int(27))
        .is("cast float6 [2, 3]");
    new("QuantizeLinear", &["x", "s"])
        .input("x", &[2, 3])
        .constant(floats("s", &[1.0]))
        .attribute("output_dtype", Int(28))
        .is("cast float6 [2, 3]");
    let work = new("DequantizeLinear", &["x", "s"])
        .typed("x", FLOAT6, &[2, 4])
        .input("s", &[])
        .is("cast float [2, 4]");
    assert_eq!(work.input_bytes.count(), 6 + 4);
}
