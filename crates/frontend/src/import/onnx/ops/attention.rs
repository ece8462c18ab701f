//! Attention, and what belongs to it: rotary embedding, caches of keys and values, linear attention.
//!
//! The two matrix products of a head are counted as one: `rows` queries by `columns` keys, as deep as a key and a value together.

use paracompile_plan::OpClass;

use crate::ir::Work;

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{Value, product, resolve_axis};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("Attention", attention),
    ("LinearAttention", linear_attention),
    ("RotaryEmbedding", rotary_embedding),
    ("TensorScatter", tensor_scatter),
];

/// Of the domain `ai.onnx.preview`.
pub(super) const PREVIEW: &[(&str, Rule)] = &[("FlexAttention", flex_attention)];

const MACS: &str = "the number of multiply-accumulates";
const HEADS: &str = "batch, heads, sequence and features are needed, or batch, sequence and the features of all heads";
/// Scale, mask, and a softmax of five operations.
const FLOPS_PER_SCORE: u64 = 7;

/// A tensor as batch, heads, sequence and features.
struct Layout {
    batch: u64,
    heads: u64,
    sequence: u64,
    features: u64,
}

impl Layout {
    /// Splits the last axis of a tensor of rank 3 by the number of heads in an attribute.
    fn of(
        site: &Site<'_>,
        position: usize,
        operand: &'static str,
        attribute: &'static str,
    ) -> Result<Self, Fault> {
        let value = site.operand_of_rank(position, operand, 3..=4, HEADS)?;
        match *value.shape.0.as_slice() {
            [batch, heads, sequence, features] => Ok(Self {
                batch,
                heads,
                sequence,
                features,
            }),
            [batch, sequence, all] => {
                let heads = heads(site, attribute)?;
                if all % heads != 0 {
                    return Err(Fault::Value {
                        what: attribute,
                        found: format!("{heads} for {}", value.shape),
                        expected: "it has to divide the last axis",
                    });
                }
                Ok(Self {
                    batch,
                    heads,
                    sequence,
                    features: all / heads,
                })
            }
            _ => unreachable!("the rank is 3 or 4"),
        }
    }
}

fn heads(site: &Site<'_>, attribute: &'static str) -> Result<u64, Fault> {
    let heads = site
        .attributes
        .int(attribute)?
        .ok_or(Fault::MissingAttribute { attribute })?;
    u64::try_from(heads)
        .ok()
        .filter(|&heads| heads > 0)
        .ok_or_else(|| Fault::Value {
            what: attribute,
            found: heads.to_string(),
            expected: "it is positive",
        })
}

fn attention(site: &Site<'_>) -> Result<Effect, Fault> {
    let query = Layout::of(site, 0, "Q", "q_num_heads")?;
    let key = Layout::of(site, 1, "K", "kv_num_heads")?;
    let value = Layout::of(site, 2, "V", "kv_num_heads")?;
    let (q, k, v) = (
        site.operand(0, "Q")?,
        site.operand(1, "K")?,
        site.operand(2, "V")?,
    );
    fits(q, k, &query, &key, &value)?;
    let past = if site.optional(4).is_some() {
        let rank = "batch, heads, sequence and features are needed";
        site.operand_of_rank(4, "past_key", 4..=4, rank)?.shape.0[2]
    } else {
        0
    };
    let total = past.checked_add(key.sequence).ok_or(Fault::Overflow {
        what: "the length of the keys",
    })?;
    let shape = if q.shape.0.len() == 4 {
        vec![query.batch, query.heads, query.sequence, value.features]
    } else {
        let all = product("the features of all heads", [query.heads, value.features])?;
        vec![query.batch, query.sequence, all]
    };
    let outputs = vec![
        Produced::new(q.dtype, shape),
        Produced::new(k.dtype, vec![key.batch, key.heads, total, key.features]),
        Produced::new(
            v.dtype,
            vec![value.batch, value.heads, total, value.features],
        ),
        Produced::new(
            q.dtype,
            vec![query.batch, query.heads, query.sequence, total],
        ),
    ];
    let work = work(&query, total, value.features)?;
    Ok(Effect::compute_all(OpClass::Matmul, outputs).with_work(work))
}

