//! Held against published makespans, against an implementation that shares nothing with this one, and against brute force.

use std::path::Path;

use paracompile_plan::Nanoseconds;
use paracompile_testkit::instances::{SchedulingInstance, read_textbook, read_unrelated};
use proptest::prelude::*;

use super::super::oracle::{
    Shape, arabnejad, brute_force_best, from_edges, random_problem, topcuoglu,
};
use super::super::{Problem, schedule};
use super::cpop::critical_path;
use super::peft::optimistic_costs;
use super::ranks::{RANK_UNIT, downward, mean_durations, upward};
use super::{ListRule, cpop, heft};

fn makespan(problem: &Problem, rule: ListRule) -> u64 {
    let solution = rule.schedule(problem).unwrap();
    schedule(problem, &solution).objective.makespan.count()
}

fn problem_of(instance: &SchedulingInstance) -> Problem {
    let times: Vec<Vec<u64>> = instance
        .durations
        .iter()
        .map(|row| row.iter().map(|time| time.unwrap_or(0)).collect())
        .collect();
    let edges: Vec<(usize, usize)> = instance
        .edges
        .iter()
        .map(|edge| (edge.from, edge.to))
        .collect();
    let mut problem = from_edges(&times, &edges, |edge, from, to| {
        instance.edges[edge].delays[from][to]
    });
    for (operator, row) in problem.operators.iter_mut().zip(&instance.durations) {
        for (slot, time) in operator.times.iter_mut().zip(row) {
            *slot = time.map(Nanoseconds::new);
        }
    }
    problem
}

fn folder() -> &'static Path {
    Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/solver_tests/instances"
    ))
}

#[test]
fn published_examples_give_the_published_makespans() {
    assert_eq!(makespan(&topcuoglu(), ListRule::Heft), 80);
    assert_eq!(makespan(&topcuoglu(), ListRule::Cpop), 86);
    assert_eq!(makespan(&arabnejad(), ListRule::Heft), 133);
    assert_eq!(makespan(&arabnejad(), ListRule::Peft), 122);
}

#[test]
fn another_implementation_reaches_the_same_makespans() {
    let mut instances = read_textbook(folder()).unwrap();
    instances.extend(read_unrelated(folder()).unwrap());
    assert_eq!(instances.len(), 50);
    let mut different = Vec::new();
    for instance in &instances {
        let problem = problem_of(instance);
        let known = instance.known.as_ref().unwrap();
        for rule in ListRule::ALL {
            let name = rule.name();
            let reached = makespan(&problem, rule);
            assert!(reached >= known.bound, "{}: {name}", instance.name);
            if let Some(&expected) = known.heuristics.get(name)
                && expected != reached
            {
                different.push(format!(
                    "{} {name}: {reached}, not {expected}",
                    instance.name
                ));
            }
        }
    }
    assert_eq!(different, Vec::<String>::new());
}

#[test]
fn ranks_and_tables_are_those_of_the_papers() {
    let problem = topcuoglu();
    let durations = mean_durations(&problem).unwrap();
    let ups = upward(&problem, &durations);
    let downs = downward(&problem, &durations);
    let whole = |rank: u128| (rank + RANK_UNIT / 2) / RANK_UNIT;
    let rounded: Vec<u128> = ups.iter().copied().map(whole).collect();
    assert_eq!(rounded, [108, 77, 80, 80, 69, 63, 43, 36, 44, 15]);
    let sums: Vec<u128> = ups.iter().zip(&downs).map(|(up, down)| up + down).collect();
    let path: Vec<usize> = critical_path(&problem, &sums)
        .into_iter()
        .map(|operator| operator + 1)
        .collect();
    assert_eq!(path, [1, 2, 9, 10]);
    let table: Vec<u128> = optimistic_costs(&problem)
        .into_iter()
        .flatten()
        .map(whole)
        .collect();
    let published = [
        [48, 38, 53],
        [35, 19, 35],
        [28, 22, 27],
        [38, 19, 36],
        [32, 19, 32],
        [23, 18, 30],
        [21, 7, 16],
        [18, 7, 16],
        [20, 7, 16],
        [0, 0, 0],
    ];
    assert_eq!(table, published.concat());
}

#[test]
fn cpop_prefers_the_processor_that_runs_most_of_the_critical_path() {
    // Processor 1 would be fastest for operators 1, 2, 9 and 10 of the paper, but does not run the second.
    let mut problem = topcuoglu();
    problem.operators[1].times[1] = None;
    let solution = cpop(&problem).unwrap();
    // Of the other two, processor 2 takes 9 + 18 + 20 + 16 and processor 0 takes 14 + 13 + 18 + 21.
    let path = [0, 1, 8, 9].map(|operator| solution.processors[operator]);
    assert_eq!(path, [2; 4]);
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
    fn list_schedules_are_feasible_and_never_below_the_optimum(
        seed: u64,
        operators in 1..6_usize,
        processors in 1..4_usize,
        mask in 0..8_u16,
    ) {
        let mut problem = random_problem(seed, Shape { operators, processors, joined: false });
        problem.must_use = mask & ((1 << processors) - 1);
        let optimum = brute_force_best(&problem);
        for rule in ListRule::ALL {
            let name = rule.name();
            let solution = rule.schedule(&problem);
            prop_assert_eq!(optimum.is_some(), solution.is_some(), "{}", name);
            if let (Some(optimum), Some(solution)) = (optimum, solution) {
                prop_assert!(schedule(&problem, &solution).objective >= optimum, "{}", name);
                let used = solution.processors.iter().fold(0_u16, |set, p| set | 1 << p);
                prop_assert_eq!(problem.must_use & !used, 0, "{}", name);
            }
        }
    }
}
