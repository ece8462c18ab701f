//! The formulations against each other, against enumeration, and against optima from the literature.

use std::num::NonZeroU32;

use paracompile_frontend::cost::Move;
use paracompile_plan::{Nanojoules, Nanoseconds};
use proptest::prelude::*;
use serde::Deserialize;

use super::order;
use super::plain;
use super::plant::plant;
use super::precedence::Precedence;
use super::statement::Statement;
use super::windows::Windows;
use super::*;
use crate::mapping::coarse::earliest_finish;
use crate::mapping::{Operator, Problem, Solution, Tensor, schedule};
use crate::milp::{Limits, Remaining, Watch};

const MANY: Limits<'static> = Limits::counted(NonZeroU32::MAX);

#[derive(Deserialize)]
struct Instance {
    m: usize,
    n: usize,
    t: Vec<Vec<u64>>,
    edges: Vec<(usize, usize)>,
    comm: Vec<Vec<Vec<u64>>>,
    optimum: u64,
}

fn a_move(time: u64) -> Option<Move> {
    (time > 0).then(|| Move {
        time: Nanoseconds::new(time),
        energy: Nanojoules::new(1),
    })
}

/// A problem with one location a processor, `io` on processor 0, and one tensor an edge.
fn from_edges(t: &[Vec<u64>], edges: &[(usize, usize)], comm: &[Vec<Vec<u64>>]) -> Problem {
    let processors = t[0].len();
    let mut operators: Vec<Operator> = t
        .iter()
        .map(|times| Operator {
            times: times
                .iter()
                .map(|&time| Some(Nanoseconds::new(time)))
                .collect(),
            energies: vec![Nanojoules::new(1); processors],
            ..Operator::default()
        })
        .collect();
    let mut tensors = Vec::new();
    for (tensor, (&(from, to), costs)) in edges.iter().zip(comm).enumerate() {
        operators[from].writes.push(tensor);
        operators[to].reads.push(tensor);
        tensors.push(Tensor {
            producer: Some(from),
            readers: vec![to],
            moves: costs
                .iter()
                .map(|row| row.iter().map(|&time| a_move(time)).collect())
                .collect(),
            ..Tensor::default()
        });
    }
    Problem {
        homes: (0..processors).collect(),
        locations: processors,
        operators,
        tensors,
        ..Problem::default()
    }
}

fn instance(text: &str) -> (Problem, u64) {
    let instance: Instance = serde_json::from_str(text).unwrap();
    assert_eq!(
        (instance.n, instance.m),
        (instance.t.len(), instance.t[0].len())
    );
    let problem = from_edges(&instance.t, &instance.edges, &instance.comm);
    (problem, instance.optimum)
}

fn plain() -> Settings {
    Settings {
        formulation: Formulation::Plain,
        ..Settings::default()
    }
}

fn prove(text: &str) {
    let (problem, optimum) = instance(text);
    let start = earliest_finish(&problem).unwrap();
    let outcome = solve(&problem, &start, &MANY).unwrap();
    assert_eq!(outcome.objective.makespan.count(), optimum);
    assert_eq!(outcome.bound.count(), optimum);
    assert!(outcome.proven);
}

#[test]
fn the_example_of_topcuoglu_takes_73() {
    prove(include_str!(
        "../../../solver_tests/instances/topcuoglu2002.json"
    ));
}

#[test]
fn the_example_of_arabnejad_takes_113() {
    prove(include_str!(
        "../../../solver_tests/instances/arabnejad2014.json"
    ));
}

#[test]
fn a_block_like_inception_a_is_proven() {
    prove(include_str!("../../../solver_tests/instances/incA_p3.json"));
}

#[test]
fn a_block_like_inception_c_is_proven() {
    prove(include_str!("../../../solver_tests/instances/incC_p3.json"));
}

#[test]
fn a_wide_block_is_proven_on_two_processors() {
    prove(include_str!("../../../solver_tests/instances/inc6_p2.json"));
}

