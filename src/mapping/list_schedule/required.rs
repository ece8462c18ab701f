//! Processors that must be used get an operator, whatever a list scheduler thinks of them (rule M2).

use super::super::{Problem, Solution, schedule};

/// Gives every processor that must be used an operator, at the least cost that one change can have.
/// `None` if no mapping uses them all.
pub(super) fn use_required(problem: &Problem, solution: &mut Solution) -> Option<()> {
    for processor in 0..problem.homes.len() {
        if problem.must_use & (1 << processor) == 0 || solution.processors.contains(&processor) {
            continue;
        }
        let best = (0..problem.operators.len())
            .filter(|&operator| {
                problem.operators[operator].times[processor].is_some()
                    && can_leave(problem, solution, operator)
            })
            .min_by_key(|&operator| {
                let mut changed = solution.clone();
                changed.processors[operator] = processor;
                (schedule(problem, &changed).objective, operator)
            });
        match best {
            Some(operator) => solution.processors[operator] = processor,
            None => return match_required(problem, solution),
        }
    }
    Some(())
}

/// Whether the processor of `operator` is used without it too, or need not be.
fn can_leave(problem: &Problem, solution: &Solution, operator: usize) -> bool {
    let from = solution.processors[operator];
    problem.must_use & (1 << from) == 0
        || solution
            .processors
            .iter()
            .filter(|&&processor| processor == from)
            .count()
            > 1
}

/// An operator for each required processor by augmenting paths, where changing one operator does not do.
fn match_required(problem: &Problem, solution: &mut Solution) -> Option<()> {
    let required: Vec<usize> = (0..problem.homes.len())
        .filter(|processor| problem.must_use & (1 << processor) != 0)
        .collect();
    let mut owner: Vec<Option<usize>> = vec![None; problem.operators.len()];
    for &processor in &required {
        let mut seen = vec![false; problem.operators.len()];
        if !augment(problem, processor, &mut owner, &mut seen) {
            return None;
        }
    }
    for (operator, processor) in owner.iter().enumerate() {
        if let Some(processor) = *processor {
            solution.processors[operator] = processor;
        }
    }
    Some(())
}

/// Kuhn's step; its depth is at most the number of processors.
fn augment(
    problem: &Problem,
    processor: usize,
    owner: &mut [Option<usize>],
    seen: &mut [bool],
) -> bool {
    for operator in 0..owner.len() {
        if seen[operator] || problem.operators[operator].times[processor].is_none() {
            continue;
        }
        seen[operator] = true;
        let free = match owner[operator] {
            None => true,
            Some(other) => augment(problem, other, owner, seen),
        };
        if free {
            owner[operator] = Some(processor);
            return true;
        }
    }
    false
}
