//! Which processor runs which fused operator of a stage, and in which order.

#[cfg(test)]
mod enumeration;

pub mod coarse;
pub mod fine;

mod problem;
mod schedule;

pub use problem::{Objective, Operator, Problem, Tensor};
pub use schedule::{Schedule, Solution, Timing, schedule};