#[test]
fn a_wide_block_is_proven_on_three_processors() {
    prove(include_str!("../../../solver_tests/instances/inc6_p3.json"));
}

#[test]
fn a_wide_block_is_proven_on_four_processors() {
    prove(include_str!("../../../solver_tests/instances/inc6_p4.json"));
}

#[test]
fn an_attention_layer_is_proven() {
    prove(include_str!("../../../solver_tests/instances/tf1_p3.json"));
}

#[test]
fn two_attention_layers_are_proven() {
    prove(include_str!("../../../solver_tests/instances/tf2_p3.json"));
}

/// x → a → add and x → add: a comparable operator that is no gate.
fn residual_bypass() -> Problem {
    let apart = |time| vec![vec![0, time], vec![time, 0]];
    from_edges(
        &[vec![1, 10], vec![1, 10], vec![10, 1]],
        &[(0, 1), (1, 2), (0, 2)],
        &[apart(5), apart(5), apart(20)],
    )
}

#[test]
fn a_residual_bypass_counts_to_the_makespan() {
    let problem = residual_bypass();
    let start = earliest_finish(&problem).unwrap();
    for settings in [Settings::default(), plain()] {
        let outcome = solve_with(&problem, &start, &settings, &MANY).unwrap();
        assert_eq!(outcome.objective.makespan, Nanoseconds::new(12));
        assert!(outcome.proven);
    }
}

#[test]
fn a_processor_that_may_stay_empty_adds_no_head_or_tail() {
    // The second processor is reached only over long moves; load + head + tail of it would be 205.
    let far = vec![vec![0, 100], vec![100, 0]];
    let problem = from_edges(
        &[vec![1, 90], vec![3, 3], vec![3, 3], vec![1, 90]],
        &[(0, 1), (0, 2), (1, 3), (2, 3)],
        &[far.clone(), far.clone(), far.clone(), far],
    );
    let start = Solution {
        processors: vec![1; 4],
        sequence: vec![0, 1, 2, 3],
    };
    let outcome = solve(&problem, &start, &MANY).unwrap();
    assert_eq!(outcome.objective.makespan, Nanoseconds::new(8));
    assert!(outcome.proven);
}

#[test]
fn the_last_operator_ends_where_it_is_told_to() {
    let problem = residual_bypass();
    let start = Solution {
        processors: vec![1, 1, 1],
        sequence: vec![0, 1, 2],
    };
    let settings = Settings {
        exit_processor: Some(1),
        ..Settings::default()
    };
    let outcome = solve_with(&problem, &start, &settings, &MANY).unwrap();
    // The bypass takes 20 to processor 1 if x runs on 0; all on 1 takes 21.
    assert_eq!(outcome.objective.makespan, Nanoseconds::new(21));
    assert_eq!(outcome.solution.processors[2], 1);
    assert!(outcome.proven);
}

#[test]
fn an_interrupted_solve_keeps_the_start_and_a_valid_bound() {
    let (problem, optimum) = instance(include_str!("../../../solver_tests/instances/incA_p3.json"));
    let start = earliest_finish(&problem).unwrap();
    let refuse = || Remaining::Nothing;
    let limits = Limits {
        nodes: NonZeroU32::MAX,
        watch: Watch::Asked(&refuse),
    };
    let outcome = solve(&problem, &start, &limits).unwrap();
    assert_eq!(outcome.solution, start);
    assert!(!outcome.proven);
    assert!((1..=optimum).contains(&outcome.bound.count()));
}

#[test]
fn a_watched_solve_reaches_the_same_optimum_in_slices() {
    let (problem, optimum) = instance(include_str!("../../../solver_tests/instances/incA_p3.json"));
    let start = earliest_finish(&problem).unwrap();
    let go_on = || Remaining::Unlimited;
    let limits = Limits {
        nodes: NonZeroU32::MAX,
        watch: Watch::Asked(&go_on),
    };
    let outcome = solve(&problem, &start, &limits).unwrap();
    assert_eq!(outcome.bound.count(), optimum);
    assert!(outcome.proven);
}

