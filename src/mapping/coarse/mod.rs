//! Coarse mapping: a branch of a fan-in block is one task on one processor.
//!
//! This is the coarse-grained mapping of Para-Pipe (arXiv 2609.04168): branches go to processors, branches on one processor run one after another, and every operator outside of branches is a task of its own.
//! Then branches that fork inside may give their nested branches to processors that nothing beside them uses.
//! A task waits for all its inputs and hands everything over at its end; what the operators reach when they need not wait for each other is computed by `schedule` afterwards.
//! It proves nothing about fine mappings, and it does not cut a long stage at its gates: [`contract()`] gives a [`Problem`](crate::mapping::Problem) that whatever solves fine ones can solve.

mod contract;
mod error;
mod nested;
mod solve;
mod start;

#[cfg(test)]
mod tests;

pub use contract::{Contraction, contract};
pub use error::CoarseError;
pub use solve::{CoarseBranch, CoarseOutcome, solve};
pub(crate) use start::earliest_finish;
