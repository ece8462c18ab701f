//! Normalisations with what runs before them.
//!
//! Operations an element are counted as for those of the default domain: eight with a mean, four without.

use paracompile_plan::{Bytes, OpClass};

use super::super::super::Fault;
use super::super::super::infer::{Effect, Produced, Rule, Site};
use super::super::super::value::{data_type, resolve_axis};
use super::like::like;
use crate::ir::DataType;

pub(in super::super) const RULES: &[(&str, Rule)] = &[
    ("EmbedLayerNormalization", embed),
    ("GroupNorm", |site| like_first(site, 8)),
    ("LayerNormalization", |site| {
        like(site, "LayerNormalization", SINCE, &[0, 1, 2])
    }),
    ("SimplifiedLayerNormalization", simplified),
    ("SkipGroupNorm", |site| {
        let mut effect = like_first(site, 9)?;
        effect.outputs.push(effect.outputs[0].clone());
        Ok(effect)
    }),
    ("SkipLayerNormalization", |site| skip(site, 9)),
    ("SkipSimplifiedLayerNormalization", |site| skip(site, 5)),
];

/// Of the default domain, where onnxruntime has it too.
pub(in super::super) const DEFAULT: &[(&str, Rule)] =
    &[("SimplifiedLayerNormalization", simplified)];

/// The version that brought layer normalisation.
const SINCE: i64 = 17;

fn like_first(site: &Site<'_>, flops: u64) -> Result<Effect, Fault> {
    let first = site.operand(0, "X")?;
    Effect::compute(OpClass::LayerNorm, Produced::like(first)).with_flops_per_element(flops)
}

/// Without a mean; the second result is a factor for each normalised part.
fn simplified(site: &Site<'_>) -> Result<Effect, Fault> {
    let first = site.operand(0, "X")?;
    let axis = resolve_axis(site.attributes.int_or("axis", -1)?, first.shape.0.len())?;
    let mut effect = like_first(site, 4)?;
    let mut factors = first.shape.0.clone();
    factors[axis..].fill(1);
    let dtype = data_type(site.attributes.int_or("stash_type", 1)?)?;
    effect.outputs.push(Produced::new(dtype, factors));
    Ok(effect)
}

/// A residual and perhaps a bias are added before; the sum can be a result too, behind two statistics.
fn skip(site: &Site<'_>, flops: u64) -> Result<Effect, Fault> {
    let first = site.operand_of_rank(0, "input", 1..=usize::MAX, "features are needed")?;
    let residual = site.operand(1, "skip")?;
    if first.shape.0.last() != residual.shape.0.last() {
        return Err(Fault::Mismatch {
            left: first.shape.clone(),
            right: residual.shape.clone(),
            why: "input and residual have the same features",
        });
    }
    let mut effect = like_first(site, flops)?;
    let mut statistics = first.shape.0.clone();
    let last = statistics.len() - 1;
    statistics[last] = 1;
    let statistics = Produced::new(DataType::Float, statistics);
    effect
        .outputs
        .extend([statistics.clone(), statistics, Produced::like(first)]);
    Ok(effect)
}

/// Rows of two or three tables, added and normalised.
fn embed(site: &Site<'_>) -> Result<Effect, Fault> {
    let rank = "batch and sequence are needed";
    let ids = site.operand_of_rank(0, "input_ids", 2..=2, rank)?;
    let words =
        site.operand_of_rank(2, "word_embedding", 2..=2, "words and features are needed")?;
    site.operand(3, "position_embedding")?;
    let (batch, sequence, features) = (ids.shape.0[0], ids.shape.0[1], words.shape.0[1]);
    let output = Produced::new(words.dtype, vec![batch, sequence, features]);
    let row_bytes = output.shape.bytes(output.dtype).map_or(0, Bytes::count);
    let parts = (2..7).filter_map(|position| Some((position, site.optional(position)?)));
    let read = parts.fold(0_u64, |sum, (position, value)| {
        let whole = value.shape.bytes(value.dtype).map_or(0, Bytes::count);
        // Scale and shift are read as they are.
        let part = if position < 5 {
            whole.min(row_bytes)
        } else {
            whole
        };
        sum.saturating_add(if value.constant { part } else { 0 })
    });
    let outputs = vec![
        output.clone(),
        Produced::new(DataType::Int32, vec![batch]),
        output,
    ];
    let mut effect = Effect::compute_all(OpClass::LayerNorm, outputs).with_flops_per_element(10)?;
    effect.work.weight_bytes = Bytes::new(read);
    Ok(effect)
}
