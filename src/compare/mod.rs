//! Our plans beside the baselines and beside published figures.
//!
//! The comparisons are those of Para-Pipe (arXiv 2609.04168), by the rules of `docs/model.md`: every figure is that of a checked plan.
//! What is compared with what, and how a percentage is made, is said in `docs/results.md` and in `relation.rs`.
//! Nothing is measured here, and nothing printed.

mod contender;
mod published;
mod relation;

#[cfg(test)]
mod fixtures;

mod comparison;
mod survey;

pub use comparison::{Comparison, compare};
pub use contender::{Contender, Kind};
pub use published::{Board, PUBLISHED_MODELS, Published};
pub use relation::{Change, Pair, Relation, Verdict};
pub use survey::{Mean, Survey};