#[test]
fn a_start_that_is_no_mapping_is_refused_with_its_place() {
    let problem = residual_bypass();
    let good = Solution {
        processors: vec![0, 0, 0],
        sequence: vec![0, 1, 2],
    };
    let refuse =
        |start: &Solution, problem: &Problem| solve(problem, start, &MANY).unwrap_err().to_string();
    let backwards = Solution {
        sequence: vec![1, 0, 2],
        ..good.clone()
    };
    assert_eq!(
        refuse(&backwards, &problem),
        "start: operator 1 is repeated or comes before its inputs in the sequence"
    );
    let nowhere = Solution {
        processors: vec![0, 7, 0],
        ..good.clone()
    };
    assert_eq!(
        refuse(&nowhere, &problem),
        "start: operator 1 does not run on processor 7"
    );
    let demanding = Problem {
        must_use: 0b10,
        ..problem
    };
    assert_eq!(
        refuse(&good, &demanding),
        "start: processor 1 must be used and is not"
    );
}

#[test]
fn a_problem_without_operators_takes_no_time() {
    let start = Solution {
        processors: Vec::new(),
        sequence: Vec::new(),
    };
    let settings = Settings {
        tie_break: TieBreak::LeastEnergy,
        ..Settings::default()
    };
    let outcome = solve_with(&Problem::default(), &start, &settings, &MANY).unwrap();
    assert!(outcome.proven && outcome.proves_energy());
}

/// Time and energy of a solution by rules M2, M3, M5 and M11, written from their text: everything starts when what it needs is there.
fn evaluate(problem: &Problem, processors: &[usize], order: &[usize]) -> (u64, u64) {
    let home = |operator: usize| problem.homes[processors[operator]];
    let cost = |tensor: usize, a: usize, b: usize| {
        problem.tensors[tensor].moves[a][b]
            .map_or((0, 0), |it| (it.time.count(), it.energy.count()))
    };
    let mut end = vec![0; processors.len()];
    let mut last_on = vec![0; problem.homes.len()];
    for &operator in order {
        let inputs = problem.operators[operator].reads.iter().map(|&tensor| {
            let facts = &problem.tensors[tensor];
            let here = home(operator);
            match facts.producer {
                Some(producer) => end[producer] + cost(tensor, home(producer), here).0,
                None => {
                    let fits = |&at: &usize| at == here || facts.moves[at][here].is_none();
                    if facts.held.iter().any(fits) {
                        0
                    } else {
                        cost(tensor, facts.held[0], here).0
                    }
                }
            }
        });
        let start = inputs.max().unwrap_or(0).max(last_on[processors[operator]]);
        let time = problem.operators[operator].times[processors[operator]].unwrap();
        end[operator] = start + time.count();
        last_on[processors[operator]] = end[operator];
    }
    let mut makespan = end.iter().copied().max().unwrap_or(0);
    let mut energy: u64 = (0..processors.len())
        .map(|operator| problem.operators[operator].energies[processors[operator]].count())
        .sum();
    for (tensor, facts) in problem.tensors.iter().enumerate() {
        let mut wanted_at: Vec<usize> = facts.readers.iter().map(|&reader| home(reader)).collect();
        if let (Some(producer), true) = (facts.producer, facts.to_io) {
            wanted_at.push(problem.io);
            let there = end[producer] + cost(tensor, home(producer), problem.io).0;
            makespan = makespan.max(there);
        }
        wanted_at.sort_unstable();
        wanted_at.dedup();
        for at in wanted_at {
            energy += match facts.producer {
                Some(producer) => cost(tensor, home(producer), at).1,
                None => {
                    let fits = |&held: &usize| held == at || facts.moves[held][at].is_none();
                    if facts.held.iter().any(fits) {
                        0
                    } else {
                        cost(tensor, facts.held[0], at).1
                    }
                }
            };
        }
    }
    (makespan, energy)
}

