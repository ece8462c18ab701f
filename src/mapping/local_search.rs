//! Annealing by exact insertion, for blocks that are too large to be solved.
//!
//! One operator is taken out and put back where a sampled insertion says; the makespan of every insertion is exact and costs constant time (after Mastrolilli and Gambardella, 2000).
//! Operators on a wrong processor cost nothing as long as another processor is the latest, so the energy of a state charges load by its price, less and less.
//! Between insertions, chains and pairs of operators change processors under the rule of Metropolis.
//! Seeded, and stopped by counted moves: the result is a function of the input.

use super::bounds::{PRICE_UNIT, load_prices};
use super::{Budget, Effort, Objective, Problem, Solution, schedule};

/// Weights of the load price, one run each: graphs bound by load want the large one, graphs bound by their longest path the small one.
const WEIGHTS: [f64; 3] = [0.3, 1.0, 3.0];
/// The temperature falls from 1.5% to about 0.01% of the makespan in this many steps.
const STEPS: u64 = 100;
const HOTTEST: f64 = 0.015;
const COOLING: f64 = 0.951;

/// A solution that is no worse than `start`, and uses the required processors if `start` does.
pub fn improve(
    problem: &Problem,
    start: &Solution,
    effort: Effort,
    budget: Budget<'_>,
) -> Solution {
    let moves = effort.moves() / WEIGHTS.len() as u64;
    let mut best = Best {
        objective: schedule(problem, start).objective,
        solution: start.clone(),
    };
    if problem.operators.len() < 2 || problem.homes.len() < 2 {
        return best.solution;
    }
    let prices = load_prices(problem);
    for (seed, weight) in WEIGHTS.into_iter().enumerate() {
        let mut annealing = Annealing {
            problem,
            prices: prices.iter().map(|&price| share(price)).collect(),
            random: Random(seed as u64 + 1),
            state: State::new(problem, start),
        };
        annealing.run(weight, moves, &mut best, budget);
    }
    save_energy(problem, &mut best, budget);
    best.solution
}

#[expect(clippy::cast_precision_loss, reason = "prices guide a search")]
fn share(price: u64) -> f64 {
    price as f64 / PRICE_UNIT as f64
}

struct Best {
    objective: Objective,
    solution: Solution,
}

/// Moves single operators as long as that saves energy and costs no time.
fn save_energy(problem: &Problem, best: &mut Best, budget: Budget<'_>) {
    for operator in 0..problem.operators.len() {
        for processor in 0..problem.homes.len() {
            if budget.should_stop() {
                return;
            }
            let is_possible = problem.operators[operator].times[processor].is_some()
                && may_leave(problem, &best.solution.processors, operator, processor);
            if !is_possible {
                continue;
            }
            let mut changed = best.solution.clone();
            changed.processors[operator] = processor;
            let objective = schedule(problem, &changed).objective;
            if objective < best.objective {
                *best = Best {
                    objective,
                    solution: changed,
                };
            }
        }
    }
}

/// Whether moving `operator` to `to` keeps every required processor in use.
fn may_leave(problem: &Problem, processors: &[usize], operator: usize, to: usize) -> bool {
    let from = processors[operator];
    from == to
        || problem.must_use & (1 << from) == 0
        || processors.iter().filter(|&&p| p == from).count() > 1
}

/// A complete mapping with its times.
#[derive(Clone)]
struct State {
    processors: Vec<usize>,
    /// Topological for arcs of the graph and of the sequences; the sequence of a processor is its part of this.
    order: Vec<usize>,
    /// Earliest end of each operator.
    ends: Vec<u64>,
    /// Longest path from the start of each operator to the end of the schedule.
    tails: Vec<u64>,
    makespan: u64,
}

impl State {
    fn new(problem: &Problem, solution: &Solution) -> Self {
        let mut state = Self {
            processors: solution.processors.clone(),
            order: solution.sequence.clone(),
            ends: vec![0; problem.operators.len()],
            tails: vec![0; problem.operators.len()],
            makespan: 0,
        };
        state.time(problem, None);
        state
    }

    fn solution(&self) -> Solution {
        Solution {
            processors: self.processors.clone(),
            sequence: self.order.clone(),
        }
    }

