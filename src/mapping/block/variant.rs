//! A block with its exit at one place, and where tensors are at its end.

use std::collections::BTreeSet;

use paracompile_plan::Nanoseconds;

use super::super::bounds::lower_bound;
use super::super::{Problem, Solution};

/// Locations that hold each leaving tensor once `solution` has run.
pub fn holders(problem: &Problem, solution: &Solution, leaving: &[usize]) -> Vec<Vec<usize>> {
    leaving
        .iter()
        .map(|&index| {
            let tensor = &problem.tensors[index];
            let mut holders = match tensor.producer {
                Some(producer) => vec![problem.homes[solution.processors[producer]]],
                None => tensor.held.clone(),
            };
            let source = holders[0];
            let mut targets: Vec<usize> = tensor
                .readers
                .iter()
                .map(|&reader| problem.homes[solution.processors[reader]])
                .collect();
            if tensor.to_io && tensor.producer.is_some() {
                targets.push(problem.io);
            }
            targets.retain(|&to| {
                let is_there = tensor.producer.is_none() && tensor.is_held_for(to);
                !is_there && tensor.moves[source][to].is_some()
            });
            holders.extend(targets);
            holders[1..].sort_unstable();
            holders.dedup();
            holders
        })
        .collect()
}

/// The problem with the exit at one place.
pub(super) struct Variant {
    /// The place; `None` where no single operator writes all that leaves.
    pub(super) place: Option<usize>,
    pub(super) problem: Problem,
    /// No mapping takes less.
    pub(super) bound: Nanoseconds,
}

pub(super) fn variants(problem: &Problem, leaving: &[usize]) -> Vec<Variant> {
    let exit = leaving
        .first()
        .and_then(|&tensor| problem.tensors[tensor].producer)
        .filter(|&exit| {
            leaving
                .iter()
                .all(|&tensor| problem.tensors[tensor].producer == Some(exit))
        });
    let Some(exit) = exit else {
        return vec![Variant {
            place: None,
            problem: problem.clone(),
            bound: lower_bound(problem),
        }];
    };
    let places: BTreeSet<usize> = problem.homes.iter().copied().collect();
    places
        .into_iter()
        .map(|place| {
            let mut variant = problem.clone();
            let times = &mut variant.operators[exit].times;
            for (time, &home) in times.iter_mut().zip(&problem.homes) {
                if home != place {
                    *time = None;
                }
            }
            Variant {
                place: Some(place),
                bound: lower_bound(&variant),
                problem: variant,
            }
        })
        .collect()
}

pub(super) fn using_all(problem: &Problem) -> Problem {
    Problem {
        must_use: problem.eligible_devices(),
        ..problem.clone()
    }
}
