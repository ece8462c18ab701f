//! A whole problem as a series of blocks between its gates, without stages or pipelines.
//!
//! A gate is comparable with every other operator and nothing passes it, so blocks between gates do not overlap in time; where the gate's tensor lies is the state between them.
//! The shortest way through the (entry, exit) matrices of the blocks is the optimum where all blocks are solved, and the same product of their bounds is a bound where they are not.

use std::collections::BTreeMap;

use paracompile_plan::{Nanojoules, Nanoseconds};

use super::super::block::{BlockExit, BlockRequest, Methods, solve_block};
use super::super::frontier::Coverage;
use super::super::{Budget, Effort, Granularity, Objective, Operator, Problem, Solution, Tensor};
use super::stage_graph::cut_points;

/// A mapping of a whole problem with a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The mapping.
    pub solution: Solution,
    /// No mapping takes less.
    pub bound: Nanoseconds,
    /// How its blocks were solved.
    pub methods: Methods,
    /// How many blocks there are.
    pub blocks: usize,
}

/// Solves `problem` block by block.
///
/// `None` where processors must be used, which is a condition on all blocks together, or where there is no mapping.
pub fn series(
    problem: &Problem,
    effort: Effort,
    gap_millionths: u32,
    budget: Budget<'_>,
) -> Option<Series> {
    if problem.must_use != 0 {
        return None;
    }
    let ends = ends(problem);
    let start = Label {
        objective: Objective {
            makespan: Nanoseconds::ZERO,
            energy: Nanojoules::ZERO,
        },
        bound: Nanoseconds::ZERO,
        methods: Methods::default(),
        step: None,
    };
    let mut labels: BTreeMap<Option<usize>, Label> = BTreeMap::from([(None, start)]);
    let mut steps: Vec<Step> = Vec::new();
    let mut begin = 0;
    for &end in &ends {
        let mut next: BTreeMap<Option<usize>, Label> = BTreeMap::new();
        for (&place, label) in &labels {
            let (block, leaving) = part(problem, begin, end, place);
            let exits = solve_block(&BlockRequest {
                problem: &block,
                leaving: &leaving,
                coverage: Coverage::Required,
                branches: &[],
                granularity: Granularity::Auto,
                gap_millionths,
                effort,
                shared_by: 1,
                budget,
            });
            for exit in exits {
                let place = exit.holders.first().map(|holders| holders[0]);
                let objective = Objective {
                    makespan: label.objective.makespan + exit.objective.makespan,
                    energy: label.objective.energy + exit.objective.energy,
                };
                let bound = label.bound + exit.proof.bound(exit.objective.makespan);
                let candidate = Label {
                    objective,
                    bound,
                    methods: label.methods.with(exit.method),
                    step: Some(steps.len()),
                };
                steps.push(Step {
                    before: label.step,
                    begin,
                    exit,
                });
                match next.get_mut(&place) {
                    Some(old) => {
                        let bound = old.bound.min(candidate.bound);
                        if candidate.objective < old.objective {
                            *old = candidate;
                        }
                        old.bound = bound;
                    }
                    None => {
                        next.insert(place, candidate);
                    }
                }
            }
        }
        labels = next;
        begin = end;
    }
    let bound = labels.values().map(|label| label.bound).min()?;
    let best = labels.into_values().min_by_key(|label| label.objective)?;
    Some(Series {
        solution: solution(problem, &steps, best.step),
        bound,
        methods: best.methods,
        blocks: ends.len(),
    })
}

/// The best way to a place between two blocks.
#[derive(Clone, Copy)]
struct Label {
    objective: Objective,
    bound: Nanoseconds,
    methods: Methods,
    step: Option<usize>,
}

struct Step {
    before: Option<usize>,
    begin: usize,
    exit: BlockExit,
}