    /// Ends, tails and makespan; an operator that is taken out keeps its arcs and takes no time, nor do its transfers, and it has no place in a sequence.
    fn time(&mut self, problem: &Problem, out: Option<usize>) {
        let mut free = [0_u64; 16];
        self.makespan = 0;
        for &operator in &self.order {
            let processor = self.processors[operator];
            let is_out = out == Some(operator);
            let mut start = if is_out { 0 } else { free[processor] };
            for &tensor in &problem.operators[operator].reads {
                start = start.max(self.arrival(problem, tensor, processor, out, is_out));
            }
            let duration = if is_out {
                0
            } else {
                duration(problem, operator, processor)
            };
            let end = start.saturating_add(duration);
            self.ends[operator] = end;
            if !is_out {
                free[processor] = end;
                let home = end.saturating_add(way_home(problem, operator, processor));
                self.makespan = self.makespan.max(home);
            }
        }
        let mut next = [0_u64; 16];
        for &operator in self.order.iter().rev() {
            let processor = self.processors[operator];
            let is_out = out == Some(operator);
            let mut tail = if is_out {
                0
            } else {
                next[processor].max(way_home(problem, operator, processor))
            };
            for &tensor in &problem.operators[operator].writes {
                for &reader in &problem.tensors[tensor].readers {
                    let way = if is_out || out == Some(reader) {
                        0
                    } else {
                        move_time(problem, tensor, processor, self.processors[reader])
                    };
                    tail = tail.max(self.tails[reader].saturating_add(way));
                }
            }
            if is_out {
                self.tails[operator] = tail;
            } else {
                self.tails[operator] = tail.saturating_add(duration(problem, operator, processor));
                next[processor] = self.tails[operator];
            }
        }
    }

    fn arrival(
        &self,
        problem: &Problem,
        index: usize,
        processor: usize,
        out: Option<usize>,
        is_out: bool,
    ) -> u64 {
        let tensor = &problem.tensors[index];
        match tensor.producer {
            Some(producer) if is_out || out == Some(producer) => self.ends[producer],
            Some(producer) => self.ends[producer].saturating_add(move_time(
                problem,
                index,
                self.processors[producer],
                processor,
            )),
            None if is_out => 0,
            None => entry_time(problem, index, processor),
        }
    }
}

fn duration(problem: &Problem, operator: usize, processor: usize) -> u64 {
    problem.operators[operator].times[processor]
        .expect("operators are only placed where they are supported")
        .count()
}

fn move_time(problem: &Problem, tensor: usize, from: usize, to: usize) -> u64 {
    problem.tensors[tensor].moves[problem.homes[from]][problem.homes[to]]
        .map_or(0, |cost| cost.time.count())
}

fn entry_time(problem: &Problem, index: usize, processor: usize) -> u64 {
    let tensor = &problem.tensors[index];
    let home = problem.homes[processor];
    if tensor.is_held_for(home) {
        return 0;
    }
    tensor.moves[tensor.held[0]][home].map_or(0, |cost| cost.time.count())
}

fn way_home(problem: &Problem, operator: usize, processor: usize) -> u64 {
    problem.operators[operator]
        .writes
        .iter()
        .map(|&tensor| &problem.tensors[tensor])
        .filter(|tensor| tensor.to_io)
        .filter_map(|tensor| tensor.moves[problem.homes[processor]][problem.io])
        .map(|cost| cost.time.count())
        .max()
        .unwrap_or(0)
}

/// A place for an operator that is taken out.
#[derive(Clone, Copy)]
struct Insertion {
    processor: usize,
    /// How many operators of the processor stand before it.
    position: usize,
    energy: f64,
}

struct Annealing<'a> {
    problem: &'a Problem,
    prices: Vec<f64>,
    random: Random,
    state: State,
}

