//! Operators of the domain `com.microsoft`, which onnxruntime's optimiser and quantiser write.
//!
//! What they mean is defined in onnxruntime's `docs/ContribOperators.md`; those that are not here stay opaque.

mod like;

mod quantized;

mod weights;

mod fused;

mod normalization;

mod attention;

pub(super) use attention::RULES as ATTENTION;
pub(super) use fused::RULES as FUSED;
/// Operators that onnxruntime adds to the default domain.
pub(super) use normalization::DEFAULT;
pub(super) use normalization::RULES as NORMALIZATION;
pub(super) use quantized::RULES as QUANTIZED;
pub(super) use weights::RULES as WEIGHTS;
