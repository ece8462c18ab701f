//! List scheduling: operators in an order of priority, each on the processor that looks best, in the first gap that holds it.
//!
//! [`heft`] is a start for searches; all of them are baselines (rule M13), and none is proven to be near anything.
//!
//! Differences from the papers, in all of them: a tensor is moved once for each destination (rule M3), means are over processors that support an operator, an operator that writes a network output is judged with the way home, and processors that must be used get an operator at the end.
//! Ties go to the operator that comes first and to the processor that comes first.

mod cpop;
mod heft;
mod lookahead;
mod peft;
mod ranks;
mod required;
mod rule;
mod timeline;

#[cfg(test)]
mod tests;

pub use cpop::cpop;
pub use heft::heft;
pub use lookahead::lookahead_heft;
pub use peft::peft;
pub use rule::ListRule;
