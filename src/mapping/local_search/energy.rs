//! A last pass: operators go where they and their moves need less energy, as long as the makespan allows it.

use super::super::{Budget, Problem};
use super::insertions::Insertion;
use super::state::State;

/// Passes over all operators, of which the later ones find little.
const PASSES: usize = 3;

/// Moves single operators of `state` as long as that saves energy and keeps the makespan within `limit`, which it keeps now.
pub(super) fn save_energy(
    problem: &Problem,
    state: &mut State<'_>,
    limit: u64,
    budget: Budget<'_>,
) {
    let mut insertions: Vec<Insertion> = Vec::new();
    let mut reached = vec![false; problem.locations];
    let mut processors: Vec<usize> = state.processors().collect();
    for _ in 0..PASSES {
        let mut has_changed = false;
        for operator in 0..problem.operators.len() {
            if budget.should_stop() {
                return;
            }
            let from = processors[operator];
            let now = energy_around(problem, &processors, operator, &mut reached);
            let mut cheaper: Vec<(u64, usize)> = Vec::new();
            for to in 0..problem.homes.len() {
                if to != from && state.may_move(operator, to) {
                    processors[operator] = to;
                    let then = energy_around(problem, &processors, operator, &mut reached);
                    if then < now {
                        cheaper.push((then, to));
                    }
                }
            }
            processors[operator] = from;
            if cheaper.is_empty() {
                continue;
            }
            cheaper.sort_unstable();
            state.insertions(operator, &mut insertions);
            let place = cheaper.iter().find_map(|&(_, to)| {
                let mut insertions = insertions.iter();
                insertions.find(|place| place.processor as usize == to && place.makespan <= limit)
            });
            if let Some(place) = place
                && state.insert(operator, *place)
            {
                processors[operator] = place.processor as usize;
                has_changed = true;
            }
        }
        if !has_changed {
            return;
        }
    }
}

/// Energy of an operator and of all moves of what it reads and writes.
fn energy_around(
    problem: &Problem,
    processors: &[usize],
    operator: usize,
    reached: &mut [bool],
) -> u64 {
    let each = &problem.operators[operator];
    let mut energy = each.energies[processors[operator]].count();
    for &index in each.reads.iter().chain(&each.writes) {
        let tensor = &problem.tensors[index];
        let source = match tensor.producer {
            Some(producer) => problem.homes[processors[producer]],
            None => tensor.held[0],
        };
        reached.fill(false);
        let homes = tensor.readers.iter().map(|&v| problem.homes[processors[v]]);
        let goes_home = tensor.to_io && tensor.producer.is_some();
        for to in homes.chain(goes_home.then_some(problem.io)) {
            let is_there = reached[to] || (tensor.producer.is_none() && tensor.is_held_for(to));
            reached[to] = true;
            if let (false, Some(cost)) = (is_there, tensor.moves[source][to]) {
                energy = energy.saturating_add(cost.energy.count());
            }
        }
    }
    energy
}
