//! Coarse mappings against enumeration over branches, and by hand where branches nest.

use std::num::NonZeroU32;

use paracompile_plan::Nanoseconds;
use proptest::prelude::*;

use super::*;
use crate::mapping::Problem;
use crate::mapping::enumeration::{evaluate, from_edges, instance, seeded, small_problem};
use crate::milp::Limits;

const MANY: Limits<'static> = Limits::counted(NonZeroU32::MAX);

fn branch(ops: &[usize]) -> CoarseBranch {
    CoarseBranch {
        ops: ops.to_vec(),
        nested: Vec::new(),
    }
}

/// The same time on each processor, and moves of one between any two.
fn uniform(times: &[u64], processors: usize, edges: &[(usize, usize)]) -> Problem {
    let apart: Vec<Vec<u64>> = (0..processors)
        .map(|a| (0..processors).map(|b| u64::from(a != b)).collect())
        .collect();
    let times: Vec<Vec<u64>> = times.iter().map(|&time| vec![time; processors]).collect();
    from_edges(&times, edges, &vec![apart; edges.len()])
}

/// A gate, a branch that forks inside (1: fork, 2 and 3: nested, 4: join), a short branch (5), and a gate.
fn block_with_nested_branches(processors: usize) -> (Problem, Vec<CoarseBranch>) {
    let problem = uniform(
        &[1, 1, 10, 10, 1, 5, 1],
        processors,
        &[
            (0, 1),
            (1, 2),
            (1, 3),
            (2, 4),
            (3, 4),
            (0, 5),
            (4, 6),
            (5, 6),
        ],
    );
    let forked = CoarseBranch {
        ops: vec![1, 2, 3, 4],
        nested: vec![branch(&[2]), branch(&[3])],
    };
    (problem, vec![forked, branch(&[5])])
}

#[test]
fn a_nested_branch_goes_to_a_processor_left_free() {
    let (problem, branches) = block_with_nested_branches(3);
    let outcome = solve(&problem, &branches, &MANY).unwrap();
    // Outer level: gates and the forked branch on one processor, 1 + 22 + 1.
    assert_eq!(outcome.coarse_makespan, Nanoseconds::new(24));
    assert_eq!(outcome.coarse_bound, Nanoseconds::new(24));
    assert!(outcome.proven);
    // One nested branch moves away: 1 + 1 + (1 + 10 + 1) + 1 + 1.
    assert_eq!(outcome.objective.makespan, Nanoseconds::new(16));
    let on = &outcome.solution.processors;
    assert_ne!(on[2], on[3]);
    assert_eq!(on[1], on[4]);
    assert!(on[5] != on[2] && on[5] != on[3]);
}

#[test]
fn nested_branches_stay_where_no_processor_is_free() {
    let (problem, branches) = block_with_nested_branches(2);
    let outcome = solve(&problem, &branches, &MANY).unwrap();
    assert_eq!(outcome.objective.makespan, Nanoseconds::new(24));
    let on = &outcome.solution.processors;
    assert!(on[1..=4].iter().all(|processor| *processor == on[1]));
}

#[test]
fn branches_on_one_processor_run_one_after_another() {
    let times = uniform(
        &[1, 4, 4, 4, 4, 1],
        1,
        &[(0, 1), (1, 2), (0, 3), (3, 4), (2, 5), (4, 5)],
    );
    let outcome = solve(&times, &[branch(&[1, 2]), branch(&[3, 4])], &MANY).unwrap();
    assert_eq!(outcome.objective.makespan, Nanoseconds::new(18));
    let place = |operator: usize| {
        outcome
            .solution
            .sequence
            .iter()
            .position(|&it| it == operator)
            .unwrap()
    };
    assert_eq!(place(1) + 1, place(2));
    assert_eq!(place(3) + 1, place(4));
}

