//! List scheduling: HEFT (Topcuoglu, Hariri and Wu, 2002) as a start for searches and as a baseline.
//!
//! Differences from the paper: a tensor is moved once for each destination (rule M3), an operator that writes a network output is judged with the way home, and processors that must be used get an operator at the end.
//! The other list schedulers (CPOP, PEFT) are baselines and not here.

use paracompile_plan::Nanoseconds;

use super::{Problem, Solution, schedule};

/// Fixed-point unit of ranks: means stay integers.
const RANK_UNIT: u128 = 1 << 10;

/// Earliest finish first, in the order of upward ranks, with insertion.
/// `None` if an operator runs nowhere, or no mapping uses every processor of [`Problem::must_use`].
pub fn heft(problem: &Problem) -> Option<Solution> {
    let order = by_upward_rank(problem)?;
    let mut timeline = Timeline::new(problem);
    for operator in order {
        timeline.place(operator);
    }
    let mut solution = timeline.into_solution();
    use_required(problem, &mut solution)?;
    Some(solution)
}

/// Everything on one processor, in index order; `None` if it does not support all, or others must be used.
pub fn single(problem: &Problem, processor: usize) -> Option<Solution> {
    let supported = problem
        .operators
        .iter()
        .all(|operator| operator.times[processor].is_some());
    let alone = problem.must_use & !(1 << processor) == 0;
    (supported && alone && (problem.must_use == 0 || !problem.operators.is_empty())).then(|| {
        Solution {
            processors: vec![processor; problem.operators.len()],
            sequence: (0..problem.operators.len()).collect(),
        }
    })
}

/// Gives every processor that must be used an operator, at the least cost that one change can have.
/// `None` if no mapping uses them all.
pub(super) fn use_required(problem: &Problem, solution: &mut Solution) -> Option<()> {
    for processor in 0..problem.homes.len() {
        if problem.must_use & (1 << processor) == 0 || solution.processors.contains(&processor) {
            continue;
        }
        let best = (0..problem.operators.len())
            .filter(|&operator| {
                problem.operators[operator].times[processor].is_some()
                    && can_leave(problem, solution, operator)
            })
            .min_by_key(|&operator| {
                let mut changed = solution.clone();
                changed.processors[operator] = processor;
                (schedule(problem, &changed).objective, operator)
            });
        match best {
            Some(operator) => solution.processors[operator] = processor,
            None => return match_required(problem, solution),
        }
    }
    Some(())
}

/// Whether the processor of `operator` is used without it too, or need not be.
fn can_leave(problem: &Problem, solution: &Solution, operator: usize) -> bool {
    let from = solution.processors[operator];
    problem.must_use & (1 << from) == 0
        || solution
            .processors
            .iter()
            .filter(|&&processor| processor == from)
            .count()
            > 1
}

/// An operator for each required processor by augmenting paths, where changing one operator does not do.
fn match_required(problem: &Problem, solution: &mut Solution) -> Option<()> {
    let required: Vec<usize> = (0..problem.homes.len())
        .filter(|processor| problem.must_use & (1 << processor) != 0)
        .collect();
    let mut owner: Vec<Option<usize>> = vec![None; problem.operators.len()];
    for &processor in &required {
        let mut seen = vec![false; problem.operators.len()];
        if !augment(problem, processor, &mut owner, &mut seen) {
            return None;
        }
    }
    for (operator, processor) in owner.iter().enumerate() {
        if let Some(processor) = *processor {
            solution.processors[operator] = processor;
        }
    }
    Some(())
}

/// Kuhn's step; its depth is at most the number of processors.
fn augment(
    problem: &Problem,
    processor: usize,
    owner: &mut [Option<usize>],
    seen: &mut [bool],
) -> bool {
    for operator in 0..owner.len() {
        if seen[operator] || problem.operators[operator].times[processor].is_none() {
            continue;
        }
        seen[operator] = true;
        let free = match owner[operator] {
            None => true,
            Some(other) => augment(problem, other, owner, seen),
        };
        if free {
            owner[operator] = Some(processor);
            return true;
        }
    }
    false
}

/// Operators by falling upward rank; ties keep the topological order.
fn by_upward_rank(problem: &Problem) -> Option<Vec<usize>> {
    let mut ranks = vec![0_u128; problem.operators.len()];
    for (index, operator) in problem.operators.iter().enumerate().rev() {
        let times: Vec<u128> = operator
            .times
            .iter()
            .flatten()
            .map(|time| u128::from(time.count()))
            .collect();
        let mean = mean(&times)?;
        let tail = operator
            .writes
            .iter()
            .flat_map(|&tensor| {
                problem.tensors[tensor]
                    .readers
                    .iter()
                    .map(move |&reader| (tensor, reader))
            })
            .map(|(tensor, reader)| mean_move(problem, tensor, index, reader) + ranks[reader])
            .max()
            .unwrap_or(0);
        ranks[index] = mean + tail;
    }
    let mut order: Vec<usize> = (0..problem.operators.len()).collect();
    order.sort_by_key(|&operator| (std::cmp::Reverse(ranks[operator]), operator));
    Some(order)
}

/// Mean in units of [`RANK_UNIT`]; `None` for no values.
fn mean(values: &[u128]) -> Option<u128> {
    let count = u128::try_from(values.len())
        .ok()
        .filter(|&count| count > 0)?;
    Some(values.iter().sum::<u128>() * RANK_UNIT / count)
}

