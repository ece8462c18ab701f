//! Operators by the version of their operator set: which exist, and where attributes became operands.

use paracompile_testkit::onnx::Attribute::{Floats, Int, Ints};
use paracompile_testkit::onnx::{dtype, floats, integers, zeros};

use super::case::op;

#[test]
fn operators_that_came_later_or_went_are_named_with_the_version() {
    let gelu = |opset| op("Gelu", &["x"]).opset(opset).input("x", &[2]);
    gelu(20).is("activation float [2]");
    gelu(19).fails("node 0 (Gelu): does not exist in version 19 of ai.onnx, which the model imports; version 20 has it");
    op("Upsample", &["x", "s"])
        .opset(13)
        .input("x", &[1, 1, 2, 2])
        .constant(floats("s", &[1.0, 1.0, 2.0, 2.0]))
        .fails("node 0 (Upsample): does not exist in version 13 of ai.onnx, which the model imports; version 10 removed it");
    op("TreeEnsemble", &["x"])
        .domain("ai.onnx.ml", 3)
        .input("x", &[2, 2])
        .fails("node 0 (ai.onnx.ml.TreeEnsemble): does not exist in version 3 of ai.onnx.ml, which the model imports; version 5 has it");
}

#[test]
fn versions_beyond_those_known_are_warned_of_once() {
    let relu = |opset| op("Relu", &["x"]).opset(opset).input("x", &[2]);
    for known in [7, 17, 28] {
        relu(known).warns("");
    }
    relu(29).warns(
        "the model imports version 29 of ai.onnx, and versions 7 to 28 are known; operators are taken by the nearest of them",
    );
    relu(6).warns(
        "the model imports version 6 of ai.onnx, and versions 7 to 28 are known; operators are taken by the nearest of them",
    );
    op("Scaler", &["x"])
        .domain("ai.onnx.ml", 99)
        .input("x", &[2])
        .warns("the model imports version 99 of ai.onnx.ml, and versions 1 to 5 are known; operators are taken by the nearest of them");
    relu(i64::MAX).is("activation float [2]");
    relu(i64::MIN).fails(&format!(
        "node 0 (Relu): does not exist in version {0} of ai.onnx, which the model imports; version 1 has it\nnode 1 (Relu): does not exist in version {0} of ai.onnx, which the model imports; version 1 has it",
        i64::MIN
    ));
}

#[test]
fn attributes_became_operands() {
    let twice: [(&str, i64, &str, &[i64]); 5] = [
        ("Squeeze", 13, "axes", &[0]),
        ("Unsqueeze", 13, "axes", &[0]),
        ("ReduceSum", 13, "axes", &[1]),
        ("ReduceMax", 18, "axes", &[1]),
        ("Pad", 11, "pads", &[0, 0, 0, 1, 0, 0]),
    ];
    for (kind, since, name, values) in twice {
        let with_attribute = |opset| {
            op(kind, &["x"])
                .opset(opset)
                .input("x", &[1, 2, 3])
                .attribute(name, Ints(values))
        };
        let with_operand = |opset| {
            op(kind, &["x", "n"])
                .opset(opset)
                .input("x", &[1, 2, 3])
                .constant(integers("n", values))
        };
        let shape = match kind {
            "Squeeze" => "view float [2, 3]",
            "Unsqueeze" => "view float [1, 1, 2, 3]",
            "Pad" => "pad float [2, 2, 3]",
            _ => "reduce float [1, 1, 3]",
        };
        with_attribute(since - 1).is(shape);
        with_operand(since).is(shape);
    }
    op("Pad", &["x"])
        .opset(11)
        .input("x", &[2])
        .attribute("pads", Ints(&[0, 1]))
        .fails("node 0 (Pad): operand 1 (`pads`) is missing");
    op("Slice", &["x"])
        .opset(9)
        .input("x", &[5])
        .attribute("starts", Ints(&[1]))
        .attribute("ends", Ints(&[3]))
        .is("slice float [2]");
    op("TopK", &["x"])
        .opset(9)
        .input("x", &[5])
        .attribute("k", Int(2))
        .outputs(2)
        .is("reduce float [2], int64 [2]");
    op("Upsample", &["x"])
        .opset(8)
        .input("x", &[1, 1, 2, 2])
        .attribute("scales", Floats(&[1.0, 1.0, 2.0, 3.0]))
        .is("resize float [1, 1, 4, 6]");
    op("Upsample", &["x", "s"])
        .opset(9)
        .input("x", &[1, 1, 2, 2])
        .constant(floats("s", &[1.0, 1.0, 2.0, 3.0]))
        .is("resize float [1, 1, 4, 6]");
}

#[test]
fn definitions_changed() {
    // A smaller last part came with version 18.
    let split = |opset| op("Split", &["x"]).opset(opset).input("x", &[7]).outputs(2);
    split(18)
        .attribute("num_outputs", Int(2))
        .is("split float [4], float [3]");
    split(13).fails("node 0 (Split): the number of results is 2 for an extent of 7 along axis 0, but it has to divide it, where no `split` is given");
    // A parameter a position, before version 9 only.
    let norm = |opset| {
        let norm = op("BatchNormalization", &["x", "s", "b", "m", "v"])
            .opset(opset)
            .input("x", &[1, 4, 2, 2])
            .attribute("spatial", Int(0));
        let parameters = ["s", "b", "m", "v"].iter();
        parameters.fold(norm, |norm, name| norm.constant(zeros(name, &[4, 2, 2])))
    };
    norm(8).is("batch_norm float [1, 4, 2, 2]");
    norm(9).fails("node 0 (BatchNormalization): shapes [1, 4, 2, 2] and [4, 2, 2] do not fit: batch normalisation needs one parameter a channel");
    // The mask of a dropout has truth values from version 10 on.
    let dropout = |opset| {
        op("Dropout", &["x"])
            .opset(opset)
            .input("x", &[3])
            .outputs(2)
    };
    assert!(dropout(9).import().is_ok() && dropout(10).import().is_ok());
    op("GroupNormalization", &["x", "s", "b"])
        .opset(18)
        .input("x", &[1, 4, 2])
        .constant(zeros("s", &[2]))
        .constant(zeros("b", &[2]))
        .attribute("num_groups", Int(2))
        .is("layer_norm float [1, 4, 2]");
    op("Resize", &["x", "s"])
        .opset(10)
        .input("x", &[1, 2])
        .constant(floats("s", &[1.0, 2.0]))
        .is("resize float [1, 4]");
    op("Resize", &["x", "", "", "n"])
        .opset(18)
        .input("x", &[1, 2, 2])
        .constant(integers("n", &[5]))
        .attribute("axes", Ints(&[1]))
        .is("resize float [1, 5, 2]");
    op("QuantizeLinear", &["x", "s"])
        .opset(21)
        .input("x", &[4, 4])
        .constant(zeros("s", &[4, 2]))
        .attribute("axis", Int(1))
        .attribute("block_size", Int(2))
        .attribute("output_dtype", Int(22))
        .is("cast int4 [4, 4]");
    op("Cast", &["x"])
        .typed("x", dtype::INT64, &[2])
        .attribute("to", Int(1))
        .is("cast float [2]");
}