#[test]
fn operators_need_not_wait_for_inputs_of_later_ones_in_their_branch() {
    // Branch {1, 3}: only operator 3 reads the slow operator 2.
    let problem = uniform(&[1, 6, 9, 1], 2, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
    let outcome = solve(&problem, &[branch(&[1, 3])], &MANY).unwrap();
    // As one task {1, 3} waits for 2, so everything on one processor is best: 17.
    assert_eq!(outcome.coarse_makespan, Nanoseconds::new(17));
    assert!(outcome.objective.makespan <= outcome.coarse_makespan);
}

#[test]
fn whole_branches_of_a_wide_block_are_no_faster_than_its_operators() {
    let (problem, optimum) = instance(include_str!("../../../solver_tests/instances/inc6_p3.json"));
    let branches = [
        branch(&[1]),
        branch(&[2, 3]),
        branch(&[4, 5, 6]),
        branch(&[7, 8, 9, 10]),
        branch(&[11, 12, 13]),
        branch(&[14, 15]),
    ];
    let outcome = solve(&problem, &branches, &MANY).unwrap();
    assert!(outcome.proven);
    assert!(outcome.objective.makespan <= outcome.coarse_makespan);
    assert!(outcome.objective.makespan.count() >= optimum);
    let tasks = contract(&problem, &branches.map(|branch| branch.ops)).unwrap();
    assert_eq!(tasks.problem.operators.len(), 8);
    assert_eq!(
        Some(outcome.coarse_makespan.count()),
        shortest_of_branches(&tasks.problem)
    );
}

/// Source, parallel branches and sink on three processors: all assignments and, on each processor, all orders of its branches.
fn shortest_of_branches(problem: &Problem) -> Option<u64> {
    let count = problem.operators.len();
    let time = |task: usize, p: usize| problem.operators[task].times[p].unwrap().count();
    let cost = |tensor: usize, a: usize, b: usize| {
        problem.tensors[tensor].moves[a][b].map_or(0, |cost| cost.time.count())
    };
    let between = |from: usize, to: usize| {
        (0..problem.tensors.len()).filter(move |&tensor| {
            problem.tensors[tensor].producer == Some(from)
                && problem.tensors[tensor].readers.contains(&to)
        })
    };
    (0..3_usize.pow(u32::try_from(count).unwrap()))
        .map(|code| {
            let on: Vec<usize> = (0..count)
                .map(|task| code / 3_usize.pow(u32::try_from(task).unwrap()) % 3)
                .collect();
            let source_end = time(0, on[0]);
            let mut join = 0;
            for processor in 0..3 {
                let mine: Vec<usize> = (1..count - 1)
                    .filter(|&task| on[task] == processor)
                    .collect();
                // All orders of the branches on this processor; what they delay is the join.
                let arrival = permutations(&mine)
                    .into_iter()
                    .map(|order| {
                        let mut now = if on[0] == processor { source_end } else { 0 };
                        let mut latest = 0;
                        for task in order {
                            for tensor in between(0, task) {
                                now = now.max(source_end + cost(tensor, on[0], processor));
                            }
                            now += time(task, processor);
                            for tensor in between(task, count - 1) {
                                latest = latest.max(now + cost(tensor, processor, on[count - 1]));
                            }
                        }
                        latest.max(now * u64::from(on[count - 1] == processor))
                    })
                    .min()
                    .unwrap_or(0);
                join = join.max(arrival);
            }
            join + time(count - 1, on[count - 1])
        })
        .min()
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for _ in items {
        orders = orders
            .into_iter()
            .flat_map(|order: Vec<usize>| {
                items
                    .iter()
                    .filter(|item| !order.contains(item))
                    .map(|&item| [order.as_slice(), &[item]].concat())
                    .collect::<Vec<_>>()
            })
            .collect();
    }
    orders
}

#[test]
fn required_processors_may_be_covered_by_nested_branches() {
    let (mut problem, _) = block_with_nested_branches(3);
    problem.must_use = 0b111;
    let everything = CoarseBranch {
        ops: (0..7).collect(),
        nested: vec![branch(&[2]), branch(&[3]), branch(&[5])],
    };
    let outcome = solve(&problem, &[everything], &MANY).unwrap();
    for processor in 0..3 {
        assert!(outcome.solution.processors.contains(&processor));
    }
    let whole = branch(&[0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(
        solve(&problem, &[whole], &MANY),
        Err(CoarseError::Uncovered)
    );
}

#[test]
fn branches_that_are_none_are_refused_by_name() {
    let (mut problem, _) = block_with_nested_branches(2);
    let refuse = |branches: &[CoarseBranch]| solve(&problem, branches, &MANY).unwrap_err();
    assert_eq!(
        refuse(&[branch(&[1, 2]), branch(&[2, 3])]),
        CoarseError::Overlap { operator: 2 }
    );
    assert_eq!(
        refuse(&[branch(&[1, 99])]),
        CoarseError::UnknownOperator {
            first: 1,
            operator: 99,
            operators: 7
        }
    );
    assert!(matches!(
        refuse(&[branch(&[1, 4])]),
        CoarseError::NotConvex { .. }
    ));
    let stray = CoarseBranch {
        ops: vec![1, 2, 3, 4],
        nested: vec![branch(&[5])],
    };
    assert_eq!(
        solve(&block_with_nested_branches(3).0, &[stray], &MANY),
        Err(CoarseError::Overlap { operator: 5 })
    );
    problem.operators[1].times[0] = None;
    problem.operators[2].times[1] = None;
    assert_eq!(
        solve(&problem, &[branch(&[1, 2])], &MANY),
        Err(CoarseError::NoProcessor {
            first: 1,
            operators: 2
        })
    );
}

/// Tasks in order, processor and end of each, and the makespan so far.
type Partial = (Vec<usize>, Vec<Option<(usize, u64)>>, u64);

/// The shortest schedule of tasks, each on one processor, over all assignments and orders; written for tasks and from the text of the model.
fn enumerate_tasks(problem: &Problem, tasks: &[Vec<usize>]) -> Option<u64> {
    let task_of = |operator: usize| {
        tasks
            .iter()
            .position(|task| task.contains(&operator))
            .unwrap()
    };
    let mut partial: Vec<Partial> = vec![(Vec::new(), vec![None; tasks.len()], 0)];
    for _ in tasks {
        let mut longer = Vec::new();
        for (done, placed, makespan) in &partial {
            for next in (0..tasks.len()).filter(|next| !done.contains(next)) {
                for processor in 0..problem.homes.len() {
                    let home = problem.homes[processor];
                    let mut start = done
                        .iter()
                        .filter_map(|&task| placed[task])
                        .filter(|&(on, _)| on == processor)
                        .map(|(_, end)| end)
                        .max()
                        .unwrap_or(0);
                    let mut is_possible = true;
                    for &operator in &tasks[next] {
                        is_possible &= problem.operators[operator].times[processor].is_some();
                        for &tensor in &problem.operators[operator].reads {
                            let facts = &problem.tensors[tensor];
                            let cost =
                                |a: usize| facts.moves[a][home].map_or(0, |cost| cost.time.count());
                            match facts.producer.map(task_of) {
                                Some(task) if task == next => {}
                                Some(task) => match placed[task] {
                                    Some((on, end)) => {
                                        start = start.max(end + cost(problem.homes[on]));
                                    }
                                    None => is_possible = false,
                                },
                                None => {
                                    let fits = facts.moves[facts.held[0]][home].is_none();
                                    if !fits && !facts.held.contains(&home) {
                                        start = start.max(cost(facts.held[0]));
                                    }
                                }
                            }
                        }
                    }
                    if !is_possible {
                        continue;
                    }
                    let time: u64 = tasks[next]
                        .iter()
                        .map(|&it| problem.operators[it].times[processor].unwrap().count())
                        .sum();
                    let end = start + time;
                    let leaving = tasks[next]
                        .iter()
                        .flat_map(|&it| &problem.operators[it].writes)
                        .filter(|&&tensor| problem.tensors[tensor].to_io)
                        .map(|&tensor| {
                            problem.tensors[tensor].moves[home][problem.io]
                                .map_or(0, |cost| cost.time.count())
                        })
                        .max()
                        .unwrap_or(0);
                    let mut done = done.clone();
                    done.push(next);
                    let mut placed = placed.clone();
                    placed[next] = Some((processor, end));
                    longer.push((done, placed, (*makespan).max(end + leaving)));
                }
            }
        }
        partial = longer;
    }
    partial
        .iter()
        .filter(|(_, placed, _)| {
            (0..problem.homes.len()).all(|p| {
                problem.must_use >> p & 1 == 0 || placed.iter().flatten().any(|&(on, _)| on == p)
            })
        })
        .map(|&(_, _, makespan)| makespan)
        .min()
}

proptest! {
    #![proptest_config(seeded(80))]

    #[test]
    fn the_outer_level_is_what_enumeration_over_branches_finds(
        problem in small_problem(),
        first in 0_usize..4,
        length in 2_usize..4,
    ) {
        // A run of consecutive operators is convex where it is connected to nothing that comes back; the others are refused.
        let end = (first + length).min(problem.operators.len());
        let group: Vec<usize> = (first.min(end)..end).collect();
        let branches = [branch(&group)];
        match contract(&problem, std::slice::from_ref(&group)) {
            Err(error) => {
                let is_refusal = matches!(
                    error,
                    CoarseError::NoProcessor { .. } | CoarseError::NotConvex { .. }
                );
                prop_assert!(is_refusal);
            }
            Ok(contraction) => {
                let expected = enumerate_tasks(&problem, &contraction.tasks);
                match solve(&problem, &branches, &MANY) {
                    Ok(outcome) => {
                        prop_assert_eq!(Some(outcome.coarse_makespan.count()), expected);
                        prop_assert!(outcome.proven);
                        let on = &outcome.solution.processors;
                        prop_assert!(group.iter().all(|&it| on[it] == on[group[0]]));
                        let (makespan, energy) = evaluate(&problem, on, &outcome.solution.sequence);
                        prop_assert_eq!(outcome.objective.makespan.count(), makespan);
                        prop_assert_eq!(outcome.objective.energy.count(), energy);
                        prop_assert!(makespan <= outcome.coarse_makespan.count());
                    }
                    Err(error) => {
                        prop_assert_eq!(error, CoarseError::Uncovered);
                        prop_assert_eq!(expected, None);
                    }
                }
            }
        }
    }
}
