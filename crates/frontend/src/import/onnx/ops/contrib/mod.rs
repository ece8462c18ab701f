//! Operators of the domain `com.microsoft`, which onnxruntime's optimiser and quantiser write.
//!
//! What they mean is defined in onnxruntime's `docs/ContribOperators.md`; those that are not here stay opaque.

mod like;

mod quantized;

mod weights;

mod fused;

mod normalization;

mod attention;

use super::super::infer::Rule;

/// Rules of `com.microsoft`, by family.
pub(super) const FAMILIES: &[&[(&str, Rule)]] = &[
    attention::RULES,
    fused::RULES,
    normalization::RULES,
    quantized::RULES,
    weights::RULES,
];

/// Operators that onnxruntime adds to the default domain.
pub(super) use normalization::DEFAULT;
