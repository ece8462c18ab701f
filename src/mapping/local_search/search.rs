//! One walk for each weight of the load price, and a last pass for the energy.

use super::super::{Budget, Objective, Problem, Solution, schedule};
use super::anneal::Annealing;
use super::energy::save_energy;
use super::state::State;
use super::terrain::Terrain;

/// Weights of the load price, one walk each: graphs bound by load want the large one, graphs bound by their longest path the small one.
const WEIGHTS: [f64; 3] = [0.3, 1.0, 3.0];

/// A solution that is no worse than `start`, after `moves` moves; it uses the required processors if `start` does.
pub fn improve(problem: &Problem, start: &Solution, moves: u64, budget: Budget<'_>) -> Solution {
    let mut best = Best {
        objective: schedule(problem, start).objective,
        solution: start.clone(),
    };
    if problem.operators.len() < 2 || problem.homes.len() < 2 {
        return best.solution;
    }
    let terrain = Terrain::new(problem);
    for (seed, weight) in (1..).zip(WEIGHTS) {
        let walk = Annealing::new(&terrain, start, seed);
        let found = walk.walk(weight, moves / WEIGHTS.len() as u64, budget);
        best.offer(problem, found);
    }
    let mut state = State::new(&terrain, &best.solution);
    debug_assert_eq!(
        state.makespan,
        best.objective.makespan.count(),
        "the search times schedules as everybody does"
    );
    save_energy(problem, &mut state, best.objective.makespan.count(), budget);
    best.offer(problem, state.solution());
    best.solution
}

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

struct Best {
    objective: Objective,
    solution: Solution,
}

impl Best {
    fn offer(&mut self, problem: &Problem, solution: Solution) {
        let objective = schedule(problem, &solution).objective;
        if objective < self.objective {
            *self = Self {
                objective,
                solution,
            };
        }
    }
}
