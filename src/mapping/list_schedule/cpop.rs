//! CPOP: critical path on a processor (Topcuoglu, Hariri and Wu 2002, section 4.2).
//!
//! The paper has one entry operator and processors that run everything.
//! Here the critical path starts at the source of highest priority, and it gets the processor that runs most of it, then the one that takes least time for what it runs; what that processor does not support is placed like all other operators.

use std::cmp::Reverse;

use paracompile_plan::Nanoseconds;

use super::super::{Problem, Solution};
use super::ranks::{by_priority, downward, mean_durations, readers, upward};
use super::required::use_required;
use super::timeline::Timeline;

/// The operators of the critical path on one processor, all others where they finish first, by the length of the longest way through them.
/// `None` where [`super::heft`] has none.
pub fn cpop(problem: &Problem) -> Option<Solution> {
    let durations = mean_durations(problem)?;
    let priorities: Vec<u128> = upward(problem, &durations)
        .into_iter()
        .zip(downward(problem, &durations))
        .map(|(up, down)| up + down)
        .collect();
    let path = critical_path(problem, &priorities);
    let preferred = processor_of(problem, &path);
    let mut is_critical = vec![false; problem.operators.len()];
    for &operator in &path {
        is_critical[operator] = true;
    }
    let mut timeline = Timeline::new(problem);
    for operator in by_priority(problem, &priorities) {
        let on_path = preferred.filter(|_| is_critical[operator]);
        let slot = on_path
            .and_then(|processor| timeline.slot(operator, processor))
            .or_else(|| {
                timeline
                    .slots(operator)
                    .min_by_key(|slot| (slot.home, slot.processor))
            })?;
        timeline.occupy(operator, slot);
    }
    let mut solution = timeline.into_solution();
    use_required(problem, &mut solution)?;
    Some(solution)
}

/// From the source of highest priority always to the reader of highest priority.
pub(super) fn critical_path(problem: &Problem, priorities: &[u128]) -> Vec<usize> {
    let highest = |operator: &usize| (priorities[*operator], Reverse(*operator));
    let is_source = |operator: &usize| {
        problem.operators[*operator]
            .reads
            .iter()
            .all(|&tensor| problem.tensors[tensor].producer.is_none())
    };
    let mut path = Vec::new();
    let mut next = (0..problem.operators.len())
        .filter(is_source)
        .max_by_key(highest);
    while let Some(operator) = next {
        path.push(operator);
        next = readers(problem, operator)
            .map(|(_, reader)| reader)
            .max_by_key(highest);
    }
    path
}

/// The processor that runs most of the path, then in least time.
fn processor_of(problem: &Problem, path: &[usize]) -> Option<usize> {
    (0..problem.homes.len()).min_by_key(|&processor| {
        let times = || {
            path.iter()
                .filter_map(move |&operator| problem.operators[operator].times[processor])
        };
        let total: Nanoseconds = times().sum();
        (Reverse(times().count()), total, processor)
    })
}
