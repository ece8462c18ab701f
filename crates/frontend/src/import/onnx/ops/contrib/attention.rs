//! Attention in one operator: the products of queries with keys and of scores with values, some with the projections before.
//!
//! The two products of a head are counted as one: `rows` queries by `columns` keys, as deep as a key and a value together.
//! A projection by weights gives rows, columns and depth where there is one, and the multiply-accumulates count both.

use paracompile_plan::OpClass;

use super::super::super::Fault;
use super::super::super::infer::{Effect, Produced, Rule, Site};
use super::super::super::value::{Data, Value, extent, extents, product};
use crate::ir::{DataType, Work};

pub(in super::super) const RULES: &[(&str, Rule)] = &[
    ("Attention", |site| projected(site, &PLAIN)),
    ("GroupQueryAttention", group_query),
    ("MultiHeadAttention", multi_head),
    ("QAttention", |site| projected(site, &QUANTIZED)),
    ("RotaryEmbedding", rotary),
];

const MACS: &str = "the number of multiply-accumulates";
const SEQUENCE: &str = "batch, sequence and features are needed";
const CACHE: &str = "batch, heads, sequence and features are needed";
/// Scale, mask, and a softmax of five operations.
const FLOPS_PER_SCORE: u64 = 7;

/// Where operands of attention with projections stand.
struct Places {
    past: usize,
    scales: &'static [usize],
}

const PLAIN: Places = Places {
    past: 4,
    scales: &[],
};
const QUANTIZED: Places = Places {
    past: 8,
    scales: &[3, 4, 6, 7],
};

/// Queries by keys, and the results by values.
struct Scores {
    batch: u64,
    heads: u64,
    queries: u64,
    keys: u64,
    /// Features of a key.
    key: u64,
    /// Features of a value.
    value: u64,
}

impl Scores {
    fn work(&self) -> Result<Work, Fault> {
        let groups = product(MACS, [self.batch, self.heads])?;
        let depth = sum(MACS, [self.key, self.value])?;
        let scores = [self.queries, self.keys, groups];
        Ok(Work {
            macs: product(MACS, scores.into_iter().chain([depth]))?,
            other_flops: product(MACS, scores.into_iter().chain([FLOPS_PER_SCORE]))?,
            rows: self.queries,
            columns: self.keys,
            depth,
            groups,
            ..Work::default()
        })
    }
}

fn sum(what: &'static str, parts: impl IntoIterator<Item = u64>) -> Result<u64, Fault> {
    parts
        .into_iter()
        .try_fold(0_u64, u64::checked_add)
        .ok_or(Fault::Overflow { what })
}

fn heads(site: &Site<'_>, attribute: &'static str) -> Result<u64, Fault> {
    let found = site.attributes.int(attribute)?;
    let found = extent(
        attribute,
        found.ok_or(Fault::MissingAttribute { attribute })?,
    )?;
    if found > 0 {
        Ok(found)
    } else {
        Err(Fault::Value {
            what: attribute,
            found: "0".to_owned(),
            expected: "it is positive",
        })
    }
}

/// The features of each head, of a tensor with those of all.
fn by_head(all: u64, heads: u64, value: &Value) -> Result<u64, Fault> {
    if all.is_multiple_of(heads) {
        Ok(all / heads)
    } else {
        Err(Fault::Value {
            what: "the number of heads",
            found: format!("{heads} for {}", value.shape),
            expected: "it has to divide the features",
        })
    }
}

/// The length of a cache, which may be left out; its features come last.
fn cached(
    site: &Site<'_>,
    position: usize,
    operand: &'static str,
    rank: usize,
    expected: &'static str,
) -> Result<u64, Fault> {
    if site.optional(position).is_none() {
        return Ok(0);
    }
    let cache = site.operand_of_rank(position, operand, rank..=rank, expected)?;
    Ok(cache.shape.0[rank - 2])
}

