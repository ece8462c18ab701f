//! The formulations against each other, against enumeration, and against optima from the literature.

use std::num::NonZeroU32;
use std::time::Duration;

use paracompile_plan::Nanoseconds;
use proptest::prelude::*;

use super::energy::{energy_scale, minimise_energy};
use super::order;
use super::plain;
use super::plant::plant;
use super::precedence::Precedence;
use super::statement::Statement;
use super::windows::Windows;
use super::*;
use crate::mapping::coarse::earliest_finish;
use crate::mapping::enumeration::{enumerate, from_edges, instance, seeded, small_problem};
use crate::mapping::{Operator, Problem, Solution, schedule};
use crate::milp::{Limits, MilpError, Remaining, Watch};

const MANY: Limits<'static> = Limits::counted(NonZeroU32::MAX);

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
fn a_solve_without_time_keeps_the_start_and_a_valid_bound() {
    let (problem, optimum) = instance(include_str!("../../../solver_tests/instances/tf2_p3.json"));
    let start = earliest_finish(&problem).unwrap();
    let hardly_any = || Remaining::Time(Duration::from_nanos(1));
    let limits = Limits {
        nodes: NonZeroU32::MAX,
        watch: Watch::Asked(&hardly_any),
    };
    let outcome = solve(&problem, &start, &limits).unwrap();
    assert!(!outcome.proven);
    assert!((1..=optimum).contains(&outcome.bound.count()));
    assert!(outcome.objective.makespan.count() >= optimum);
}

#[test]
fn a_wide_block_is_proven_in_nanoseconds_too() {
    let (mut problem, _) = instance(include_str!("../../../solver_tests/instances/inc6_p2.json"));
    // No common divisor is left, and the horizon of 42 ms is beyond the range of units.
    for operator in &mut problem.operators {
        for time in operator.times.iter_mut().flatten() {
            *time = Nanoseconds::new(time.count() * 1000 / 8 + time.count() % 97);
        }
    }
    let start = earliest_finish(&problem).unwrap();
    let outcome = solve(&problem, &start, &MANY).unwrap();
    assert!(outcome.objective.makespan.count() > 4_000_000);
    assert!(outcome.proven);
}

#[test]
fn the_same_problem_gives_the_same_mapping() {
    let (problem, _) = instance(include_str!("../../../solver_tests/instances/incC_p3.json"));
    let start = earliest_finish(&problem).unwrap();
    let settings = Settings {
        tie_break: TieBreak::LeastEnergy,
        ..Settings::default()
    };
    let limits = Limits::counted(NonZeroU32::new(20).unwrap());
    let once = solve_with(&problem, &start, &settings, &limits).unwrap();
    let again = solve_with(&problem, &start, &settings, &limits).unwrap();
    assert_eq!(once, again);
}

#[test]
fn a_problem_that_is_too_large_is_refused_before_it_is_built() {
    let problem = Problem {
        homes: vec![0],
        locations: 1,
        operators: vec![Operator::default(); 5000],
        ..Problem::default()
    };
    let start = Solution {
        processors: vec![0; 5000],
        sequence: (0..5000).collect(),
    };
    assert_eq!(
        solve(&problem, &start, &MANY).unwrap_err(),
        FineError::Solver(MilpError::TooLarge {
            what: "operators",
            count: 5000,
            limit: 4096
        })
    );
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
}

