//! A first solution for the solver: operators in order, each where it ends first.
//!
//! It is a starting point and an upper bound, no baseline; where processors must be used it gives each of them an operator first.

use std::collections::VecDeque;

use crate::mapping::{Problem, Solution};

use paracompile_plan::Nanoseconds;

/// A solution that uses every processor that must be used; `None` where there is none.
pub(crate) fn earliest_finish(problem: &Problem) -> Option<Solution> {
    let free = greedy(problem, &vec![None; problem.operators.len()])?;
    let is_covered = (0..problem.homes.len()).all(|processor| {
        problem.must_use >> processor & 1 == 0 || free.processors.contains(&processor)
    });
    if is_covered {
        return Some(free);
    }
    greedy(problem, &cover(problem)?)
}

/// Each operator where it ends first, given those before it; `None` where one has no processor.
fn greedy(problem: &Problem, pinned: &[Option<usize>]) -> Option<Solution> {
    let mut processors: Vec<usize> = Vec::with_capacity(pinned.len());
    let mut ends = vec![0_u64; pinned.len()];
    let mut available = vec![0_u64; problem.homes.len()];
    for (operator, facts) in problem.operators.iter().enumerate() {
        let (end, processor) = facts
            .times
            .iter()
            .enumerate()
            .filter(|&(processor, _)| pinned[operator].is_none_or(|pin| pin == processor))
            .filter_map(|(processor, time)| {
                let arrival = facts
                    .reads
                    .iter()
                    .map(|&tensor| arrival(problem, tensor, &processors, &ends, processor))
                    .max()
                    .unwrap_or(0);
                let start = arrival.max(available[processor]);
                time.map(|time| (start.saturating_add(time.count()), processor))
            })
            .min()?;
        ends[operator] = end;
        available[processor] = end;
        processors.push(processor);
    }
    Some(Solution {
        processors,
        sequence: (0..pinned.len()).collect(),
    })
}

/// When a tensor is at a processor, as an estimate: one held elsewhere counts as moved.
fn arrival(
    problem: &Problem,
    tensor: usize,
    processors: &[usize],
    ends: &[u64],
    processor: usize,
) -> u64 {
    let facts = &problem.tensors[tensor];
    let home = problem.homes[processor];
    let moved = |from: usize| {
        facts.moves[from][home]
            .map_or(Nanoseconds::ZERO, |cost| cost.time)
            .count()
    };
    match facts.producer {
        Some(producer) => ends[producer].saturating_add(moved(problem.homes[processors[producer]])),
        None if facts.held.contains(&home) => 0,
        None => facts
            .held
            .iter()
            .map(|&from| moved(from))
            .min()
            .unwrap_or(0),
    }
}

/// An operator of its own for each processor that must be used, by augmenting paths.
fn cover(problem: &Problem) -> Option<Vec<Option<usize>>> {
    let mut pinned: Vec<Option<usize>> = vec![None; problem.operators.len()];
    for required in 0..problem.homes.len() {
        if problem.must_use >> required & 1 == 0 {
            continue;
        }
        // Breadth-first from the processor: an operator either is free or hands its processor on.
        let mut reached_from: Vec<Option<usize>> = vec![None; problem.operators.len()];
        let mut queue = VecDeque::from([required]);
        let mut end = None;
        'search: while let Some(processor) = queue.pop_front() {
            for (operator, facts) in problem.operators.iter().enumerate() {
                if facts.times[processor].is_none() || reached_from[operator].is_some() {
                    continue;
                }
                reached_from[operator] = Some(processor);
                let Some(owner) = pinned[operator] else {
                    end = Some(operator);
                    break 'search;
                };
                queue.push_back(owner);
            }
        }
        let mut operator = end?;
        while let Some(processor) = reached_from[operator] {
            let handed_on = pinned.iter().position(|&owner| owner == Some(processor));
            pinned[operator] = Some(processor);
            match handed_on {
                Some(previous) => operator = previous,
                None => break,
            }
        }
    }
    Some(pinned)
}

#[cfg(test)]
mod tests {
    use paracompile_plan::Nanojoules;

    use super::*;
    use crate::mapping::Operator;

    fn independent(times: &[&[Option<u64>]], must_use: u16) -> Problem {
        let processors = times[0].len();
        Problem {
            homes: (0..processors).collect(),
            locations: processors,
            operators: times
                .iter()
                .map(|times| Operator {
                    times: times
                        .iter()
                        .map(|time| time.map(Nanoseconds::new))
                        .collect(),
                    energies: vec![Nanojoules::ZERO; processors],
                    ..Operator::default()
                })
                .collect(),
            must_use,
            ..Problem::default()
        }
    }

    #[test]
    fn required_processors_take_operators_over_from_each_other() {
        // Processor 0 could run both; only operator 0 runs on 1.
        let problem = independent(&[&[Some(1), Some(9)], &[Some(1), None]], 0b11);
        let solution = earliest_finish(&problem).unwrap();
        assert_eq!(solution.processors, [1, 0]);
    }

    #[test]
    fn fewer_operators_than_required_processors_have_no_solution() {
        let problem = independent(&[&[Some(1), Some(9)]], 0b11);
        assert_eq!(earliest_finish(&problem), None);
    }

    #[test]
    fn an_operator_without_processor_has_no_solution() {
        let problem = independent(&[&[None, None]], 0);
        assert_eq!(earliest_finish(&problem), None);
    }
}
