//! HEFT: heterogeneous earliest finish time (Topcuoglu, Hariri and Wu 2002, section 4.1).

use super::super::{Problem, Solution};
use super::ranks::{mean_durations, upward};
use super::required::use_required;
use super::timeline::Timeline;

/// Earliest finish first, in the order of upward ranks, with insertion.
/// `None` if an operator runs nowhere, or no mapping uses every processor of [`Problem::must_use`].
pub fn heft(problem: &Problem) -> Option<Solution> {
    let mut timeline = Timeline::new(problem);
    for operator in by_upward_rank(problem)? {
        let slot = timeline
            .slots(operator)
            .min_by_key(|slot| (slot.home, slot.processor))?;
        timeline.occupy(operator, slot);
    }
    let mut solution = timeline.into_solution();
    use_required(problem, &mut solution)?;
    Some(solution)
}

/// Operators by falling upward rank; ties keep the topological order.
pub(super) fn by_upward_rank(problem: &Problem) -> Option<Vec<usize>> {
    let ranks = upward(problem, &mean_durations(problem)?);
    let mut order: Vec<usize> = (0..problem.operators.len()).collect();
    order.sort_by_key(|&operator| (std::cmp::Reverse(ranks[operator]), operator));
    Some(order)
}
