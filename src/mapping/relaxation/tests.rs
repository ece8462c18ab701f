//! Real schedules satisfy every row, and no bound exceeds an optimum.

use std::num::NonZeroU32;

use paracompile_plan::Nanoseconds;
use proptest::prelude::*;

use super::super::oracle::{Dice, Shape, brute_force_best, instance, random_problem};
use super::super::{Budget, Problem, Solution, heft, improve, lower_bound, schedule};
use super::intervals;
use super::program::Program;
use super::rows::{Column, signed};
use super::ways::{Frame, Ways};
use super::*;

const BRIEF: Work = Work {
    rounds: 8,
    trials: 3,
    nodes: NonZeroU32::new(50),
    refutations: 2,
};

/// The schedule as a point of the program below its own makespan.
fn planted(frame: &Frame<'_>, program: &Program, solution: &Solution) -> Vec<i64> {
    let schedule = schedule(frame.problem, solution);
    let start = |v: usize| signed(schedule.timings[v].start.count());
    let mut values = vec![0; program.columns.len()];
    values[super::program::MAKESPAN] = signed(schedule.objective.makespan.count());
    for (v, &p) in solution.processors.iter().enumerate() {
        values[program.share(v, p)] = 1;
        values[program.start(v, p)] = start(v);
    }
    for joint in program.joints() {
        if solution.processors[joint.from] == joint.source
            && solution.processors[joint.to] == joint.target
        {
            values[joint.share] = 1;
            if let Some(variable) = joint.start {
                values[variable] = start(joint.from);
            }
        }
    }
    values
}

fn check_point(columns: &[Column], rows: &[super::rows::Row], values: &[i64]) {
    for (column, &value) in columns.iter().zip(values) {
        assert!(column.least <= value && value <= column.most);
    }
    for row in rows {
        assert!(row.violation(values) <= 0, "{row:?}");
    }
}

/// Every row of the program and every cut that there is, below the makespan of the schedule and above.
fn no_row_cuts_off(problem: &Problem, solution: &Solution, more: u64) {
    let makespan = schedule(problem, solution).objective.makespan.count();
    if makespan == 0 {
        return;
    }
    let frame = Frame::new(problem);
    let ways = Ways::below(&frame, makespan + more).expect("a schedule is as short as the trial");
    let floor = lower_bound(problem).count();
    let program = Program::new(&frame, &ways, floor);
    let values = planted(&frame, &program, solution);
    check_point(&program.columns, &program.rows, &values);
    let mut cuts = intervals::all(&frame, &ways, &program, floor);
    cuts.extend(energetic::all(&frame, &ways, &program));
    check_point(&program.columns, &cuts, &values);
}

/// Some mapping: operators in their order, processors as the dice say.
fn some_solution(problem: &Problem, seed: u64) -> Option<Solution> {
    let mut dice = Dice(seed);
    let processors = problem
        .operators
        .iter()
        .map(|operator| {
            let possible: Vec<usize> = (0..problem.homes.len())
                .filter(|&p| operator.times[p].is_some())
                .collect();
            (!possible.is_empty()).then(|| possible[dice.index(possible.len())])
        })
        .collect::<Option<Vec<usize>>>()?;
    let used = processors.iter().fold(0_u16, |set, p| set | 1 << p);
    (problem.must_use & !used == 0).then(|| Solution {
        processors,
        sequence: (0..problem.operators.len()).collect(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn real_schedules_satisfy_every_row(seed: u64, operators in 1..12_usize, processors in 1..4_usize, joined: bool, mask in 0..8_u16, more in 0..40_u64) {
        let mut problem = random_problem(seed, Shape { operators, processors, joined });
        problem.must_use = mask & ((1 << processors) - 1);
        if let Some(solution) = some_solution(&problem, seed ^ 1) {
            let better = improve(&problem, &solution, 300, Budget::UNLIMITED);
            no_row_cuts_off(&problem, &solution, more);
            no_row_cuts_off(&problem, &better, more);
        }
    }

    #[test]
    fn bounds_never_exceed_the_optimum(seed: u64, operators in 1..6_usize, processors in 1..4_usize, joined: bool, mask in 0..8_u16) {
        let mut problem = random_problem(seed, Shape { operators, processors, joined });
        problem.must_use = mask & ((1 << processors) - 1);
        if let Some(optimum) = brute_force_best(&problem) {
            // A worse schedule is known, as it is in earnest.
            let known = optimum.makespan + Nanoseconds::new(1 + seed % 7);
            let floor = lower_bound(&problem);
            let relaxed = relaxation_bound(&problem, known, floor, BRIEF, Budget::UNLIMITED);
            prop_assert!(relaxed.certified <= relaxed.bound);
            prop_assert!(relaxed.bound <= optimum.makespan, "{relaxed:?} {optimum:?}");
            prop_assert!(relaxed.certified >= floor.min(known));
        }
    }
}

#[test]
fn schedules_of_instances_satisfy_every_row() {
    for name in [
        "inc6_p2", "inc6_p4", "tf2_p3", "tf4_p3", "nas50_p3", "lay50_p3",
    ] {
        let (problem, _) = instance(name);
        let start = heft(&problem).unwrap();
        let found = improve(&problem, &start, 3000, Budget::UNLIMITED);
        no_row_cuts_off(&problem, &start, 0);
        no_row_cuts_off(&problem, &found, 0);
    }
}

#[test]
fn the_bound_of_a_hard_graph_is_raised_and_stays_below_what_is_known() {
    for (name, percent) in [("tf4_p3", 98), ("nas50_p3", 95)] {
        let (problem, known) = instance(name);
        let floor = lower_bound(&problem);
        let work = Work {
            trials: 0,
            refutations: 0,
            ..BRIEF
        };
        let relaxed = relaxation_bound(
            &problem,
            Nanoseconds::new(known),
            floor,
            work,
            Budget::UNLIMITED,
        );
        assert!(relaxed.certified > floor, "{name}");
        assert!(relaxed.bound.count() <= known, "{name}");
        assert!(
            relaxed.certified.count() * 100 >= known * percent,
            "{name}: {relaxed:?} of {known}"
        );
    }
}
