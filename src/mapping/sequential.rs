//! One operator at a time: on one processor, or on the processor that makes the whole least.
//!
//! [`layer_switched`] is the sequential baseline of Para-Pipe (arXiv 2609.04168, "layer-switched provides a sequential baseline using all on-chip resources"), taken at its best: operators run one after another, each on the processor for which the sum of all execution and all moves is least.
//! That sum does not depend on the order, so a dynamic programme over the topological order finds the least one; its state is where the tensors are that are still to be read.
//! A mapping cannot say that processors wait for each other, so a plan of this mapping lets independent operators on different processors overlap (rule M5): it takes the sum or less.

use std::collections::HashMap;

use paracompile_plan::Nanoseconds;

use super::{Budget, Problem, Solution};

/// States that are kept behind an operator; beyond, the cheapest are kept and the sum is the best found.
const MOST_STATES: usize = 4_096;

/// How many of the cheapest states each other one is compared with.
const RIVALS: usize = 24;

/// A mapping whose operators run one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerSwitched {
    /// Processors, in index order.
    pub solution: Solution,
    /// Sum of all durations and of all moves.
    pub total: Nanoseconds,
    /// Whether no mapping has a smaller sum; false where states were dropped.
    pub is_least: bool,
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

/// The least sum of durations and moves; [`Problem::must_use`] is not asked.
/// `None` if an operator runs nowhere.
///
/// # Panics
/// If there are more than 64 locations: a chip has at most one a processor, and `io`.
pub fn layer_switched(problem: &Problem) -> Option<LayerSwitched> {
    layer_switched_within(problem, Budget::UNLIMITED)
}

/// The same; `None` also if the budget ends before.
///
/// # Panics
/// As [`layer_switched`].
pub fn layer_switched_within(problem: &Problem, budget: Budget<'_>) -> Option<LayerSwitched> {
    assert!(problem.locations <= 64, "a set of locations is one word");
    let last_reader: Vec<Option<usize>> = problem
        .tensors
        .iter()
        .map(|tensor| tensor.readers.last().copied())
        .collect();
    let mut live: Vec<usize> = (0..problem.tensors.len())
        .filter(|&index| problem.tensors[index].producer.is_none() && last_reader[index].is_some())
        .collect();
    let mut states = vec![State {
        places: live
            .iter()
            .map(|&tensor| Place::entering(&problem.tensors[tensor].held))
            .collect(),
        cost: 0,
        step: None,
    }];
    let mut steps: Vec<Step> = Vec::new();
    let mut is_least = true;
    for operator in 0..problem.operators.len() {
        if budget.should_stop() {
            return None;
        }
        let mut known: HashMap<Vec<Place>, usize> = HashMap::new();
        let mut next: Vec<State> = Vec::new();
        let kept: Vec<usize> = surviving(&live, &last_reader, operator);
        let written: Vec<usize> = problem.operators[operator]
            .writes
            .iter()
            .copied()
            .filter(|&tensor| last_reader[tensor].is_some())
            .collect();
        for state in &states {
            for processor in 0..problem.homes.len() {
                let Some((cost, places)) =
                    extended(problem, &live, state, operator, processor, &kept, &written)
                else {
                    continue;
                };
                let same = known.get(&places).copied();
                if same.is_some_and(|same| next[same].cost <= cost) {
                    continue;
                }
                steps.push(Step {
                    processor,
                    before: state.step,
                });
                let reached = State {
                    places,
                    cost,
                    step: Some(steps.len() - 1),
                };
                if let Some(same) = same {
                    next[same] = reached;
                } else {
                    known.insert(reached.places.clone(), next.len());
                    next.push(reached);
                }
            }
        }
        live = kept
            .iter()
            .map(|&index| live[index])
            .chain(written)
            .collect();
        // Costs tie often; the order in which states were reached decides, which is that of processors.
        next.sort_by_key(|state| state.cost);
        states = undominated(problem, &live, operator, next);
        is_least &= states.len() <= MOST_STATES;
        states.truncate(MOST_STATES);
    }
    let best = states.into_iter().next()?;
    let mut processors = Vec::with_capacity(problem.operators.len());
    let mut at = best.step;
    while let Some(step) = at {
        processors.push(steps[step].processor);
        at = steps[step].before;
    }
    processors.reverse();
    Some(LayerSwitched {
        solution: Solution {
            processors,
            sequence: (0..problem.operators.len()).collect(),
        },
        total: Nanoseconds::new(best.cost),
        is_least,
    })
}