impl Annealing<'_> {
    #[expect(clippy::cast_precision_loss, reason = "temperatures guide a search")]
    fn run(&mut self, weight: f64, moves: u64, best: &mut Best, budget: Budget<'_>) {
        let scale = self.state.makespan as f64;
        let mut temperature = HOTTEST * scale;
        let each = (moves / STEPS).max(1);
        for step in 0..STEPS {
            if budget.should_stop() {
                return;
            }
            let remaining = 1.0 - step as f64 / STEPS as f64;
            let charge = weight * remaining.sqrt();
            for _ in 0..each {
                if self.random.below(10) < 4 {
                    self.exchange(charge, temperature);
                } else {
                    self.insert(charge, temperature);
                }
                self.remember(best);
            }
            temperature *= COOLING;
        }
    }

    fn remember(&self, best: &mut Best) {
        if self.state.makespan > best.objective.makespan.count() {
            return;
        }
        let solution = self.state.solution();
        let objective = schedule(self.problem, &solution).objective;
        if objective < best.objective {
            *best = Best {
                objective,
                solution,
            };
        }
    }

    /// Half of the time an operator on a longest path.
    fn choose(&mut self) -> usize {
        let state = &self.state;
        let count = state.order.len();
        if self.random.below(2) == 0 {
            let is_critical = |operator: usize| {
                let work = duration(self.problem, operator, state.processors[operator]);
                let start = state.ends[operator].saturating_sub(work);
                start.saturating_add(state.tails[operator]) >= state.makespan
            };
            let critical: Vec<usize> = (0..count).filter(|&v| is_critical(v)).collect();
            if !critical.is_empty() {
                return critical[self.random.index(critical.len())];
            }
        }
        self.random.index(count)
    }

    /// Takes an operator out and puts it back at a sampled place.
    fn insert(&mut self, charge: f64, temperature: f64) {
        let operator = self.choose();
        let before = self.state.clone();
        self.state.time(self.problem, Some(operator));
        let insertions = self.insertions(operator, charge);
        let least = insertions
            .iter()
            .map(|insertion| insertion.energy)
            .fold(f64::INFINITY, f64::min);
        let weights: Vec<f64> = insertions
            .iter()
            .map(|insertion| falling_exponential((insertion.energy - least) / temperature))
            .collect();
        let mut left = self.random.unit() * weights.iter().sum::<f64>();
        let chosen = weights.iter().position(|weight| {
            left -= weight;
            left <= 0.0
        });
        let chosen = insertions[chosen.unwrap_or(0)];
        self.state.processors[operator] = chosen.processor;
        match self.reordered(operator, chosen) {
            Some(order) => {
                self.state.order = order;
                self.state.time(self.problem, None);
            }
            None => self.state = before,
        }
    }

    /// Every place where `operator`, which is taken out, closes no cycle.
    #[expect(clippy::cast_precision_loss, reason = "energies guide a search")]
    fn insertions(&self, operator: usize, charge: f64) -> Vec<Insertion> {
        let (problem, state) = (self.problem, &self.state);
        let mut insertions = Vec::new();
        for processor in 0..problem.homes.len() {
            let is_possible = problem.operators[operator].times[processor].is_some()
                && may_leave(problem, &state.processors, operator, processor);
            if !is_possible {
                continue;
            }
            let sequence: Vec<usize> = state
                .order
                .iter()
                .copied()
                .filter(|&other| other != operator && state.processors[other] == processor)
                .collect();
            let ready = problem.operators[operator]
                .reads
                .iter()
                .map(|&tensor| state.arrival(problem, tensor, processor, None, false))
                .max()
                .unwrap_or(0);
            let rest = problem.operators[operator]
                .writes
                .iter()
                .flat_map(|&tensor| {
                    problem.tensors[tensor].readers.iter().map(move |&reader| {
                        let to = state.processors[reader];
                        move_time(problem, tensor, processor, to)
                            .saturating_add(state.tails[reader])
                    })
                })
                .max()
                .unwrap_or(0)
                .max(way_home(problem, operator, processor));
            let work = duration(problem, operator, processor);
            let price = charge * self.prices[processor] * work as f64;
            let left = sequence.partition_point(|&other| state.ends[other] <= state.ends[operator]);
            let right =
                sequence.partition_point(|&other| state.tails[other] > state.tails[operator]);
            for position in left.min(right)..=left.max(right) {
                let start = match position.checked_sub(1) {
                    Some(last) => ready.max(state.ends[sequence[last]]),
                    None => ready,
                };
                let tail = sequence
                    .get(position)
                    .map_or(rest, |&next| rest.max(state.tails[next]));
                let through = start.saturating_add(work).saturating_add(tail);
                insertions.push(Insertion {
                    processor,
                    position,
                    energy: through.max(state.makespan) as f64 + price,
                });
            }
        }
        insertions
    }

    /// The order with `operator` at its new place; `None` if operators without duration made that a cycle.
    fn reordered(&self, operator: usize, insertion: Insertion) -> Option<Vec<usize>> {
        let (problem, state) = (self.problem, &self.state);
        let mut next: Vec<Option<usize>> = vec![None; state.order.len()];
        let mut waits: Vec<u32> = vec![0; state.order.len()];
        let mut last = [None; 16];
        let mut link = |next: &mut [Option<usize>], waits: &mut [u32], processor: usize, v| {
            if let Some(before) = last[processor] {
                next[before] = Some(v);
                waits[v] += 1;
            }
            last[processor] = Some(v);
        };
        let mut passed = 0;
        for &other in &state.order {
            if other == operator {
                continue;
            }
            let processor = state.processors[other];
            if processor == insertion.processor {
                if passed == insertion.position {
                    link(&mut next, &mut waits, processor, operator);
                }
                passed += 1;
            }
            link(&mut next, &mut waits, processor, other);
        }
        if passed <= insertion.position {
            link(&mut next, &mut waits, insertion.processor, operator);
        }
        for (index, each) in problem.operators.iter().enumerate() {
            for &tensor in &each.reads {
                waits[index] += u32::from(problem.tensors[tensor].producer.is_some());
            }
        }
        // First come, first served, in the old order.
        let mut order: Vec<usize> = Vec::with_capacity(state.order.len());
        order.extend(state.order.iter().filter(|&&v| waits[v] == 0));
        let mut at = 0;
        while at < order.len() {
            let done = order[at];
            at += 1;
            let readers = problem.operators[done]
                .writes
                .iter()
                .flat_map(|&tensor| problem.tensors[tensor].readers.iter().copied());
            for follower in readers.chain(next[done]) {
                waits[follower] -= 1;
                if waits[follower] == 0 {
                    order.push(follower);
                }
            }
        }
        (order.len() == state.order.len()).then_some(order)
    }

    /// A chain of successive operators to one processor, or two operators to each other's, kept by the rule of Metropolis.
    fn exchange(&mut self, charge: f64, temperature: f64) {
        let before = self.state.clone();
        let first = self.choose();
        if self.random.below(2) == 0 {
            let processor = self.random.index(self.problem.homes.len());
            let mut operator = first;
            for _ in 0..2 + self.random.below(8) {
                self.state.processors[operator] = processor;
                let followers: Vec<usize> = self.problem.operators[operator]
                    .writes
                    .iter()
                    .flat_map(|&tensor| self.problem.tensors[tensor].readers.iter().copied())
                    .collect();
                if followers.is_empty() {
                    break;
                }
                operator = followers[self.random.index(followers.len())];
            }
        } else {
            let second = self.random.index(self.state.order.len());
            self.state.processors.swap(first, second);
        }
        if !self.is_valid() {
            self.state = before;
            return;
        }
        self.state.time(self.problem, None);
        let worse = self.energy(&self.state, charge) - self.energy(&before, charge);
        if worse > 0.0 && self.random.unit() >= falling_exponential(worse / temperature) {
            self.state = before;
        }
    }

    fn is_valid(&self) -> bool {
        let mut used = 0_u16;
        let supported = self
            .state
            .processors
            .iter()
            .enumerate()
            .all(|(operator, &p)| {
                used |= 1 << p;
                self.problem.operators[operator].times[p].is_some()
            });
        supported && self.problem.must_use & !used == 0
    }

    #[expect(clippy::cast_precision_loss, reason = "energies guide a search")]
    fn energy(&self, state: &State, charge: f64) -> f64 {
        let priced: f64 = state
            .processors
            .iter()
            .enumerate()
            .map(|(operator, &p)| self.prices[p] * duration(self.problem, operator, p) as f64)
            .sum();
        state.makespan as f64 + charge * priced
    }
}