fn solution(problem: &Problem, steps: &[Step], last: Option<usize>) -> Solution {
    let mut processors = vec![0; problem.operators.len()];
    let mut blocks = Vec::new();
    let mut at = last;
    while let Some(index) = at {
        let step = &steps[index];
        for (offset, &processor) in step.exit.solution.processors.iter().enumerate() {
            processors[step.begin + offset] = processor;
        }
        blocks.push(step);
        at = step.before;
    }
    let sequence = blocks
        .into_iter()
        .rev()
        .flat_map(|step| {
            let sequence = step.exit.solution.sequence.iter();
            sequence.map(|offset| step.begin + offset)
        })
        .collect();
    Solution {
        processors,
        sequence,
    }
}

/// Positions behind gates, and the end.
fn ends(problem: &Problem) -> Vec<usize> {
    let positions: Vec<usize> = (0..=problem.operators.len()).collect();
    cut_points(problem, &positions)
        .into_iter()
        .filter(|cut| cut.separates && cut.position > 0)
        .map(|cut| cut.position)
        .collect()
}

/// The operators from `begin` to `end` with what enters held at `place`, and the tensors that leave.
fn part(
    problem: &Problem,
    begin: usize,
    end: usize,
    place: Option<usize>,
) -> (Problem, Vec<usize>) {
    let range = begin..end;
    let mut tensors: Vec<usize> = problem.operators[range.clone()]
        .iter()
        .flat_map(|operator| operator.reads.iter().chain(&operator.writes).copied())
        .collect();
    tensors.sort_unstable();
    tensors.dedup();
    let local = |tensor: &usize| {
        tensors
            .binary_search(tensor)
            .expect("the part holds every tensor that its operators touch")
    };
    let operators = problem.operators[range.clone()]
        .iter()
        .map(|operator| Operator {
            reads: operator.reads.iter().map(local).collect(),
            writes: operator.writes.iter().map(local).collect(),
            ..operator.clone()
        })
        .collect();
    let leaving = (0..tensors.len())
        .filter(|&index| {
            let readers = &problem.tensors[tensors[index]].readers;
            readers.iter().any(|&reader| reader >= end)
        })
        .collect();
    let tensors = tensors
        .iter()
        .map(|&index| {
            let tensor = &problem.tensors[index];
            let producer = tensor.producer.filter(|producer| range.contains(producer));
            let entered = producer.is_none() && tensor.producer.is_some();
            Tensor {
                producer: producer.map(|producer| producer - begin),
                held: if entered {
                    place.into_iter().collect()
                } else {
                    tensor.held.clone()
                },
                readers: tensor
                    .readers
                    .iter()
                    .filter(|reader| range.contains(reader))
                    .map(|reader| reader - begin)
                    .collect(),
                to_io: tensor.to_io,
                moves: tensor.moves.clone(),
            }
        })
        .collect();
    let block = Problem {
        homes: problem.homes.clone(),
        locations: problem.locations,
        io: problem.io,
        operators,
        tensors,
        must_use: 0,
    };
    (block, leaving)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::oracle::{brute_force_best, instance, random_series};
    use super::super::super::schedule;
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn blocks_in_series_have_the_optimum_of_the_whole(seed: u64, blocks in 1..4_usize, processors in 1..4_usize) {
            let whole = random_series(seed, blocks, processors);
            let optimum = brute_force_best(&whole);
            let found = series(&whole, Effort::Normal, 0, Budget::UNLIMITED);
            prop_assert_eq!(found.is_some(), optimum.is_some());
            if let (Some(found), Some(optimum)) = (found, optimum) {
                let makespan = schedule(&whole, &found.solution).objective.makespan;
                prop_assert_eq!(makespan, optimum.makespan);
                prop_assert_eq!(found.bound, optimum.makespan);
            }
        }
    }

    #[test]
    fn inception_is_solved_block_by_block() {
        let (problem, known) = instance("incv3_p3");
        let found = series(&problem, Effort::Quick, 0, Budget::UNLIMITED).unwrap();
        assert!(found.blocks > 20, "{} blocks", found.blocks);
        assert_eq!(found.bound.count(), known);
        assert_eq!(
            schedule(&problem, &found.solution)
                .objective
                .makespan
                .count(),
            known
        );
    }
}