/// Mean time of a move between different processors, as in the paper.
fn mean_move(problem: &Problem, tensor: usize, producer: usize, reader: usize) -> u128 {
    let processors = 0..problem.homes.len();
    let mut times = Vec::new();
    for from in processors.clone() {
        for to in processors.clone() {
            let possible = problem.operators[producer].times[from].is_some()
                && problem.operators[reader].times[to].is_some();
            if from != to && possible {
                let cost = problem.tensors[tensor].moves[problem.homes[from]][problem.homes[to]];
                times.push(cost.map_or(0, |cost| u128::from(cost.time.count())));
            }
        }
    }
    mean(&times).unwrap_or(0)
}

/// Busy intervals of each processor, by start.
struct Timeline<'a> {
    problem: &'a Problem,
    busy: Vec<Vec<(Nanoseconds, Nanoseconds, usize)>>,
    processors: Vec<usize>,
    ends: Vec<Nanoseconds>,
}

impl<'a> Timeline<'a> {
    fn new(problem: &'a Problem) -> Self {
        Self {
            problem,
            busy: vec![Vec::new(); problem.homes.len()],
            processors: vec![0; problem.operators.len()],
            ends: vec![Nanoseconds::ZERO; problem.operators.len()],
        }
    }

    fn place(&mut self, operator: usize) {
        let problem = self.problem;
        let (_, processor, start, duration) = problem.operators[operator]
            .times
            .iter()
            .enumerate()
            .filter_map(|(processor, time)| time.map(|time| (processor, time)))
            .map(|(processor, duration)| {
                let ready = self.ready(operator, processor);
                let start = self.gap(processor, ready, duration);
                let home = start + duration + self.way_home(operator, processor);
                (home, processor, start, duration)
            })
            .min()
            .expect("operators without a processor have no rank");
        let end = start + duration;
        let slots = &mut self.busy[processor];
        let at = slots.partition_point(|&slot| slot <= (start, end, operator));
        slots.insert(at, (start, end, operator));
        self.processors[operator] = processor;
        self.ends[operator] = end;
    }

    /// When everything that `operator` reads has arrived at `processor`.
    fn ready(&self, operator: usize, processor: usize) -> Nanoseconds {
        let home = self.problem.homes[processor];
        self.problem.operators[operator]
            .reads
            .iter()
            .map(|&index| {
                let tensor = &self.problem.tensors[index];
                let move_time = |from: usize| {
                    tensor.moves[from][home].map_or(Nanoseconds::ZERO, |cost| cost.time)
                };
                match tensor.producer {
                    Some(producer) => {
                        self.ends[producer]
                            + move_time(self.problem.homes[self.processors[producer]])
                    }
                    None if tensor.is_held_for(home) => Nanoseconds::ZERO,
                    None => move_time(tensor.held[0]),
                }
            })
            .max()
            .unwrap_or(Nanoseconds::ZERO)
    }

    /// The first start at or behind `ready` at which the processor is free for `duration`.
    fn gap(&self, processor: usize, ready: Nanoseconds, duration: Nanoseconds) -> Nanoseconds {
        let mut start = ready;
        for &(busy_from, busy_until, _) in &self.busy[processor] {
            if start + duration <= busy_from {
                break;
            }
            start = start.max(busy_until);
        }
        start
    }

    /// Time of the longest move of an output home.
    fn way_home(&self, operator: usize, processor: usize) -> Nanoseconds {
        let problem = self.problem;
        problem.operators[operator]
            .writes
            .iter()
            .map(|&tensor| &problem.tensors[tensor])
            .filter(|tensor| tensor.to_io)
            .filter_map(|tensor| tensor.moves[problem.homes[processor]][problem.io])
            .map(|cost| cost.time)
            .max()
            .unwrap_or(Nanoseconds::ZERO)
    }

    fn into_solution(self) -> Solution {
        let mut slots: Vec<_> = self.busy.into_iter().flatten().collect();
        // An operator without duration stands before what starts at the same time, and index order is topological.
        slots.sort_unstable();
        Solution {
            processors: self.processors,
            sequence: slots.into_iter().map(|(_, _, operator)| operator).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::oracle::{Shape, arabnejad, brute_force_best, random_problem, topcuoglu};
    use super::*;

    #[test]
    fn published_examples_give_the_published_makespans() {
        for (problem, makespan) in [(topcuoglu(), 80), (arabnejad(), 133)] {
            let solution = heft(&problem).unwrap();
            let reached = schedule(&problem, &solution).objective.makespan;
            assert_eq!(reached, Nanoseconds::new(makespan));
        }
    }

    #[test]
    fn required_processors_that_compete_are_matched() {
        // Processor 1 runs operator 0 only, so processor 0 must take operator 1.
        let mut problem = topcuoglu();
        problem.must_use = 0b11;
        for operator in 0..10 {
            problem.operators[operator].times[0] = None;
            if operator > 0 {
                problem.operators[operator].times[1] = None;
            }
        }
        problem.operators[0].times[0] = Some(Nanoseconds::new(1));
        assert_eq!(heft(&problem), None);
        problem.operators[1].times[0] = Some(Nanoseconds::new(1000));
        let solution = heft(&problem).unwrap();
        assert_eq!(solution.processors[..2], [1, 0]);
    }

    proptest! {
        #[test]
        fn heft_is_feasible_and_never_below_the_optimum(seed: u64, operators in 1..6_usize, processors in 1..4_usize, mask in 0..8_u16) {
            let mut problem = random_problem(seed, Shape { operators, processors, joined: false });
            problem.must_use = mask & ((1 << processors) - 1);
            let optimum = brute_force_best(&problem);
            let solution = heft(&problem);
            prop_assert_eq!(optimum.is_some(), solution.is_some());
            if let (Some(optimum), Some(solution)) = (optimum, solution) {
                prop_assert!(schedule(&problem, &solution).objective >= optimum);
                let used = solution.processors.iter().fold(0_u16, |set, p| set | 1 << p);
                prop_assert_eq!(problem.must_use & !used, 0);
            }
        }
    }
}
