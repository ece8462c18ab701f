//! Operators that take pointwise operators behind them into their kernels.

use super::epilogue::Epilogue;
use super::{Lowered, Site, Target, Unsupported, convolve, product};

/// How an operator is lowered that takes pointwise operators behind it into its kernel.
#[derive(Clone, Debug)]
pub(super) struct Anchor {
    /// Lowers it with them.
    pub(super) lower: fn(&Site<'_>, &Epilogue, &Target) -> Result<Lowered, Unsupported>,
    /// The axes of its result along which their other operands may lie.
    pub(super) axes: Vec<usize>,
    /// How many tensors of its own count as theirs.
    pub(super) tensors: usize,
}

/// The anchor that an operator is; `None` if it is none.
pub(super) fn anchor(site: &Site<'_>) -> Option<Anchor> {
    if !site.call.domain.is_empty() {
        return None;
    }
    let tensors = usize::from(site.optional(2).is_some());
    match site.call.op_type.as_str() {
        "Conv" => Some(Anchor {
            lower: convolve::conv,
            axes: vec![1],
            tensors,
        }),
        "ConvTranspose" => Some(Anchor {
            lower: convolve::conv_transpose,
            axes: vec![1],
            tensors,
        }),
        "Gemm" => Some(Anchor {
            lower: product::gemm,
            axes: vec![0, 1],
            tensors,
        }),
        "MatMul" => Some(Anchor {
            lower: product::matmul,
            axes: product::matmul_axes(site),
            tensors,
        }),
        _ => None,
    }
}
