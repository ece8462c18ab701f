//! Pictures of what a compile run found: the Pareto front, and a plan in time.
//!
//! Pure functions from results to SVG text; they open no files.

mod axis;
mod canvas;
mod gantt;
mod labels;
mod lanes;
mod pareto;
#[cfg(test)]
mod samples;
mod stream;

pub use gantt::gantt;
pub use pareto::{Candidate, pareto};