fn projected(site: &Site<'_>, places: &Places) -> Result<Effect, Fault> {
    let input = site.operand_of_rank(0, "input", 3..=3, SEQUENCE)?;
    let weights = site.operand_of_rank(1, "weights", 2..=2, "a matrix is needed")?;
    let heads = heads(site, "num_heads")?;
    let (batch, sequence, depth) = (input.shape.0[0], input.shape.0[1], input.shape.0[2]);
    let columns = weights.shape.0[1];
    let sizes = match site.attributes.ints("qkv_hidden_sizes")? {
        Some(sizes) => extents("qkv_hidden_sizes", sizes)?,
        None => vec![columns / 3; 3],
    };
    let &[query, key, value] = sizes.as_slice() else {
        return Err(Fault::Value {
            what: "qkv_hidden_sizes",
            found: format!("{sizes:?}"),
            expected: "it needs one number each for queries, keys and values",
        });
    };
    if weights.shape.0[0] != depth || sum(MACS, [query, key, value])? != columns || query != key {
        return Err(Fault::Mismatch {
            left: input.shape.clone(),
            right: weights.shape.clone(),
            why: "the weights have a row for each feature of the input, and columns for queries, keys and values",
        });
    }
    let expected = "two of batch, heads, sequence and features are needed";
    let past = cached(site, places.past, "past", 5, expected)?;
    let keys = sum("the length of the keys", [past, sequence])?;
    let attention = Scores {
        batch,
        heads,
        queries: sequence,
        keys,
        key: by_head(key, heads, weights)?,
        value: by_head(value, heads, weights)?,
    };
    let inner = attention.work()?;
    let rows = product(MACS, [batch, sequence])?;
    let work = Work {
        macs: sum(MACS, [product(MACS, [rows, columns, depth])?, inner.macs])?,
        other_flops: inner.other_flops,
        rows,
        columns,
        depth,
        groups: 1,
        ..Work::default()
    };
    // The result of quantised attention is in floating point, like its bias.
    let dtype = if input.dtype.is_real() {
        input.dtype
    } else {
        site.optional(2).map_or(DataType::Float, |bias| bias.dtype)
    };
    let outputs = vec![
        Produced::new(dtype, vec![batch, sequence, value]),
        Produced::new(dtype, vec![2, batch, heads, keys, attention.key]),
    ];
    Ok(Effect::compute_all(OpClass::Gemm, outputs)
        .with_work(work)
        .with_parameters(places.scales.iter().copied())
        .computing_in(input.dtype))
}

/// Keys or values: their length, the features of a head, and whether they come as a cache does.
struct Sequence {
    length: u64,
    features: u64,
}

impl Sequence {
    fn of(value: &Value, heads: u64) -> Result<Self, Fault> {
        match *value.shape.0.as_slice() {
            [_, length, all] => Ok(Self {
                length,
                features: by_head(all, heads, value)?,
            }),
            [_, _, length, features] => Ok(Self { length, features }),
            _ => Err(Fault::Rank {
                operand: "key",
                expected: "batch, sequence and features are needed, or heads between them",
                found: value.shape.clone(),
            }),
        }
    }
}

