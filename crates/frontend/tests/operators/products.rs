//! Matrix products and Einstein sums.

use paracompile_testkit::onnx::Attribute::{Int, Text};
use paracompile_testkit::onnx::{dtype, zeros};

use super::case::op;

#[test]
fn matrix_products() {
    let work = op("MatMul", &["a", "b"])
        .input("a", &[2, 1, 4, 5])
        .input("b", &[3, 5, 6])
        .is("matmul float [2, 3, 4, 6]");
    assert_eq!(
        (work.rows, work.columns, work.depth, work.groups),
        (4, 6, 5, 6)
    );
    let work = op("MatMul", &["a", "w"])
        .input("a", &[2, 7, 5])
        .constant(zeros("w", &[5, 6]))
        .is("gemm float [2, 7, 6]");
    assert_eq!(
        (work.rows, work.columns, work.depth, work.groups),
        (14, 6, 5, 1)
    );
    op("MatMul", &["a", "b"])
        .input("a", &[5])
        .input("b", &[5])
        .is("matmul float []");
    op("MatMul", &["a", "b"])
        .input("a", &[5])
        .input("b", &[2, 5, 3])
        .is("matmul float [2, 3]");
    let gemm = |transposed| {
        op("Gemm", &["a", "w", "c"])
            .input("a", &[4, 5])
            .constant(zeros("w", if transposed { &[6, 5] } else { &[5, 6] }))
            .constant(zeros("c", &[6]))
            .attribute("transB", Int(i64::from(transposed)))
    };
    assert_eq!(gemm(true).is("gemm float [4, 6]").other_flops, 24);
    gemm(false).is("gemm float [4, 6]");
    op("MatMul", &["a", "b"]).input("a", &[4, 5]).input("b", &[4, 5]).fails(
        "node 0 (MatMul): shapes [4, 5] and [4, 5] do not fit: the inner extents of a matrix product have to be equal",
    );
    op("MatMulInteger", &["a", "b"])
        .typed("a", dtype::UINT8, &[4, 5])
        .typed("b", dtype::INT8, &[5, 6])
        .is("matmul int32 [4, 6]");
}

#[test]
fn einstein_sums() {
    let work = op("Einsum", &["a", "b"])
        .input("a", &[2, 3, 4, 5])
        .input("b", &[2, 3, 6, 5])
        .attribute("equation", Text("bhid, bhjd -> bhij"))
        .is("matmul float [2, 3, 4, 6]");
    assert_eq!(
        (work.rows, work.columns, work.depth, work.groups),
        (4, 6, 5, 6)
    );
    op("Einsum", &["a", "b"])
        .input("a", &[7, 4, 5])
        .input("b", &[5, 6])
        .attribute("equation", Text("...ij,jk->...ik"))
        .is("matmul float [7, 4, 6]");
    op("Einsum", &["a"])
        .input("a", &[3, 4])
        .attribute("equation", Text("ij->ji"))
        .is("reduce float [4, 3]");
    // Without an arrow, letters that occur once in alphabetical order.
    op("Einsum", &["a", "b"])
        .input("a", &[3, 4])
        .input("b", &[4, 2])
        .attribute("equation", Text("zi,ia"))
        .is("matmul float [2, 3]");
    op("Einsum", &["a"])
        .input("a", &[3, 4])
        .attribute("equation", Text("ijk->i"))
        .fails("node 0 (Einsum): equation is `ijk->i`, but terms need one letter an axis");
}