/// The best (makespan, energy) over all assignments and linear extensions; `None` where no assignment is allowed.
fn enumerate(problem: &Problem) -> Option<(u64, u64)> {
    let count = problem.operators.len();
    let mut orders = vec![Vec::new()];
    for _ in 0..count {
        orders = orders
            .into_iter()
            .flat_map(|prefix: Vec<usize>| {
                (0..count)
                    .filter(|next| !prefix.contains(next))
                    .filter(|&next| {
                        problem.operators[next].reads.iter().all(|&tensor| {
                            problem.tensors[tensor]
                                .producer
                                .is_none_or(|producer| prefix.contains(&producer))
                        })
                    })
                    .map(|next| {
                        let mut longer = prefix.clone();
                        longer.push(next);
                        longer
                    })
                    .collect::<Vec<_>>()
            })
            .collect();
    }
    let mut assignments = vec![Vec::new()];
    for operator in &problem.operators {
        assignments = assignments
            .into_iter()
            .flat_map(|prefix: Vec<usize>| {
                let supported = operator
                    .times
                    .iter()
                    .enumerate()
                    .filter(|(_, time)| time.is_some());
                supported
                    .map(|(processor, _)| {
                        let mut longer = prefix.clone();
                        longer.push(processor);
                        longer
                    })
                    .collect::<Vec<_>>()
            })
            .collect();
    }
    assignments
        .iter()
        .filter(|processors| {
            (0..problem.homes.len())
                .all(|p| problem.must_use >> p & 1 == 0 || processors.contains(&p))
        })
        .flat_map(|processors| {
            orders
                .iter()
                .map(|order| evaluate(problem, processors, order))
        })
        .min()
}

prop_compose! {
    /// Up to five operators on up to three processors, with shared homes, unsupported pairs, entering and leaving tensors.
    fn small_problem()(
        count in 1_usize..=5,
        processors in 1_usize..=3,
    )(
        homes in prop::collection::vec(0_usize..3, processors),
        times in prop::collection::vec(prop::collection::vec(prop::option::weighted(0.9, 0_u64..20), processors), count),
        energies in prop::collection::vec(prop::collection::vec(0_u64..9, processors), count),
        // Producer (or entry) and readers of each tensor, as masks that are cut to what is topological.
        wiring in prop::collection::vec((0_usize..=count, 1_u8..32, prop::bool::weighted(0.3)), 0..=count + 1),
        held in prop::collection::vec(prop::collection::vec(0_usize..4, 1..3), count + 2),
        moves in prop::collection::vec(prop::collection::vec(prop::collection::vec(prop::option::weighted(0.8, (0_u64..15, 0_u64..9)), 4), 4), count + 2),
        must_use in prop_oneof![3 => Just(0_u16), 1 => 0_u16..(1 << processors)],
    ) -> Problem {
        let count = times.len();
        let mut operators: Vec<Operator> = times
            .iter()
            .zip(&energies)
            .map(|(times, energies)| Operator {
                times: times.iter().map(|time| time.map(Nanoseconds::new)).collect(),
                energies: energies.iter().copied().map(Nanojoules::new).collect(),
                ..Operator::default()
            })
            .collect();
        let mut tensors = Vec::new();
        for (index, &(source, mask, to_io)) in wiring.iter().enumerate() {
            let producer = source.checked_sub(1);
            let readers: Vec<usize> = (producer.map_or(0, |it| it + 1)..count)
                .filter(|reader| mask >> reader & 1 == 1)
                .collect();
            if let Some(producer) = producer {
                operators[producer].writes.push(tensors.len());
            }
            for &reader in &readers {
                operators[reader].reads.push(tensors.len());
            }
            let moves = moves[index].iter().enumerate().map(|(a, row)| {
                row.iter().enumerate().map(|(b, cost)| {
                    cost.filter(|_| a != b).map(|(time, energy)| Move {
                        time: Nanoseconds::new(time),
                        energy: Nanojoules::new(energy),
                    })
                }).collect()
            }).collect();
            tensors.push(Tensor {
                producer,
                held: if producer.is_none() { held[index].clone() } else { Vec::new() },
                readers,
                to_io,
                moves,
            });
        }
        Problem { homes, locations: 4, io: 3, operators, tensors, must_use }
    }
}