/// About `e^-x` for `x ≥ 0`, by multiplications alone, so that it is the same on every machine.
fn falling_exponential(x: f64) -> f64 {
    let mut value = (1.0 - x / 256.0).max(0.0);
    for _ in 0..8 {
        value *= value;
    }
    value
}

/// `splitmix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn index(&mut self, end: usize) -> usize {
        usize::try_from(self.below(end as u64)).expect("below a size")
    }

    /// At least zero and below one.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::heft;
    use super::super::oracle::{
        Shape, arabnejad, brute_force_best, instance, random_problem, topcuoglu,
    };
    use super::*;

    #[test]
    fn published_optima_are_reached_from_heft() {
        for (problem, optimum) in [(topcuoglu(), 73), (arabnejad(), 113)] {
            let start = heft(&problem).unwrap();
            let solution = improve(&problem, &start, Effort::Thorough, Budget::UNLIMITED);
            let reached = schedule(&problem, &solution).objective.makespan.count();
            assert_eq!(reached, optimum);
        }
    }

    #[test]
    fn large_blocks_come_near_the_best_known() {
        for name in ["inc6_p3", "tf8_p3", "nas50_p3"] {
            let (problem, known) = instance(name);
            let start = heft(&problem).unwrap();
            let solution = improve(&problem, &start, Effort::Normal, Budget::UNLIMITED);
            let reached = schedule(&problem, &solution).objective.makespan.count();
            assert!(reached >= known);
            assert!(
                reached * 100 <= known * 110,
                "{name}: {reached}, known {known}"
            );
            let again = improve(&problem, &start, Effort::Normal, Budget::UNLIMITED);
            assert_eq!(solution, again);
        }
    }

    proptest! {
        #[test]
        fn local_search_is_between_its_start_and_the_optimum(seed: u64, operators in 1..6_usize, processors in 1..4_usize, mask in 0..8_u16) {
            let mut problem = random_problem(seed, Shape { operators, processors, joined: false });
            problem.must_use = mask & ((1 << processors) - 1);
            if let Some(start) = heft(&problem) {
                let solution = improve(&problem, &start, Effort::Quick, Budget::UNLIMITED);
                let objective = schedule(&problem, &solution).objective;
                prop_assert!(objective <= schedule(&problem, &start).objective);
                prop_assert!(objective >= brute_force_best(&problem).unwrap());
                let used = solution.processors.iter().fold(0_u16, |set, p| set | 1 << p);
                prop_assert_eq!(problem.must_use & !used, 0);
            }
        }
    }
}
