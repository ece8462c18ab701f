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
    save_energy(problem, &mut state, budget);
    best.offer(problem, state.solution());
    best.solution
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
