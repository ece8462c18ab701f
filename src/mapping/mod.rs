//! Which processor runs which fused operator of a stage, and in which order.

mod outcome;
mod problem;
mod schedule;

mod bounds;
pub mod frontier;
mod list_schedule;

#[cfg(test)]
mod oracle;

pub use list_schedule::{heft, single};
pub use outcome::{Budget, Effort, Outcome, Proof};
pub use problem::{Objective, Operator, Problem, Tensor};
pub use schedule::{Schedule, Solution, Timing, schedule};
