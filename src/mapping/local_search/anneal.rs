//! The walk: insertions sampled by their makespan, and exchanges under the rule of Metropolis.

use super::super::{Budget, Solution};
use super::random::{Random, falling_exponential, falling_logarithm};
use super::state::{Insertion, State};
use super::terrain::{NEVER, Terrain};

/// The temperature falls from 1.5% to about 0.01% of the makespan in this many steps.
const STEPS: u64 = 100;
const HOTTEST: f64 = 0.015;
const COOLING: f64 = 0.951;
/// Insertions that are worse than the best by so many temperatures are not drawn: all of them together have less than one chance in thousands.
const HOPELESS: f64 = 14.0;
/// How often a critical operator is looked for by drawing before another one is taken.
const TRIES: u32 = 12;

pub(super) struct Annealing<'a> {
    terrain: &'a Terrain,
    state: State<'a>,
    random: Random,
    /// How much load costs against time.
    charge: f64,
    temperature: f64,
    /// Processors and order with the least makespan on this walk.
    least: u64,
    processors: Vec<usize>,
    order: Vec<usize>,
    insertions: Vec<Insertion>,
    weights: Vec<f64>,
    changes: Vec<(usize, usize)>,
}

impl<'a> Annealing<'a> {
    pub(super) fn new(terrain: &'a Terrain, start: &Solution, seed: u64) -> Self {
        let state = State::new(terrain, start);
        Self {
            least: state.makespan,
            processors: state.processors.clone(),
            order: state.order.clone(),
            terrain,
            state,
            random: Random(seed),
            charge: 0.0,
            temperature: 0.0,
            insertions: Vec::new(),
            weights: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// The best solution of a walk of `moves` moves.
    #[expect(clippy::cast_precision_loss, reason = "temperatures guide a search")]
    pub(super) fn walk(mut self, weight: f64, moves: u64, budget: Budget<'_>) -> Solution {
        self.temperature = HOTTEST * self.state.makespan as f64;
        for step in 0..STEPS {
            if budget.should_stop() {
                break;
            }
            let remaining = 1.0 - step as f64 / STEPS as f64;
            self.charge = weight * remaining.sqrt();
            // Whole moves, so that any number of them is spread evenly.
            for _ in moves * step / STEPS..moves * (step + 1) / STEPS {
                if self.random.index(10) < 4 {
                    self.exchange();
                } else {
                    self.insert();
                }
                if self.state.makespan < self.least {
                    self.least = self.state.makespan;
                    self.processors.copy_from_slice(&self.state.processors);
                    self.order.copy_from_slice(&self.state.order);
                }
            }
            self.temperature *= COOLING;
        }
        Solution {
            processors: self.processors,
            sequence: self.order,
        }
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

    /// Takes an operator out and puts it back at a sampled place.
    fn insert(&mut self) {
        let operator = self.choose();
        let makespan = self.state.makespan;
        let (processor, position) = self.state.take_out(operator);
        self.state
            .insertions(operator, processor, &mut self.insertions);
        let chosen = self.sample(operator);
        let is_old = (chosen.processor, chosen.position) == (processor, position);
        if is_old || !self.state.put(operator, chosen.processor, chosen.position) {
            self.state.put_back(operator, processor, position);
            self.state.makespan = makespan;
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "energies guide a search")]
    fn sample(&mut self, operator: usize) -> Insertion {
        let mut least = f64::INFINITY;
        self.weights.clear();
        for insertion in &self.insertions {
            let price = self.charge * self.terrain.priced(operator, insertion.processor);
            let energy = insertion.makespan as f64 + price;
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
        let makespan = self.state.makespan;
        self.state.begin();
        let mut price = 0.0;
        let mut done = 0;
        for index in 0..self.changes.len() {
            let (operator, to) = self.changes[index];
            let from = self.state.processors[operator];
            self.changes[index].1 = from;
            done = index + 1;
            price += self.terrain.priced(operator, to) - self.terrain.priced(operator, from);
            self.state.shift(operator, to);
        }
        let is_complete = (0..self.terrain.processors).all(|processor| {
            self.terrain.must_use & (1 << processor) == 0
                || !self.state.sequences[processor].is_empty()
        });
        let slack = self.temperature * falling_logarithm(self.random.unit());
        let limit = makespan as f64 + slack - self.charge * price;
        if done > 0 && is_complete && limit >= 0.0 && self.state.raise(limit as u64) {
            self.state.lower();
            return;
        }
        for &(operator, from) in self.changes[..done].iter().rev() {
            self.state.shift(operator, from);
        }
        self.state.restore();
        self.state.makespan = makespan;
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
                if self.state.processors[operator] != processor {
                    self.changes.push((operator, processor));
                }
                let followers = self.terrain.outgoing(operator);
                if followers.is_empty() {
                    break;
                }
                operator = followers[self.random.index(followers.len())].other;
            }
        } else {
            let second = self.random.index(self.terrain.operators);
            let (a, b) = (self.state.processors[first], self.state.processors[second]);
            let is_possible =
                self.terrain.time(first, b) != NEVER && self.terrain.time(second, a) != NEVER;
            if a != b && is_possible {
                self.changes.push((first, b));
                self.changes.push((second, a));
            }
        }
    }
}
