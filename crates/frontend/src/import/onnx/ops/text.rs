//! Operators on strings, whose elements we never see.

use paracompile_plan::OpClass;

use crate::ir::DataType;

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{broadcast, extent};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("RegexFullMatch", regex_full_match),
    ("StringConcat", concat),
    ("StringNormalizer", normalizer),
    ("StringSplit", split),
    ("TfIdfVectorizer", vectorizer),
];

fn regex_full_match(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "X")?;
    let output = Produced::new(DataType::Bool, input.shape.clone());
    Ok(Effect::compute(OpClass::Other, output))
}

fn concat(site: &Site<'_>) -> Result<Effect, Fault> {
    let left = site.operand(0, "X")?;
    let shape = broadcast(&left.shape, &site.operand(1, "Y")?.shape)?;
    Ok(Effect::compute(
        OpClass::Other,
        Produced::new(left.dtype, shape),
    ))
}

/// Stop words are left out; if nothing is left, one empty string stays.
fn normalizer(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand_of_rank(0, "X", 1..=2, "a list of strings is needed")?;
    let last = input.shape.0.len() - 1;
    let mut output = Produced::like(input);
    if site.attributes.contains("stopwords") {
        output.shape.0[last] = output.shape.0[last].max(1);
        output = output.bounded_along(last);
    }
    Ok(Effect::compute(OpClass::Other, output))
}

/// How many words a text has is bounded only where the file says how often to split.
fn split(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "X")?;
    let most = site
        .attributes
        .int("maxsplit")?
        .ok_or(Fault::NotConstant { operand: "X" })?;
    let words = extent("maxsplit", most)?.saturating_add(1);
    let rank = input.shape.0.len();
    let shape: Vec<u64> = input.shape.0.iter().copied().chain([words]).collect();
    let outputs = vec![
        Produced::new(DataType::String, shape).bounded_along(rank),
        Produced::new(DataType::Int64, input.shape.clone()),
    ];
    Ok(Effect::compute_all(OpClass::Other, outputs))
}

/// One number a phrase of the pool.
fn vectorizer(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand_of_rank(0, "X", 1..=2, "a list of words is needed")?;
    let attribute = "ngram_indexes";
    let indexes = site
        .attributes
        .ints(attribute)?
        .ok_or(Fault::MissingAttribute { attribute })?;
    let last = indexes.iter().copied().max().unwrap_or(-1);
    let phrases = extent(attribute, last.saturating_add(1))?;
    let batch = &input.shape.0[..input.shape.0.len() - 1];
    let shape = [batch, &[phrases]].concat();
    Ok(Effect::compute(
        OpClass::Other,
        Produced::new(DataType::Float, shape),
    ))
}