/// Where a tensor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place {
    /// Where moves start.
    home: usize,
    /// Locations that it was moved to, as bits.
    copies: u64,
}

impl Place {
    fn entering(held: &[usize]) -> Self {
        Self {
            home: held[0],
            copies: held.iter().fold(0, |set, location| set | 1 << location),
        }
    }

    fn written(home: usize) -> Self {
        Self { home, copies: 0 }
    }

    /// What a reader at `to` waits for the move, or nothing if the tensor is there.
    fn missing(self, problem: &Problem, tensor: usize, to: usize) -> Option<u64> {
        if self.copies & (1 << to) != 0 {
            return None;
        }
        problem.tensors[tensor].moves[self.home][to].map(|cost| cost.time.count())
    }
}

/// The cheapest way to have the live tensors at these places.
#[derive(Clone, Debug)]
struct State {
    places: Vec<Place>,
    cost: u64,
    step: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    processor: usize,
    before: Option<usize>,
}

/// Indices into `live` of the tensors that are read behind `operator`.
fn surviving(live: &[usize], last_reader: &[Option<usize>], operator: usize) -> Vec<usize> {
    (0..live.len())
        .filter(|&index| last_reader[live[index]].is_some_and(|last| last > operator))
        .collect()
}

/// Cost and places behind `operator` on `processor`; `None` if that is not supported.
fn extended(
    problem: &Problem,
    live: &[usize],
    state: &State,
    operator: usize,
    processor: usize,
    kept: &[usize],
    written: &[usize],
) -> Option<(u64, Vec<Place>)> {
    let node = &problem.operators[operator];
    let duration = node.times[processor]?;
    let home = problem.homes[processor];
    let mut cost = state.cost + duration.count();
    let mut places = state.places.clone();
    for &tensor in &node.reads {
        let index = live
            .iter()
            .position(|&other| other == tensor)
            .expect("what is read is live");
        if let Some(time) = places[index].missing(problem, tensor, home) {
            cost += time;
            places[index].copies |= 1 << home;
        }
    }
    let mut places: Vec<Place> = kept.iter().map(|&index| places[index]).collect();
    for &tensor in &node.writes {
        let mut place = Place::written(home);
        if problem.tensors[tensor].to_io
            && let Some(time) = place.missing(problem, tensor, problem.io)
        {
            cost += time;
            place.copies |= 1 << problem.io;
        }
        if written.contains(&tensor) {
            places.push(place);
        }
    }
    Some((cost, places))
}

/// Without states that a cheaper one can imitate: whatever follows, it pays at most the moves that the other one has behind it.
fn undominated(
    problem: &Problem,
    live: &[usize],
    operator: usize,
    states: Vec<State>,
) -> Vec<State> {
    let wanted: Vec<u64> = live
        .iter()
        .map(|&tensor| places_of_readers(problem, tensor, operator))
        .collect();
    let mut kept: Vec<State> = Vec::new();
    for state in states {
        let imitated = kept.iter().take(RIVALS).any(|rival| {
            let extra: u64 = (0..live.len())
                .map(|index| {
                    extra_moves(
                        problem,
                        live[index],
                        wanted[index],
                        rival.places[index],
                        state.places[index],
                    )
                })
                .sum();
            rival.cost + extra <= state.cost
        });
        if !imitated {
            kept.push(state);
        }
    }
    kept
}