proptest! {
    #![proptest_config(seeded(40))]

    #[test]
    fn what_is_proven_over_a_second_in_nanoseconds_is_true(problem in small_problem(), noise in 1_u64..1_000_000) {
        let mut problem = problem;
        let mut state = noise;
        for time in problem.operators.iter_mut().flat_map(|operator| operator.times.iter_mut().flatten()) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *time = Nanoseconds::new(time.count() * 10_000_019 + (state >> 44));
        }
        if let (Some(start), Some((makespan, _))) = (earliest_finish(&problem), enumerate(&problem)) {
            let outcome = solve(&problem, &start, &MANY).unwrap();
            prop_assert!(outcome.bound.count() <= makespan);
            prop_assert!(!outcome.proven || outcome.objective.makespan.count() == makespan);
            // The tolerance is a few nanoseconds in a second, not more.
            prop_assert!(outcome.objective.makespan.count() <= makespan + 10);
            prop_assert!(outcome.bound.count() + 10 >= makespan);
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

/// A schedule of real size planted into both formulations, with room above it so that other processors stay possible.
fn assert_planted(problem: &Problem, processors: Vec<usize>, room: u64) {
    let problem = Problem {
        must_use: problem.must_use & processors.iter().fold(0, |mask, p| mask | 1 << p),
        ..problem.clone()
    };
    let solution = Solution {
        sequence: (0..processors.len()).collect(),
        processors,
    };
    let reached = schedule(&problem, &solution);
    let times: Vec<Vec<Option<u64>>> = problem
        .operators
        .iter()
        .map(|operator| {
            let times = operator.times.iter();
            times.map(|time| time.map(Nanoseconds::count)).collect()
        })
        .collect();
    let precedence = Precedence::of(&problem);
    let makespan = reached.objective.makespan.count();
    let windows = Windows::below(&problem, &precedence, times, makespan + room).unwrap();
    assert!(windows.path_bound() <= makespan);
    for state in [order::state as fn(&mut Statement<'_>), plain::state] {
        let mut statement = Statement::new(&problem, &precedence, &windows).unwrap();
        state(&mut statement);
        minimise_energy(&mut statement, &energy_scale(&problem).unwrap());
        let planted = plant(&statement, &solution, &reached);
        assert_eq!(
            statement.model.violations(&planted, 1e-9),
            Vec::<String>::new()
        );
    }
}

proptest! {
    #![proptest_config(seeded(400))]

    #[test]
    fn no_row_cuts_off_a_small_schedule(
        problem in small_problem(),
        choices in prop::collection::vec(0_usize..60, 5),
        room in 0_u64..60,
    ) {
        let processors: Option<Vec<usize>> = problem.operators.iter().zip(&choices)
            .map(|(operator, choice)| {
                let supported: Vec<usize> = (0..problem.homes.len())
                    .filter(|&p| operator.times[p].is_some())
                    .collect();
                (!supported.is_empty()).then(|| supported[choice % supported.len()])
            })
            .collect();
        prop_assume!(processors.is_some());
        assert_planted(&problem, processors.unwrap(), room);
    }

    #[test]
    fn no_row_cuts_off_a_schedule_that_leaves_processors_empty(
        times in prop::collection::vec(prop::collection::vec(1_u64..30, 3), 4..10),
        back in prop::collection::vec((1_usize..4, 1_usize..6), 9),
        costs in prop::collection::vec(prop::collection::vec(0_u64..60, 3), 18),
        on in prop::collection::vec(prop_oneof![4 => Just(0_usize), 1 => 0_usize..2], 9),
        room in 0_u64..400,
    ) {
        // Every operator reads from one or two shortly before it, so there are chains with parallel parts.
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for to in 1..times.len() {
            let (near, far) = back[to - 1];
            for step in [near, far] {
                let edge = (to.saturating_sub(step), to);
                if !edges.contains(&edge) {
                    edges.push(edge);
                }
            }
        }
        let comm: Vec<Vec<Vec<u64>>> = (0..edges.len())
            .map(|edge| {
                let [ab, ac, bc] = [costs[edge][0], costs[edge][1], costs[edge][2]];
                vec![vec![0, ab, ac], vec![ab, 0, bc], vec![ac, bc, 0]]
            })
            .collect();
        let problem = from_edges(&times, &edges, &comm);
        assert_planted(&problem, on[..times.len()].to_vec(), room);
    }
}
