//! Fine mapping: every operator of a stage on the processor of its own, as a MILP.
//!
//! The formulation follows the fine-grained mapping of Para-Pipe (arXiv 2609.04168): binary assignments, start times, linearised transfers, big-M rows between operators that can meet on one processor.
//! [`Formulation::Plain`] is that and serves as the reference; [`Formulation::Strengthened`] adds windows, loads and orders that decide the same problem in a fraction of the time.
//! Every constraint family, with its formula, is in `docs/formulation.md`.
//! It does not divide a stage into blocks: `decompose` does that before.

mod decode;
mod energy;
mod error;
mod loads;
mod order;
mod plain;
mod plant;
mod precedence;
mod solve;
mod statement;
mod windows;

#[cfg(test)]
mod tests;

pub use error::{Claim, FineError, StartFault};
pub(super) use precedence::{Precedence, edge_delay, entry_arrival, exit_delay};
pub(super) use solve::check_operators;
pub use solve::{FineOutcome, Formulation, Settings, TieBreak, solve, solve_with};