fn multi_head(site: &Site<'_>) -> Result<Effect, Fault> {
    let query = site.operand_of_rank(0, "query", 3..=5, SEQUENCE)?;
    let heads = heads(site, "num_heads")?;
    let (batch, queries) = (query.shape.0[0], query.shape.0[1]);
    let (features, key, value) = match (query.shape.0.as_slice(), site.optional(1)) {
        // Queries, keys and values in one tensor.
        (&[_, length, _, 3, features], _) => (
            features,
            Sequence { length, features },
            Sequence { length, features },
        ),
        (&[_, _, all], Some(key)) => {
            let of_query = by_head(all, heads, query)?;
            match (key.shape.0.as_slice(), site.optional(2)) {
                (&[_, length, _, 2, features], _) => (
                    of_query,
                    Sequence { length, features },
                    Sequence { length, features },
                ),
                (_, Some(value)) => (
                    of_query,
                    Sequence::of(key, heads)?,
                    Sequence::of(value, heads)?,
                ),
                (_, None) => {
                    return Err(Fault::MissingOperand {
                        position: 2,
                        operand: "value",
                    });
                }
            }
        }
        (_, None) => {
            return Err(Fault::MissingOperand {
                position: 1,
                operand: "key",
            });
        }
        (_, Some(_)) => {
            return Err(Fault::Rank {
                operand: "query",
                expected: SEQUENCE,
                found: query.shape.clone(),
            });
        }
    };
    if key.features != features || key.length != value.length {
        return Err(Fault::Value {
            what: "the keys",
            found: format!("{} by {}", key.length, key.features),
            expected: "they have the features of queries and the length of values",
        });
    }
    let past = cached(site, 6, "past_key", 4, CACHE)?;
    let keys = sum("the length of the keys", [past, key.length])?;
    let attention = Scores {
        batch,
        heads,
        queries,
        keys,
        key: key.features,
        value: value.features,
    };
    let all = product("the features of all heads", [heads, value.features])?;
    let outputs = vec![
        Produced::new(query.dtype, vec![batch, queries, all]),
        Produced::new(query.dtype, vec![batch, heads, keys, key.features]),
        Produced::new(query.dtype, vec![batch, heads, keys, value.features]),
        Produced::new(query.dtype, vec![batch, heads, queries, keys]),
    ];
    Ok(Effect::compute_all(OpClass::Matmul, outputs).with_work(attention.work()?))
}

/// Several heads of queries share one of keys and values; the cache has room for keys to come.
fn group_query(site: &Site<'_>) -> Result<Effect, Fault> {
    let query = site.operand_of_rank(0, "query", 3..=3, SEQUENCE)?;
    let (heads, shared) = (heads(site, "num_heads")?, heads(site, "kv_num_heads")?);
    let (batch, queries) = (query.shape.0[0], query.shape.0[1]);
    let (length, features) = if site.optional(1).is_some() {
        let key = site.operand_of_rank(1, "key", 3..=3, SEQUENCE)?;
        (key.shape.0[1], by_head(query.shape.0[2], heads, query)?)
    } else {
        // Queries, keys and values in one tensor.
        let all = sum("the number of heads", [heads, shared, shared])?;
        (queries, by_head(query.shape.0[2], all, query)?)
    };
    let past = cached(site, 3, "past_key", 4, CACHE)?;
    let total = site.optional(6).and_then(|total| total.data.as_ref());
    let total = total
        .and_then(Data::integer)
        .and_then(|total| u64::try_from(total).ok());
    let most = sum("the length of the keys", [past, length])?;
    let attention = Scores {
        batch,
        heads,
        queries,
        keys: total.map_or(most, |total| total.min(most)),
        key: features,
        value: features,
    };
    // What is read ends with the last key; what is written is as long as the cache, if that has room.
    let cache_type = site.optional(3).map_or(query.dtype, |past| past.dtype);
    let stored = |keys| {
        let features = site.optional(3).map_or(features, |past| past.shape.0[3]);
        Produced::new(cache_type, vec![batch, shared, keys, features])
    };
    let cache = match total {
        Some(total) => stored(total.max(past)),
        None => stored(most).bounded_along(2),
    };
    let all = product("the features of all heads", [heads, features])?;
    let outputs = vec![
        Produced::new(query.dtype, vec![batch, queries, all]),
        cache.clone(),
        cache,
        Produced::new(query.dtype, vec![batch, heads, queries, attention.keys]),
    ];
    Ok(Effect::compute_all(OpClass::Matmul, outputs).with_work(attention.work()?))
}

fn rotary(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand_of_rank(0, "input", 3..=4, SEQUENCE)?;
    // Two products and a sum an element.
    Effect::compute(OpClass::Elementwise, Produced::like(input)).with_flops_per_element(3)
}