/// Locations where a tensor can be read behind `operator`, as bits.
fn places_of_readers(problem: &Problem, tensor: usize, operator: usize) -> u64 {
    problem.tensors[tensor]
        .readers
        .iter()
        .filter(|&&reader| reader > operator)
        .flat_map(|&reader| {
            problem.operators[reader]
                .times
                .iter()
                .zip(&problem.homes)
                .filter(|(time, _)| time.is_some())
                .map(|(_, &home)| home)
        })
        .fold(0, |set, home| set | 1 << home)
}

/// How much more `one` can pay than `other` for one tensor, wherever it is read.
fn extra_moves(problem: &Problem, tensor: usize, wanted: u64, one: Place, other: Place) -> u64 {
    if one == other {
        return 0;
    }
    (0..problem.locations)
        .filter(|location| wanted & (1 << location) != 0)
        .map(|location| {
            let one = one.missing(problem, tensor, location).unwrap_or(0);
            let other = other.missing(problem, tensor, location).unwrap_or(0);
            one.saturating_sub(other)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::oracle::{Shape, random_problem, topcuoglu};
    use super::super::schedule;
    use super::*;

    /// Sum of durations and moves, tensor by tensor.
    fn total(problem: &Problem, processors: &[usize]) -> u64 {
        let home = |operator: usize| problem.homes[processors[operator]];
        let mut total: u64 = (0..processors.len())
            .map(|operator| {
                let time = problem.operators[operator].times[processors[operator]];
                time.unwrap().count()
            })
            .sum();
        for tensor in &problem.tensors {
            let (from, copies) = match tensor.producer {
                Some(producer) => (home(producer), Vec::new()),
                None => (tensor.held[0], tensor.held.clone()),
            };
            let mut targets: Vec<usize> = tensor.readers.iter().map(|&r| home(r)).collect();
            if tensor.to_io && tensor.producer.is_some() {
                targets.push(problem.io);
            }
            targets.sort_unstable();
            targets.dedup();
            targets.retain(|target| !copies.contains(target));
            let times = targets.iter().filter_map(|&to| tensor.moves[from][to]);
            total += times.map(|cost| cost.time.count()).sum::<u64>();
        }
        total
    }

    /// The least sum over all mappings.
    fn least(problem: &Problem) -> u64 {
        let mut mappings: Vec<Vec<usize>> = vec![Vec::new()];
        for operator in &problem.operators {
            mappings = mappings
                .iter()
                .flat_map(|mapping| {
                    (0..problem.homes.len())
                        .filter(|&processor| operator.times[processor].is_some())
                        .map(|processor| [&mapping[..], &[processor]].concat())
                })
                .collect();
        }
        mappings
            .iter()
            .map(|mapping| total(problem, mapping))
            .min()
            .unwrap()
    }

    #[test]
    fn free_moves_leave_each_operator_its_fastest_processor() {
        let mut problem = topcuoglu();
        for tensor in &mut problem.tensors {
            for row in &mut tensor.moves {
                row.fill(None);
            }
        }
        let found = layer_switched(&problem).unwrap();
        // The least of each row of the table of the paper.
        let fastest = 9 + 13 + 11 + 8 + 10 + 9 + 7 + 5 + 12 + 7;
        assert_eq!(found.total, Nanoseconds::new(fastest));
        assert!(found.is_least);
    }

    #[test]
    fn an_operator_that_runs_nowhere_has_no_mapping() {
        let mut problem = topcuoglu();
        problem.operators[4].times.fill(None);
        assert_eq!(layer_switched(&problem), None);
    }

    proptest! {
        #[test]
        fn no_mapping_has_a_smaller_sum_and_the_plan_takes_no_longer(
            seed: u64,
            operators in 1..8_usize,
            processors in 1..4_usize,
            joined: bool,
        ) {
            let problem = random_problem(seed, Shape { operators, processors, joined });
            let found = layer_switched(&problem).unwrap();
            prop_assert!(found.is_least);
            prop_assert_eq!(found.total.count(), total(&problem, &found.solution.processors));
            prop_assert_eq!(found.total.count(), least(&problem));
            let reached = schedule(&problem, &found.solution).objective.makespan;
            prop_assert!(reached <= found.total);
        }
    }
}