fn seeded(cases: u32) -> ProptestConfig {
    ProptestConfig {
        rng_seed: proptest::test_runner::RngSeed::Fixed(2026),
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

proptest! {
    #![proptest_config(seeded(120))]

    #[test]
    fn both_formulations_find_what_enumeration_finds(problem in small_problem()) {
        let best = enumerate(&problem);
        let start = earliest_finish(&problem);
        prop_assert_eq!(start.is_some(), best.is_some());
        if let (Some(start), Some((makespan, energy))) = (start, best) {
            let strengthened = Settings { tie_break: TieBreak::LeastEnergy, ..Settings::default() };
            let outcome = solve_with(&problem, &start, &strengthened, &MANY).unwrap();
            prop_assert_eq!(outcome.objective.makespan.count(), makespan);
            prop_assert_eq!(outcome.objective.energy.count(), energy);
            prop_assert!(outcome.proven && outcome.proves_energy());
            let outcome = solve_with(&problem, &start, &plain(), &MANY).unwrap();
            prop_assert_eq!(outcome.objective.makespan.count(), makespan);
            prop_assert!(outcome.proven);
        }
    }

    #[test]
    fn no_row_cuts_off_a_real_schedule(
        problem in small_problem(),
        choices in prop::collection::vec(0_usize..60, 5),
        slack in 0_u64..3,
    ) {
        let supported = |operator: &Operator| -> Vec<usize> {
            (0..problem.homes.len()).filter(|&p| operator.times[p].is_some()).collect()
        };
        prop_assume!(problem.operators.iter().all(|operator| !supported(operator).is_empty()));
        let processors: Vec<usize> = problem.operators.iter().zip(&choices)
            .map(|(operator, choice)| {
                let supported = supported(operator);
                supported[choice % supported.len()]
            })
            .collect();
        let relaxed = Problem {
            must_use: problem.must_use & processors.iter().fold(0, |mask, p| mask | 1 << p),
            ..problem
        };
        let solution = Solution { processors, sequence: (0..relaxed.operators.len()).collect() };
        let timed = schedule(&relaxed, &solution);
        let times: Vec<Vec<Option<u64>>> = relaxed.operators.iter()
            .map(|operator| operator.times.iter().map(|time| time.map(Nanoseconds::count)).collect())
            .collect();
        let precedence = Precedence::of(&relaxed);
        let horizon = timed.objective.makespan.count() + slack * 7;
        let windows = Windows::below(&relaxed, &precedence, times, horizon).unwrap();
        prop_assert!(windows.path_bound() <= timed.objective.makespan.count());
        for state in [order::state as fn(&mut Statement<'_>), plain::state] {
            let mut statement = Statement::new(&relaxed, &precedence, &windows).unwrap();
            state(&mut statement);
            let planted = plant(&statement, &solution, &timed);
            prop_assert_eq!(statement.model.violations(&planted, 1e-9), Vec::<String>::new());
        }
    }
}

proptest! {
    #![proptest_config(seeded(25))]

    #[test]
    fn a_bound_after_one_node_is_no_higher_than_the_optimum(problem in small_problem()) {
        if let (Some(start), Some((makespan, _))) = (earliest_finish(&problem), enumerate(&problem)) {
            let outcome = solve(&problem, &start, &Limits::counted(NonZeroU32::MIN)).unwrap();
            prop_assert!(outcome.bound.count() <= makespan);
            prop_assert!(outcome.objective.makespan.count() >= makespan);
        }
    }
}
