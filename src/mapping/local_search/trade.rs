//! Longer schedules that take less energy.

use super::super::{Budget, Problem, Solution};
use super::energy::save_energy;
use super::state::State;
use super::terrain::Terrain;

/// How much longer than the start a traded solution may take, in percent; the last has no limit.
const ALLOWANCES: [u64; 8] = [1, 3, 7, 15, 30, 60, 120, 300];

/// Solutions that take longer than `start` and less energy: energy is saved under rising ceilings on the makespan, each from where the one before ended.
///
/// The other half of the epsilon-constraint method, with the ceiling on time and by local search, so that it proves nothing.
pub(crate) fn trade(problem: &Problem, start: &Solution, budget: Budget<'_>) -> Vec<Solution> {
    if problem.operators.is_empty() || problem.homes.len() < 2 {
        return Vec::new();
    }
    let terrain = Terrain::new(problem);
    let mut state = State::new(&terrain, start);
    let fastest = state.makespan;
    let ceilings = ALLOWANCES
        .into_iter()
        .map(|percent| fastest.saturating_add(fastest.saturating_mul(percent) / 100))
        .chain([u64::MAX]);
    let mut found: Vec<Solution> = Vec::new();
    for ceiling in ceilings {
        save_energy(problem, &mut state, ceiling, budget);
        let solution = state.solution();
        if found
            .last()
            .is_none_or(|last| last.processors != solution.processors)
        {
            found.push(solution);
        }
    }
    found
}
