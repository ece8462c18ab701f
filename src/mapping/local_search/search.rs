//! A search in rounds: short walks say which charge suits the problem, longer ones use it; and one round with a last pass for the energy.

use paracompile_plan::Nanoseconds;

use super::super::{Budget, Objective, Problem, Solution, schedule};
use super::anneal::Annealing;
use super::charge::Charge;
use super::energy::save_energy;
use super::random::Random;
use super::state::State;
use super::terrain::Terrain;

/// The charges are tried on walks of at most so many moves an operator.
const SHORT: u64 = 1500;
/// A walk has at least this share of the moves made before.
const SHARE: u64 = 16;
/// Walks that start cool leave out so many steps, and up to so many more.
const COOL: u64 = 25;
const COOL_RANGE: usize = 30;

/// A solution that is no worse than `start`, after `moves` moves; it uses the required processors if `start` does.
pub fn improve(problem: &Problem, start: &Solution, moves: u64, budget: Budget<'_>) -> Solution {
    let mut search = Search::new(problem, start.clone(), 1);
    search.round(moves, Nanoseconds::ZERO, budget);
    search.save_energy(budget);
    search.best
}

/// A local search that can be asked for more: what it finds is a function of the problem, the start, the seed and the rounds.
pub struct Search<'a> {
    problem: &'a Problem,
    terrain: Terrain,
    objective: Objective,
    best: Solution,
    random: Random,
    /// Charges with the least makespan that a walk with them reached, best first; those that were not tried yet reached nothing.
    charges: Vec<(u64, Charge)>,
    /// How many moves there were.
    moves: u64,
    /// Length of the walks that try the charges.
    shortest: u64,
    /// Whether the walk before started cool.
    is_cool: bool,
}

impl<'a> Search<'a> {
    /// Nothing is searched yet: `start` is the best.
    pub fn new(problem: &'a Problem, start: Solution, seed: u64) -> Self {
        Self {
            problem,
            terrain: Terrain::new(problem),
            objective: schedule(problem, &start).objective,
            best: start,
            random: Random::new(seed),
            charges: Charge::PORTFOLIO.map(|charge| (u64::MAX, charge)).to_vec(),
            moves: 0,
            shortest: 0,
            is_cool: false,
        }
    }

    /// Tries `moves` more moves and hands back the best of all rounds; stops when its makespan is `target`.
    ///
    /// The first round tries all charges on short walks.
    /// Many walks of a length that suits the problem find more than one long walk, so walks get longer only slowly, and every other one starts cool from the best.
    pub fn round(&mut self, moves: u64, target: Nanoseconds, budget: Budget<'_>) -> &Solution {
        if self.problem.operators.len() < 2 || self.problem.homes.len() < 2 {
            return &self.best;
        }
        let end = self.moves + moves;
        if self.moves == 0 {
            let count = self.charges.len();
            self.shortest = (moves / (2 * count as u64))
                .min(self.problem.operators.len() as u64 * SHORT)
                .max(1);
            for index in 0..count {
                self.walk(index, 0, self.shortest, target, budget);
            }
            self.charges.sort_by_key(|(reached, _)| *reached);
            for index in 0..2 {
                self.walk(index, 0, self.shortest * 3 / 2, target, budget);
            }
        }
        while self.moves < end && self.objective.makespan > target && !budget.should_stop() {
            self.charges.sort_by_key(|(reached, _)| *reached);
            let length = (self.shortest * 3)
                .max(self.moves / SHARE)
                .min(end - self.moves);
            self.is_cool = !self.is_cool;
            // Half of the walks take the best charge, half of the rest the next.
            let index = self.random.next().trailing_zeros() as usize % self.charges.len();
            let cool = if self.is_cool {
                COOL + self.random.index(COOL_RANGE) as u64
            } else {
                0
            };
            self.walk(index, cool, length, target, budget);
        }
        &self.best
    }

    /// The best of all rounds.
    pub fn best(&self) -> &Solution {
        &self.best
    }

    /// Makespan and energy of the best.
    pub fn objective(&self) -> Objective {
        self.objective
    }

    /// Takes up a solution that somebody else found, if it is better.
    pub fn offer(&mut self, solution: Solution) {
        let objective = schedule(self.problem, &solution).objective;
        if objective < self.objective {
            self.objective = objective;
            self.best = solution;
        }
    }

    /// Lets operators of the best go where they need less energy, as long as the makespan allows it.
    pub fn save_energy(&mut self, budget: Budget<'_>) {
        if self.problem.operators.len() < 2 || self.problem.homes.len() < 2 {
            return;
        }
        let mut state = State::new(&self.terrain, &self.best);
        let limit = self.objective.makespan.count();
        save_energy(self.problem, &mut state, limit, budget);
        self.offer(state.solution());
    }

    /// One walk with the charge at `index`, from the best.
    fn walk(
        &mut self,
        index: usize,
        cool: u64,
        moves: u64,
        target: Nanoseconds,
        budget: Budget<'_>,
    ) {
        let (reached, charge) = self.charges[index];
        let seed = self.random.next();
        let walk = Annealing::new(&self.terrain, &self.best, seed);
        let found = walk.walk(charge, cool, moves, target.count(), budget);
        self.moves += moves;
        let makespan = schedule(self.problem, &found).objective.makespan.count();
        self.charges[index].0 = reached.min(makespan);
        self.offer(found);
    }
}

impl std::fmt::Debug for Search<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Search")
            .field("objective", &self.objective)
            .field("moves", &self.moves)
            .finish_non_exhaustive()
    }
}