fn flex_attention(site: &Site<'_>) -> Result<Effect, Fault> {
    let rank = "batch, heads, sequence and features are needed";
    for (position, operand) in ["Q", "K", "V"].into_iter().enumerate() {
        site.operand_of_rank(position, operand, 4..=4, rank)?;
    }
    let mut effect = attention(site)?;
    effect.outputs.truncate(1);
    Ok(effect)
}

/// Layout of keys and values are shared by as many heads of queries each.
fn fits(q: &Value, k: &Value, query: &Layout, key: &Layout, value: &Layout) -> Result<(), Fault> {
    let shared = key.heads > 0 && query.heads.is_multiple_of(key.heads);
    if shared
        && key.features == query.features
        && key.sequence == value.sequence
        && key.heads == value.heads
    {
        return Ok(());
    }
    Err(Fault::Mismatch {
        left: q.shape.clone(),
        right: k.shape.clone(),
        why: "keys have the features of queries, values as many heads and positions as keys, and queries a multiple of their heads",
    })
}

fn work(query: &Layout, keys: u64, values: u64) -> Result<Work, Fault> {
    let groups = product(MACS, [query.batch, query.heads])?;
    let depth = query
        .features
        .checked_add(values)
        .ok_or(Fault::Overflow { what: MACS })?;
    let scores = [query.sequence, keys, groups];
    Ok(Work {
        macs: product(MACS, scores.into_iter().chain([depth]))?,
        other_flops: product(MACS, scores.into_iter().chain([FLOPS_PER_SCORE]))?,
        rows: query.sequence,
        columns: keys,
        depth,
        groups,
        ..Work::default()
    })
}

/// A recurrence over a state of keys by values: one product reads it, one or two update it.
fn linear_attention(site: &Site<'_>) -> Result<Effect, Fault> {
    let rank = "batch, sequence and the features of all heads are needed";
    for (position, operand) in ["query", "key", "value"].into_iter().enumerate() {
        site.operand_of_rank(position, operand, 3..=3, rank)?;
    }
    let query = Layout::of(site, 0, "query", "q_num_heads")?;
    let key = Layout::of(site, 1, "key", "kv_num_heads")?;
    let value = Layout::of(site, 2, "value", "kv_num_heads")?;
    let q = site.operand(0, "query")?;
    fits(q, site.operand(1, "key")?, &query, &key, &value)?;
    let updates = match site.attributes.string("update_rule")? {
        Some("linear" | "gated") => 1,
        _ => 2,
    };
    let all = product("the features of all heads", [query.heads, value.features])?;
    let state = vec![key.batch, key.heads, key.features, value.features];
    let state_type = site.optional(3).map_or(q.dtype, |past| past.dtype);
    let outputs = vec![
        Produced::new(q.dtype, vec![query.batch, query.sequence, all]),
        Produced::new(state_type, state),
    ];
    let groups = product(MACS, [key.heads, updates])?
        .checked_add(query.heads)
        .ok_or(Fault::Overflow { what: MACS })?;
    let rows = product(MACS, [query.batch, query.sequence])?;
    let work = Work {
        macs: product(MACS, [rows, key.features, value.features, groups])?,
        rows,
        columns: value.features,
        depth: key.features,
        groups,
        ..Work::default()
    };
    Ok(Effect::compute_all(OpClass::Recurrent, outputs).with_work(work))
}

fn rotary_embedding(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand_of_rank(0, "X", 3..=4, HEADS)?;
    site.operand(1, "cos_cache")?;
    site.operand(2, "sin_cache")?;
    // Two products and a sum an element.
    Effect::compute(OpClass::Elementwise, Produced::like(input)).with_flops_per_element(3)
}

/// The cache with some rows replaced.
fn tensor_scatter(site: &Site<'_>) -> Result<Effect, Fault> {
    let cache = site.operand(0, "past_cache")?;
    let update = site.operand(1, "update")?;
    let rank = cache.shape.0.len();
    let axis = resolve_axis(site.attributes.int_or("axis", -2)?, rank)?;
    let fits = update.shape.0.len() == rank
        && (0..rank).all(|other| {
            let (update, cache) = (update.shape.0[other], cache.shape.0[other]);
            update == cache || (other == axis && update < cache)
        });
    if !fits {
        return Err(Fault::Mismatch {
            left: cache.shape.clone(),
            right: update.shape.clone(),
            why: "the update may be shorter than the cache along one axis only",
        });
    }
    Ok(Effect::compute(OpClass::Gather, Produced::like(cache)))
}
