//! The walk: insertions sampled by their makespan, and exchanges under the rule of Metropolis.

use super::super::{Budget, Solution};
use super::charge::Charge;
use super::insertions::Insertion;
use super::random::{Random, falling_exponential, falling_logarithm};
use super::state::State;
use super::terrain::{NEVER, Terrain, index};

/// The temperature falls from 1.5% to about 0.01% of the makespan in this many steps.
pub(super) const STEPS: u64 = 100;
const HOTTEST: f64 = 0.015;
const COOLING: f64 = 0.951;
/// Insertions that are worse than the best by so many temperatures are not drawn: all of them together have less than one chance in thousands.
const HOPELESS: f64 = 14.0;
/// How often a critical operator is looked for by drawing before another one is taken.
const TRIES: u32 = 12;
/// Of ten moves, so many are exchanges.
const EXCHANGES: usize = 4;

pub(super) struct Annealing<'a> {
    terrain: &'a Terrain,
    state: State<'a>,
    random: Random,
    /// How much load costs against time.
    charge: f64,
    temperature: f64,
    /// The least makespan on this walk, and who reached it.
    least: u64,
    best: Solution,
    insertions: Vec<Insertion>,
    weights: Vec<f64>,
    changes: Vec<(u32, u32)>,
}

impl<'a> Annealing<'a> {
    pub(super) fn new(terrain: &'a Terrain, start: &Solution, seed: u64) -> Self {
        let state = State::new(terrain, start);
        Self {
            least: state.makespan,
            best: start.clone(),
            terrain,
            state,
            random: Random::new(seed),
            charge: 0.0,
            temperature: 0.0,
            insertions: Vec::new(),
            weights: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// The best solution of a walk of `moves` moves, as cool at its start as others are after `cool` steps; it ends early at the makespan `target`.
    #[expect(clippy::cast_precision_loss, reason = "temperatures guide a search")]
    pub(super) fn walk(
        mut self,
        charge: Charge,
        cool: u64,
        moves: u64,
        target: u64,
        budget: Budget<'_>,
    ) -> Solution {
        self.temperature = HOTTEST * self.state.makespan as f64;
        for _ in 0..cool {
            self.temperature *= COOLING;
        }
        let steps = STEPS - cool;
        for step in 0..steps {
            if budget.should_stop() || self.least <= target {
                break;
            }
            self.charge = charge.at(1.0 - (cool + step) as f64 / STEPS as f64);
            // Whole moves, so that any number of them is spread evenly.
            for _ in moves * step / steps..moves * (step + 1) / steps {
                if self.random.index(10) < EXCHANGES {
                    self.exchange();
                } else {
                    self.insert();
                }
                if self.state.makespan < self.least {
                    self.least = self.state.makespan;
                    self.state.copy_to(&mut self.best);
                }
            }
            self.temperature *= COOLING;
        }
        self.best
    }

    /// Half of the time an operator on a longest path.
    fn choose(&mut self) -> usize {
        let count = self.terrain.operators;
        let mut operator = self.random.index(2 * count);
        if operator < count {
            return operator;
        }
        for _ in 0..TRIES {
            operator = self.random.index(count);
            if self.state.is_critical(operator) {
                break;
            }
        }
        operator
    }

    /// Puts an operator at a sampled place.
    fn insert(&mut self) {
        let operator = self.choose();
        self.state.insertions(operator, &mut self.insertions);
        let chosen = self.sample(operator);
        if !self.state.is_at(operator, chosen) {
            self.state.insert(operator, chosen);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "energies guide a search")]
    fn sample(&mut self, operator: usize) -> Insertion {
        let mut least = f64::INFINITY;
        self.weights.clear();
        for insertion in &self.insertions {
            let priced = self.terrain.priced(operator, insertion.processor as usize);
            let energy = insertion.makespan as f64 + self.charge * priced;
            least = least.min(energy);
            self.weights.push(energy);
        }
        let limit = least + HOPELESS * self.temperature;
        let mut sum = 0.0;
        for weight in &mut self.weights {
            *weight = if *weight <= limit {
                falling_exponential((*weight - least) / self.temperature)
            } else {
                0.0
            };
            sum += *weight;
        }
        let mut left = self.random.unit() * sum;
        let mut drawn = 0;
        for (index, &share) in self.weights.iter().enumerate() {
            if share > 0.0 {
                drawn = index;
                left -= share;
                if left < 0.0 {
                    break;
                }
            }
        }
        self.insertions[drawn]
    }

    /// A chain of successive operators to one processor, or two operators to each other's, kept by the rule of Metropolis.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "energies guide a search"
    )]
    fn exchange(&mut self) {
        self.changes.clear();
        self.draw_changes();
        if self.changes.is_empty() {
            return;
        }
        let mut price = 0.0;
        for &(operator, to) in &self.changes {
            let from = self.state.processor(operator as usize);
            price += self.terrain.priced(operator as usize, to as usize)
                - self.terrain.priced(operator as usize, from);
        }
        let slack = self.temperature * falling_logarithm(self.random.unit());
        let limit = self.state.makespan as f64 + slack - self.charge * price;
        if limit >= 0.0 {
            self.state.shift_all(&mut self.changes, limit as u64);
        }
    }

    /// Operators and the processors they are to go to, all of which support them.
    fn draw_changes(&mut self) {
        let first = self.choose();
        if self.random.index(2) == 0 {
            let processor = self.random.index(self.terrain.processors);
            let mut operator = first;
            for _ in 0..2 + self.random.index(8) {
                if self.terrain.time(operator, processor) == NEVER {
                    break;
                }
                if self.state.processor(operator) != processor {
                    self.changes.push((index(operator), index(processor)));
                }
                let followers = self.terrain.outgoing(operator);
                if followers.is_empty() {
                    break;
                }
                operator = followers[self.random.index(followers.len())].other as usize;
            }
        } else {
            let second = self.random.index(self.terrain.operators);
            let (a, b) = (self.state.processor(first), self.state.processor(second));
            let is_possible =
                self.terrain.time(first, b) != NEVER && self.terrain.time(second, a) != NEVER;
            if a != b && is_possible {
                self.changes.push((index(first), index(b)));
                self.changes.push((index(second), index(a)));
            }
        }
    }
}
