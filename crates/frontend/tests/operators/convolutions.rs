//! Convolutions and pools.

use paracompile_testkit::onnx::Attribute::{Int, Ints, Text};
use paracompile_testkit::onnx::zeros;

use super::case::op;

#[test]
fn convolutions() {
    let image = |filter: &[i64]| {
        op("Conv", &["x", "w"])
            .input("x", &[2, 8, 32, 20])
            .constant(zeros("w", filter))
    };
    let work = image(&[16, 8, 3, 3]).is("conv float [2, 16, 30, 18]");
    assert_eq!(
        (work.rows, work.columns, work.depth, work.groups),
        (2 * 30 * 18, 16, 72, 1)
    );
    assert_eq!(work.macs, 2 * 30 * 18 * 16 * 72);
    image(&[16, 8, 3, 3])
        .attribute("pads", Ints(&[1, 0, 1, 2]))
        .attribute("strides", Ints(&[2, 3]))
        .is("conv float [2, 16, 16, 7]");
    image(&[16, 8, 3, 3])
        .attribute("dilations", Ints(&[2, 4]))
        .is("conv float [2, 16, 28, 12]");
    image(&[16, 8, 4, 4])
        .attribute("auto_pad", Text("SAME_UPPER"))
        .attribute("strides", Ints(&[3, 3]))
        .is("conv float [2, 16, 11, 7]");
    let work = image(&[16, 1, 3, 3])
        .attribute("group", Int(8))
        .is("depthwise_conv float [2, 16, 30, 18]");
    assert_eq!((work.columns, work.depth, work.groups), (2, 9, 8));
    image(&[16, 4, 1, 1])
        .attribute("group", Int(2))
        .is("conv float [2, 16, 32, 20]");
    op("Conv", &["x", "w"])
        .input("x", &[1, 4, 100])
        .constant(zeros("w", &[6, 4, 5]))
        .is("conv float [1, 6, 96]");
}

#[test]
fn wrong_convolutions() {
    let image = |filter: &[i64]| {
        op("Conv", &["x", "w"])
            .input("x", &[1, 8, 4, 4])
            .constant(zeros("w", filter))
    };
    image(&[16, 7, 3, 3]).fails(
        "node 0 (Conv): shapes [1, 8, 4, 4] and [16, 7, 3, 3] do not fit: the filter's second extent times `group` has to be the image's channels",
    );
    image(&[16, 8, 5, 5]).fails(
        "node 0 (Conv): the kernel with dilation is 5, but it has to fit into the padded input",
    );
    image(&[16, 8, 3, 3])
        .attribute("strides", Ints(&[0, 1]))
        .fails("node 0 (Conv): strides is [0, 1], but it needs one positive number a spatial axis");
    image(&[16, 8, 3, 3])
        .attribute("pads", Ints(&[1]))
        .fails("node 0 (Conv): pads is [1], but it needs a begin and an end for each spatial axis");
    image(&[16, 8, 3, 3])
        .attribute("strides", Int(2))
        .fails("node 0 (Conv): attribute `strides` is not a list of integers");
    op("Conv", &["x"])
        .input("x", &[1, 8, 4, 4])
        .fails("node 0 (Conv): operand 1 (`W`) is missing");
}

#[test]
fn transposed_convolutions() {
    let image = op("ConvTranspose", &["x", "w"])
        .input("x", &[1, 8, 5, 5])
        .constant(zeros("w", &[8, 4, 3, 3]));
    // stride * (in - 1) + output_padding + kernel - pads
    let work = image
        .attribute("strides", Ints(&[2, 2]))
        .is("conv_transpose float [1, 4, 11, 11]");
    assert_eq!(work.macs, 25 * 8 * 4 * 9);
    op("ConvTranspose", &["x", "w"])
        .input("x", &[1, 8, 5, 5])
        .constant(zeros("w", &[8, 4, 3, 3]))
        .attribute("strides", Ints(&[2, 2]))
        .attribute("pads", Ints(&[1, 1, 1, 1]))
        .attribute("output_padding", Ints(&[1, 1]))
        .is("conv_transpose float [1, 4, 10, 10]");
    let same = |stride: &'static [i64]| {
        op("ConvTranspose", &["x", "w"])
            .input("x", &[1, 8, 5, 5])
            .constant(zeros("w", &[8, 4, 3, 3]))
            .attribute("auto_pad", Text("SAME_UPPER"))
            .attribute("strides", Ints(stride))
    };
    same(&[2, 3]).is("conv_transpose float [1, 4, 10, 15]");
    // A kernel of three reaches over 4 * 4 + 3 positions at most.
    same(&[4, 4]).is("conv_transpose float [1, 4, 19, 19]");
    let work = op("ConvTranspose", &["x", "w", "b"])
        .input("x", &[1, 8, 5, 5])
        .constant(zeros("w", &[8, 4, 3, 3]))
        .constant(zeros("b", &[4]))
        .is("conv_transpose float [1, 4, 7, 7]");
    assert_eq!(work.other_flops, 4 * 7 * 7);
}

#[test]
fn pools() {
    let pool = |kind| {
        op(kind, &["x"])
            .input("x", &[1, 3, 7, 8])
            .attribute("kernel_shape", Ints(&[3, 3]))
    };
    let work = pool("MaxPool")
        .attribute("strides", Ints(&[2, 2]))
        .is("max_pool float [1, 3, 3, 3]");
    assert_eq!(work.window, 27 * 9);
    pool("MaxPool")
        .attribute("strides", Ints(&[2, 2]))
        .attribute("ceil_mode", Int(1))
        .is("max_pool float [1, 3, 3, 4]");
    // The last window would start in the padding behind the input: (3 - 1 + 1 + 1) / 2 rounds up to 3, and the third starts at 4 >= 4.
    op("MaxPool", &["x"])
        .input("x", &[1, 1, 3, 3])
        .attribute("kernel_shape", Ints(&[1, 1]))
        .attribute("pads", Ints(&[1, 1, 1, 1]))
        .attribute("strides", Ints(&[2, 2]))
        .attribute("ceil_mode", Int(1))
        .is("max_pool float [1, 1, 2, 2]");
    pool("AveragePool")
        .attribute("pads", Ints(&[1, 1, 1, 1]))
        .is("average_pool float [1, 3, 7, 8]");
    pool("MaxPool")
        .outputs(2)
        .is("max_pool float [1, 3, 5, 6], int64 [1, 3, 5, 6]");
    op("GlobalAveragePool", &["x"])
        .input("x", &[2, 3, 7, 8])
        .is("global_pool float [2, 3, 1, 1]");
}
