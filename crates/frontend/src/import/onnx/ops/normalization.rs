//! Normalisations and softmax.
//!
//! Operations an element are counted by convention: two for a scale and shift, eight for mean, variance, scale and shift, five for softmax.

use paracompile_plan::OpClass;

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{data_type, product, resolve_axis};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("BatchNormalization", batch_normalization),
    ("GroupNormalization", |site| {
        like_first(site, OpClass::LayerNorm, 8)
    }),
    ("Hardmax", |site| like_first(site, OpClass::Softmax, 2)),
    ("InstanceNormalization", |site| {
        like_first(site, OpClass::LayerNorm, 8)
    }),
    ("LRN", local_response_normalization),
    ("LayerNormalization", layer_normalization),
    ("LogSoftmax", |site| softmax(site, 6)),
    ("LpNormalization", |site| {
        like_first(site, OpClass::LayerNorm, 3)
    }),
    ("MeanVarianceNormalization", |site| {
        like_first(site, OpClass::LayerNorm, 8)
    }),
    ("RMSNormalization", |site| {
        like_first(site, OpClass::LayerNorm, 4)
    }),
    ("Softmax", |site| softmax(site, 5)),
];

fn like_first(site: &Site<'_>, class: OpClass, flops: u64) -> Result<Effect, Fault> {
    let first = site.operand(0, "X")?;
    Effect::compute(class, Produced::like(first)).with_flops_per_element(flops)
}

fn softmax(site: &Site<'_>, flops: u64) -> Result<Effect, Fault> {
    let rank = site.operand(0, "input")?.shape.0.len();
    let axis = site
        .attributes
        .int_or("axis", if site.opset < 13 { 1 } else { -1 })?;
    // Before version 13 the axis only says where to flatten and may stand behind the last one.
    if site.opset >= 13 && rank > 0 {
        resolve_axis(axis, rank)?;
    }
    like_first(site, OpClass::Softmax, flops)
}

fn batch_normalization(site: &Site<'_>) -> Result<Effect, Fault> {
    let first = site.operand_of_rank(0, "X", 1..=usize::MAX, "a batch axis is needed")?;
    let channels = first.shape.0.get(1).copied().unwrap_or(1);
    // Before version 9 there may be a parameter a position instead of one a channel.
    let by_position = site.opset < 9 && site.attributes.int_or("spatial", 1)? == 0;
    let position_shape = first.shape.0.get(1..).unwrap_or_default();
    for (position, operand) in [(1, "scale"), (2, "B"), (3, "mean"), (4, "var")] {
        let value = site.operand(position, operand)?;
        let fits = value.shape.0 == [channels]
            || value.shape.0 == [1]
            || (by_position && value.shape.0 == position_shape);
        if !fits {
            return Err(Fault::Mismatch {
                left: first.shape.clone(),
                right: value.shape.clone(),
                why: "batch normalisation needs one parameter a channel",
            });
        }
    }
    let mut effect = like_first(site, OpClass::BatchNorm, 2)?;
    // Training mode returns statistics, older versions up to four; at inference they are the parameters' copies.
    let statistics = Produced::like(site.operand(3, "mean")?);
    let extra = site.outputs.saturating_sub(1).min(4);
    effect
        .outputs
        .extend(std::iter::repeat_n(statistics, extra));
    Ok(effect)
}

fn layer_normalization(site: &Site<'_>) -> Result<Effect, Fault> {
    let first = site.operand(0, "X")?;
    let axis = resolve_axis(site.attributes.int_or("axis", -1)?, first.shape.0.len())?;
    let mut effect = like_first(site, OpClass::LayerNorm, 8)?;
    let mut statistics = first.shape.0.clone();
    statistics[axis..].fill(1);
    let dtype = data_type(site.attributes.int_or("stash_type", 1)?)?;
    let extra = site.outputs.saturating_sub(1).min(2);
    effect
        .outputs
        .extend(std::iter::repeat_n(Produced::new(dtype, statistics), extra));
    Ok(effect)
}

fn local_response_normalization(site: &Site<'_>) -> Result<Effect, Fault> {
    let window = site
        .attributes
        .int("size")?
        .ok_or(Fault::MissingAttribute { attribute: "size" })?;
    let window = u64::try_from(window).map_err(|_| Fault::Value {
        what: "size",
        found: window.to_string(),
        expected: "it is a number of channels",
    })?;
    // A square and a sum for each neighbour, then a power and a quotient.
    let flops = product("the number of operations", [window, 2])?.saturating_add(10);
    like_first(site, OpClass::LocalResponseNorm, flops)
}
