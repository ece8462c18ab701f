//! Operators that move elements.

use paracompile_frontend::ir::Work;
use paracompile_testkit::onnx::Attribute::{Floats, Int, Ints};
use paracompile_testkit::onnx::{dtype, floats, integers, zeros};

use super::case::op;

#[test]
fn joins_and_splits() {
    op("Concat", &["a", "b"])
        .input("a", &[1, 2, 3])
        .input("b", &[1, 5, 3])
        .attribute("axis", Int(1))
        .is("concat float [1, 7, 3]");
    op("Split", &["x"])
        .opset(18)
        .input("x", &[7, 2])
        .attribute("num_outputs", Int(2))
        .outputs(2)
        .is("split float [4, 2], float [3, 2]");
    op("Split", &["x", "parts"])
        .input("x", &[2, 7])
        .constant(integers("parts", &[1, 6]))
        .attribute("axis", Int(1))
        .outputs(2)
        .is("split float [2, 1], float [2, 6]");
    op("Split", &["x"])
        .opset(11)
        .input("x", &[6])
        .attribute("split", Ints(&[2, 4]))
        .outputs(2)
        .is("split float [2], float [4]");
    op("Pad", &["x", "pads"])
        .input("x", &[1, 3, 4, 4])
        .constant(integers("pads", &[0, 0, 1, 2, 0, 0, 3, -1]))
        .is("pad float [1, 3, 8, 5]");
    op("Pad", &["x", "pads"])
        .input("x", &[2])
        .constant(integers("pads", &[0, 0]))
        .is("view float [2]");
    op("Tile", &["x", "n"])
        .input("x", &[2, 3])
        .constant(integers("n", &[1, 4]))
        .is("pad float [2, 12]");
    op("Expand", &["x", "shape"])
        .input("x", &[3, 1])
        .constant(integers("shape", &[2, 1, 6]))
        .is("pad float [2, 3, 6]");
    op("Expand", &["x", "shape"])
        .input("x", &[3])
        .constant(integers("shape", &[1]))
        .is("view float [3]");
}

#[test]
fn slices_follow_python() {
    let slice = |starts: &[i64], ends: &[i64], axes: &[i64], steps: &[i64]| {
        op("Slice", &["x", "starts", "ends", "axes", "steps"])
            .input("x", &[10, 4])
            .constant(integers("starts", starts))
            .constant(integers("ends", ends))
            .constant(integers("axes", axes))
            .constant(integers("steps", steps))
    };
    slice(&[2], &[7], &[0], &[2]).is("slice float [3, 4]");
    slice(&[-3], &[i64::MAX], &[0], &[1]).is("slice float [3, 4]");
    slice(&[-1], &[i64::MIN], &[0], &[-1]).is("slice float [10, 4]");
    slice(&[8], &[1], &[-2], &[-3]).is("slice float [3, 4]");
    slice(&[-100], &[100], &[0], &[4]).is("slice float [3, 4]");
    slice(&[100], &[-100], &[1], &[-1]).is("slice float [10, 4]");
    slice(&[0, 1], &[10, 3], &[0, 1], &[1, 1]).is("slice float [10, 2]");
    slice(&[0], &[i64::MAX], &[0], &[1]).is("view float [10, 4]");
    slice(&[0], &[1], &[0], &[0])
        .fails("node 0 (Slice): a step of the slice is 0, but it has to move");
    let work = slice(&[0], &[1], &[0], &[1]).is("slice float [1, 4]");
    assert_eq!(work.input_bytes.count(), 16, "a slice reads what it writes");
    op("Slice", &["x"])
        .opset(1)
        .input("x", &[10, 4])
        .attribute("starts", Ints(&[1]))
        .attribute("ends", Ints(&[-1]))
        .is("slice float [8, 4]");
}

#[test]
fn gathers() {
    op("Gather", &["x", "i"])
        .input("x", &[5, 6, 7])
        .typed("i", dtype::INT64, &[2, 3])
        .attribute("axis", Int(1))
        .is("gather float [5, 2, 3, 7]");
    let work = op("Gather", &["table", "i"])
        .constant(zeros("table", &[100, 8]))
        .typed("i", dtype::INT64, &[4])
        .is("gather float [4, 8]");
    assert_eq!(
        work.weight_bytes.count(),
        4 * 8 * 4,
        "rows that are not gathered are not read"
    );
    assert_eq!(work.input_bytes.count(), 4 * 8);
    op("GatherElements", &["x", "i"])
        .input("x", &[5, 6])
        .typed("i", dtype::INT64, &[5, 2])
        .is("gather float [5, 2]");
    op("GatherND", &["x", "i"])
        .input("x", &[2, 3, 4])
        .typed("i", dtype::INT64, &[2, 1])
        .attribute("batch_dims", Int(1))
        .is("gather float [2, 4]");
    op("ScatterND", &["x", "i", "u"])
        .input("x", &[4, 4])
        .typed("i", dtype::INT64, &[2, 1])
        .input("u", &[2, 4])
        .is("gather float [4, 4]");
    op("OneHot", &["i", "depth", "values"])
        .typed("i", dtype::INT64, &[3])
        .constant(integers("depth", &[10]))
        .constant(floats("values", &[0.0, 1.0]))
        .is("other float [3, 10]");
}

