//! Fourier transforms, and operators between images and columns.

use paracompile_testkit::onnx::Attribute::{Int, Ints};
use paracompile_testkit::onnx::{dtype, integers, zeros};

use super::case::op;

#[test]
fn fourier_transforms() {
    let signal = |opset| {
        op("DFT", &["x", "", "a"])
            .opset(opset)
            .input("x", &[1, 10, 6, 1])
    };
    signal(20)
        .constant(integers("a", &[1]))
        .attribute("onesided", Int(1))
        .is("other float [1, 6, 6, 2]");
    // Without an axis: the one before the last from version 20 on, the second one before.
    op("DFT", &["x"])
        .opset(20)
        .input("x", &[1, 10, 6, 1])
        .attribute("onesided", Int(1))
        .is("other float [1, 10, 4, 2]");
    op("DFT", &["x"])
        .opset(17)
        .input("x", &[1, 10, 6, 1])
        .attribute("onesided", Int(1))
        .is("other float [1, 6, 6, 2]");
    op("DFT", &["x", "n"])
        .opset(20)
        .input("x", &[1, 10, 6, 2])
        .constant(integers("n", &[9]))
        .is("other float [1, 10, 9, 2]");
    op("DFT", &["x"])
        .opset(20)
        .input("x", &[1, 6, 2])
        .attribute("inverse", Int(1))
        .attribute("onesided", Int(1))
        .is("other float [1, 10, 1]");
    signal(20)
        .constant(integers("a", &[3]))
        .fails("node 0 (DFT): axis 3 is out of range for rank 3");
    op("STFT", &["x", "step", "w"])
        .input("x", &[1, 128, 1])
        .constant(integers("step", &[8]))
        .constant(zeros("w", &[16]))
        .is("other float [1, 15, 9, 2]");
    op("STFT", &["x", "step", "w"])
        .input("x", &[1, 8, 1])
        .constant(integers("step", &[8]))
        .constant(zeros("w", &[16]))
        .fails("node 0 (STFT): the frame is 16 samples every 8, but it has to fit into the signal and to move");
}

#[test]
fn images_and_columns() {
    let columns = op("Col2Im", &["x", "image", "block"])
        .opset(18)
        .input("x", &[1, 10, 12])
        .constant(integers("image", &[4, 5]));
    columns
        .constant(integers("block", &[1, 5]))
        .fails("node 0 (Col2Im): the operand's shape is [1, 10, 12], but it needs the elements of a block and as many positions as the image has");
    op("Col2Im", &["x", "image", "block"])
        .opset(18)
        .input("x", &[1, 10, 4])
        .constant(integers("image", &[4, 5]))
        .constant(integers("block", &[1, 5]))
        .is("other float [1, 2, 4, 5]");
    op("CenterCropPad", &["x", "s"])
        .opset(18)
        .input("x", &[20, 8, 3])
        .constant(integers("s", &[10, 9]))
        .attribute("axes", Ints(&[-3, 1]))
        .is("pad float [10, 9, 3]");
    op("MaxUnpool", &["x", "i"])
        .input("x", &[1, 1, 2, 2])
        .typed("i", dtype::INT64, &[1, 1, 2, 2])
        .attribute("kernel_shape", Ints(&[2, 2]))
        .attribute("strides", Ints(&[2, 2]))
        .is("gather float [1, 1, 4, 4]");
    op("MaxUnpool", &["x", "i", "s"])
        .input("x", &[1, 1, 2, 2])
        .typed("i", dtype::INT64, &[1, 1, 2, 2])
        .constant(integers("s", &[1, 1, 5, 5]))
        .attribute("kernel_shape", Ints(&[2, 2]))
        .is("gather float [1, 1, 5, 5]");
    let work = op("DeformConv", &["x", "w", "o"])
        .opset(19)
        .input("x", &[1, 2, 5, 5])
        .constant(zeros("w", &[4, 2, 3, 3]))
        .input("o", &[1, 18, 3, 3])
        .is("conv float [1, 4, 3, 3]");
    assert_eq!(work.macs, 4 * 9 * 2 * 9);
    // Each of 9 taps of 2 channels at 9 positions lies between four pixels.
    assert_eq!(work.other_flops, 9 * 2 * 9 * 8);
    op("Det", &["x"])
        .input("x", &[3, 2, 2])
        .is("other float [3]");
}
