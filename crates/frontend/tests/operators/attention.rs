//! Attention and its company, with the arithmetic of the standard's formulas.

use paracompile_testkit::onnx::Attribute::{Int, Text};
use paracompile_testkit::onnx::{dtype, zeros};

use super::case::op;

#[test]
fn attention_is_two_products_a_head() {
    let work = op("Attention", &["q", "k", "v"])
        .opset(23)
        .input("q", &[2, 4, 5, 8])
        .input("k", &[2, 2, 7, 8])
        .input("v", &[2, 2, 7, 6])
        .is("matmul float [2, 4, 5, 6]");
    // Scores are [2, 4, 5, 7] and sum over 8 features; results are [2, 4, 5, 6] and sum over 7 keys.
    assert_eq!(work.macs, 2 * 4 * 5 * 7 * 8 + 2 * 4 * 5 * 6 * 7);
    assert_eq!(
        work.macs,
        work.rows * work.columns * work.depth * work.groups
    );
    op("Attention", &["q", "k", "v", "", "pk", "pv"])
        .opset(23)
        .input("q", &[2, 5, 32])
        .input("k", &[2, 7, 16])
        .input("v", &[2, 7, 12])
        .input("pk", &[2, 2, 3, 8])
        .input("pv", &[2, 2, 3, 6])
        .attribute("q_num_heads", Int(4))
        .attribute("kv_num_heads", Int(2))
        .outputs(4)
        .is("matmul float [2, 5, 24], float [2, 2, 10, 8], float [2, 2, 10, 6], float [2, 4, 5, 10]");
}

#[test]
fn heads_have_to_fit() {
    let packed = |heads| {
        op("Attention", &["q", "k", "v"])
            .opset(23)
            .input("q", &[2, 5, 32])
            .input("k", &[2, 7, 16])
            .input("v", &[2, 7, 16])
            .attribute("q_num_heads", Int(4))
            .attribute("kv_num_heads", Int(heads))
    };
    packed(3).fails(
        "node 0 (Attention): kv_num_heads is 3 for [2, 7, 16], but it has to divide the last axis",
    );
    packed(0).fails("node 0 (Attention): kv_num_heads is 0, but it is positive");
    packed(4).fails(
        "node 0 (Attention): shapes [2, 5, 32] and [2, 7, 16] do not fit: keys have the features of queries, values as many heads and positions as keys, and queries a multiple of their heads",
    );
    op("Attention", &["q", "q", "q"])
        .opset(23)
        .input("q", &[2, 5, 32])
        .fails("node 0 (Attention): attribute `q_num_heads` is missing");
}

#[test]
fn what_surrounds_attention() {
    op("RotaryEmbedding", &["x", "c", "s"])
        .opset(23)
        .input("x", &[1, 4, 6, 8])
        .constant(zeros("c", &[1, 6, 4]))
        .constant(zeros("s", &[1, 6, 4]))
        .is("elementwise float [1, 4, 6, 8]");
    op("TensorScatter", &["c", "u", "i"])
        .opset(24)
        .input("c", &[2, 1, 8, 4])
        .input("u", &[2, 1, 3, 4])
        .typed("i", dtype::INT64, &[2])
        .is("gather float [2, 1, 8, 4]");
    op("TensorScatter", &["c", "u"])
        .opset(24)
        .input("c", &[2, 1, 8, 4])
        .input("u", &[2, 1, 3, 5])
        .fails("node 0 (TensorScatter): shapes [2, 1, 8, 4] and [2, 1, 3, 5] do not fit: the update may be shorter than the cache along one axis only");
    op("FlexAttention", &["q", "k", "v"])
        .domain("ai.onnx.preview", 1)
        .input("q", &[2, 8, 4, 16])
        .input("k", &[2, 2, 6, 16])
        .input("v", &[2, 2, 6, 12])
        .is("matmul float [2, 8, 4, 12]");
}

#[test]
fn linear_attention_reads_and_updates_a_state() {
    let rule = |rule| {
        op("LinearAttention", &["q", "k", "v"])
            .opset(27)
            .input("q", &[2, 5, 32])
            .input("k", &[2, 5, 16])
            .input("v", &[2, 5, 8])
            .attribute("q_num_heads", Int(4))
            .attribute("kv_num_heads", Int(2))
            .attribute("update_rule", Text(rule))
            .outputs(2)
            .is("recurrent float [2, 5, 16], float [2, 2, 8, 4]")
    };
    // A state of 8 by 4 numbers a head: read by four heads, updated once or twice by two.
    assert_eq!(rule("linear").macs, 2 * 5 * 8 * 4 * (4 + 2));
    assert_eq!(rule("gated_delta").macs, 2 * 5 * 8 * 4 * (4 + 2 * 2));
    let work = op("CausalConvWithState", &["x", "w"])
        .opset(27)
        .input("x", &[2, 4, 9])
        .constant(zeros("w", &[4, 1, 3]))
        .outputs(2)
        .is("depthwise_conv float [2, 4, 9], float [2, 4, 2]");
    assert_eq!(work.macs, 2 * 4 * 9 * 3);
}