#[test]
fn permutations() {
    op("Transpose", &["x"])
        .input("x", &[2, 3, 4])
        .is("transpose float [4, 3, 2]");
    op("Transpose", &["x"])
        .input("x", &[2, 3, 4])
        .attribute("perm", Ints(&[1, 0, 2]))
        .is("transpose float [3, 2, 4]");
    op("Transpose", &["x"])
        .input("x", &[2, 3])
        .attribute("perm", Ints(&[0, 0]))
        .fails("node 0 (Transpose): perm is [0, 0] for [2, 3], but it has to name every axis once");
    op("DepthToSpace", &["x"])
        .input("x", &[1, 8, 3, 5])
        .attribute("blocksize", Int(2))
        .is("transpose float [1, 2, 6, 10]");
    op("SpaceToDepth", &["x"])
        .input("x", &[1, 2, 6, 10])
        .attribute("blocksize", Int(2))
        .is("transpose float [1, 8, 3, 5]");
}

#[test]
fn views_are_free() {
    let reshape = |shape: &[i64]| {
        op("Reshape", &["x", "shape"])
            .input("x", &[2, 3, 4])
            .constant(integers("shape", shape))
    };
    assert_eq!(reshape(&[0, -1]).is("view float [2, 12]"), Work::default());
    reshape(&[4, 6]).is("view float [4, 6]");
    reshape(&[5, -1]).fails("node 0 (Reshape): the new shape is [5, -1] for [2, 3, 4], but the extent -1 has no solution");
    reshape(&[-1, -1]).fails(
        "node 0 (Reshape): the new shape is [-1, -1] for [2, 3, 4], but one extent may be -1, and no other is negative",
    );
    reshape(&[5, 5]).fails("node 0 (Reshape): the new shape is [5, 5] for [2, 3, 4], but a view keeps the number of elements");
    op("Flatten", &["x"])
        .input("x", &[2, 3, 4])
        .is("view float [2, 12]");
    op("Flatten", &["x"])
        .input("x", &[2, 3, 4])
        .attribute("axis", Int(3))
        .is("view float [24, 1]");
    op("Squeeze", &["x"])
        .input("x", &[1, 3, 1])
        .is("view float [3]");
    op("Squeeze", &["x", "axes"])
        .input("x", &[1, 3, 1])
        .constant(integers("axes", &[-1]))
        .is("view float [1, 3]");
    op("Unsqueeze", &["x"])
        .opset(11)
        .input("x", &[3])
        .attribute("axes", Ints(&[0, 2]))
        .is("view float [1, 3, 1]");
    op("Unsqueeze", &["x", "axes"])
        .input("x", &[3])
        .constant(integers("axes", &[0, 0]))
        .fails("node 0 (Unsqueeze): axes is [0, 0], but an axis can be inserted once");
    op("Concat", &["x"])
        .input("x", &[3])
        .attribute("axis", Int(0))
        .is("view float [3]");
}

#[test]
fn resampling() {
    let image = |kind| op(kind, &["x", "", "scales"]).input("x", &[1, 3, 10, 10]);
    image("Resize")
        .constant(floats("scales", &[1.0, 1.0, 2.0, 1.55]))
        .is("resize float [1, 3, 20, 15]");
    op("Resize", &["x", "", "", "sizes"])
        .input("x", &[1, 3, 10, 10])
        .constant(integers("sizes", &[1, 3, 7, 9]))
        .is("resize float [1, 3, 7, 9]");
    op("Resize", &["x", "scales"])
        .opset(10)
        .input("x", &[1, 3, 10, 10])
        .constant(floats("scales", &[1.0, 1.0, 0.5, 0.5]))
        .is("resize float [1, 3, 5, 5]");
    op("Upsample", &["x"])
        .opset(7)
        .input("x", &[1, 3, 10, 10])
        .attribute("scales", Floats(&[1.0, 1.0, 2.0, 2.0]))
        .is("resize float [1, 3, 20, 20]");
    image("Resize")
        .constant(floats("scales", &[1.0, 1.0, f32::NAN, 1.0]))
        .fails(
            "node 0 (Resize): a scale is NaN, but the scaled extent has to be a sensible number",
        );
}
