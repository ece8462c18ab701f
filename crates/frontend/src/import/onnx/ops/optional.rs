//! Optionals and sequences.
//!
//! Tensors alone are held, so an optional is the tensor in it, or nothing. Sequences are refused by name: they have no one shape.

use paracompile_plan::OpClass;

use crate::ir::DataType;

use super::super::Fault;
use super::super::infer::{Effect, Pass, Produced, Rule, Site};
use super::super::value::Data;

pub(super) const RULES: &[(&str, Rule)] = &[
    ("ConcatFromSequence", sequence),
    ("Optional", inner),
    ("OptionalGetElement", inner),
    ("OptionalHasElement", |site| Ok(has_element(site))),
    ("SequenceAt", sequence),
    ("SequenceConstruct", sequence),
    ("SequenceEmpty", sequence),
    ("SequenceErase", sequence),
    ("SequenceInsert", sequence),
    ("SequenceLength", sequence),
    ("SequenceMap", sequence),
    ("SplitToSequence", sequence),
];

fn sequence(_: &Site<'_>) -> Result<Effect, Fault> {
    Err(Fault::NoTensor {
        what: "sequences of tensors",
    })
}

fn inner(site: &Site<'_>) -> Result<Effect, Fault> {
    let Some(input) = site.optional(0) else {
        return Err(Fault::NoTensor {
            what: "an optional without a tensor",
        });
    };
    let mut effect = Effect::view(Produced::like(input).with_data(input.data.clone()));
    effect.passes = Some(Pass::Identity);
    Ok(effect)
}

fn has_element(site: &Site<'_>) -> Effect {
    let is_there = i64::from(site.optional(0).is_some());
    let output = Produced::new(DataType::Bool, Vec::new());
    Effect::compute(
        OpClass::Other,
        output.with_data(Some(Data::Integers(vec![is_there]))),
    )
}
