//! No row cuts off a real schedule, and no multipliers prove more than the optimum.

use std::num::NonZeroU32;

use paracompile_plan::Nanoseconds;
use proptest::prelude::*;

use super::super::oracle::{Dice, INSTANCES, Shape, brute_force_best, instance, random_problem};
use super::super::{Budget, Problem, Schedule, Solution, heft, improve, lower_bound, schedule};
use super::cuts::Cut;
use super::ground::{Ground, signed};
use super::orders::decide;
use super::plant::plant;
use super::spans::{Span, Ways};
use super::statement::Statement;
use super::windows::Windows;
use super::{Floor, Work, relaxation_bound};

const BRIEF: Work = Work {
    rounds: 8,
    trials: 6,
    probes: 24,
    nodes: NonZeroU32::new(20),
    refutations: 3,
    repairs: 4,
    gap_millionths: 0,
};

/// A solution in an order and on processors drawn at random.
fn random_solution(problem: &Problem, dice: &mut Dice) -> Solution {
    let count = problem.operators.len();
    let processors = problem
        .operators
        .iter()
        .map(|operator| {
            let possible: Vec<usize> = (0..problem.homes.len())
                .filter(|&p| operator.times[p].is_some())
                .collect();
            possible[dice.index(possible.len())]
        })
        .collect();
    let mut sequence: Vec<usize> = Vec::new();
    while sequence.len() < count {
        let ready: Vec<usize> = (0..count)
            .filter(|i| !sequence.contains(i))
            .filter(|&i| {
                let mut inputs = problem.operators[i].reads.iter();
                inputs.all(|&tensor| {
                    let producer = problem.tensors[tensor].producer;
                    producer.is_none_or(|producer| sequence.contains(&producer))
                })
            })
            .collect();
        sequence.push(ready[dice.index(ready.len())]);
    }
    Solution {
        processors,
        sequence,
    }
}

/// Every row that separation could ever add, on the horizon of a schedule; `stride` leaves some pairs of events out.
fn every_cut(statement: &Statement<'_>, floor: i64, stride: usize) -> Vec<Cut> {
    let count = statement.x.len();
    let windows = statement.windows;
    let mut cuts = Vec::new();
    for processor in 0..statement.ground.processors {
        let ends = (0..count).map(Some).chain([None]);
        for (number, from) in ends.clone().enumerate() {
            for (place, to) in ends.clone().enumerate() {
                let ordered = match (from, to) {
                    (Some(u), Some(w)) => statement.ground.precedence.precedes[u][w],
                    (None, _) | (_, None) => true,
                };
                if ordered && (number * 7 + place) % stride == 0 {
                    let whole = Span::whole(from, to, processor);
                    let ways = Ways::new(statement.ground, windows, floor, whole);
                    cuts.push(Cut::LoadBetween(whole));
                    for i in ways
                        .between(statement.ground, windows)
                        .into_iter()
                        .step_by(stride)
                    {
                        let (entry, exit) = (ways.entry_key(i), ways.exit_key(i));
                        for (entry, exit) in [(entry, 0), (0, exit), (entry, exit)] {
                            cuts.push(Cut::LoadBetween(Span {
                                entry,
                                exit,
                                ..whole
                            }));
                        }
                    }
                }
            }
        }
        for operator in 0..count {
            cuts.push(Cut::StartInWindow {
                operator,
                processor,
            });
            for other in (0..count).step_by(stride) {
                let opens = windows.head[operator][processor];
                let closes = windows.horizon - windows.tail[other][processor];
                if opens < closes {
                    cuts.push(Cut::Energy {
                        processor,
                        opens,
                        closes,
                    });
                }
            }
        }
    }
    cuts.extend((0..count).map(|operator| Cut::EndAfterTail { operator }));
    cuts
}

/// Rows at the horizon of the schedule itself, the tightest at which it must survive.
fn broken_rows(
    ground: &Ground<'_>,
    solution: &Solution,
    schedule: &Schedule,
    floor: Nanoseconds,
    stride: usize,
) -> Vec<String> {
    let horizon = signed(schedule.objective.makespan.count());
    let floor = signed(floor.count());
    let Some(windows) = Windows::below(ground, horizon, |_, _| false) else {
        return vec!["no window is left".to_owned()];
    };
    let mut statement = Statement::new(ground, &windows, floor);
    for cut in every_cut(&statement, floor, stride) {
        let row = cut.row(&statement, floor);
        statement.program.rows.extend(row);
    }
    let count = solution.processors.len();
    let precedes = &ground.precedence.precedes;
    let mut orders = Vec::new();
    for (i, j) in (0..count).flat_map(|i| (i + 1..count).step_by(stride).map(move |j| (i, j))) {
        if !precedes[i][j] && !precedes[j][i] {
            orders.push((decide(&mut statement, (i, j)), (i, j)));
        }
    }
    let fits = solution
        .processors
        .iter()
        .enumerate()
        .all(|(i, &p)| statement.x[i][p].is_some());
    if !fits {
        return vec!["a pair in use was dropped".to_owned()];
    }
    let mut point = plant(&statement, solution, schedule);
    for (y, (i, j)) in orders {
        // The sequence decides, since operators without duration start together.
        let place = |v: usize| solution.sequence.iter().position(|&other| other == v);
        point[y] = i64::from(place(i) < place(j));
    }
    statement.program.violations(&point)
}

fn uses_required(problem: &Problem, solution: &Solution) -> bool {
    let used = solution.processors.iter().fold(0, |set, &p| set | 1 << p);
    problem.must_use & !used == 0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_row_cuts_off_a_schedule(seed: u64, operators in 1..14_usize, processors in 1..5_usize, mask in 0..16_u16) {
        let mut problem = random_problem(seed, Shape { operators, processors, joined: false });
        let ground_problem = problem.clone();
        let ground = Ground::new(&ground_problem);
        let mut dice = Dice(seed);
        for _ in 0..3 {
            let solution = random_solution(&problem, &mut dice);
            let better = improve(&problem, &solution, 50, Budget::UNLIMITED);
            for solution in [solution, better] {
                let schedule = schedule(&problem, &solution);
                let floor = lower_bound(&problem);
                prop_assert_eq!(broken_rows(&ground, &solution, &schedule, floor, 1), Vec::<String>::new());
            }
        }
        problem.must_use = mask & ((1 << processors) - 1);
        let ground = Ground::new(&problem);
        let solution = random_solution(&problem, &mut dice);
        if uses_required(&problem, &solution) {
            let floor = lower_bound(&problem);
            prop_assert_eq!(broken_rows(&ground, &solution, &schedule(&problem, &solution), floor, 1), Vec::<String>::new());
        }
    }

    #[test]
    fn bounds_never_exceed_the_optimum(seed: u64, operators in 2..6_usize, processors in 1..4_usize, mask in 0..8_u16, above in 0..3_u64) {
        let mut problem = random_problem(seed, Shape { operators, processors, joined: false });
        problem.must_use = mask & ((1 << processors) - 1);
        if let Some(optimum) = brute_force_best(&problem) {
            let known = Nanoseconds::new(optimum.makespan.count() + above);
            let relaxed = relaxation_bound(&problem, known, Floor::certain(Nanoseconds::ZERO), BRIEF, Budget::UNLIMITED);
            prop_assert!(relaxed.bound <= optimum.makespan, "{:?} > {:?}", relaxed, optimum.makespan);
            prop_assert!(relaxed.certified <= relaxed.bound);
        }
    }

    #[test]
    fn no_multipliers_prove_more_than_the_optimum(seed: u64, operators in 2..6_usize, processors in 1..4_usize) {
        let problem = random_problem(seed, Shape { operators, processors, joined: false });
        let optimum = brute_force_best(&problem).unwrap().makespan;
        let ground = Ground::new(&problem);
        let horizon = signed(optimum.count());
        let windows = Windows::below(&ground, horizon, |_, _| false).unwrap();
        let mut statement = Statement::new(&ground, &windows, 0);
        for cut in every_cut(&statement, 0, 1) {
            let row = cut.row(&statement, 0);
            statement.program.rows.extend(row);
        }
        let mut dice = Dice(seed);
        for scale in [1_u64 << 20, 1 << 30] {
            for _ in 0..20 {
                let multipliers: Vec<i128> = statement.program.rows.iter()
                    .map(|_| i128::from(dice.below(scale)) * i128::from(dice.below(scale)) - i128::from(scale))
                    .collect();
                let bound = statement.program.bound(&multipliers);
                prop_assert!(bound.is_none_or(|bound| bound <= horizon), "{:?} > {}", bound, horizon);
            }
        }
    }
}

#[test]
fn no_row_cuts_off_schedules_of_the_instances() {
    for name in INSTANCES {
        let (problem, known) = instance(name);
        let ground = Ground::new(&problem);
        let start = heft(&problem).unwrap();
        let better = improve(&problem, &start, 2_000, Budget::UNLIMITED);
        // A true bound that is as high as can be: the guard of the whole stage must not depend on a low one.
        let floor = Nanoseconds::new(known);
        for solution in [start, better] {
            let schedule = schedule(&problem, &solution);
            let stride = 1 + problem.operators.len() / 8;
            let broken = broken_rows(&ground, &solution, &schedule, floor, stride);
            assert_eq!(broken, Vec::<String>::new(), "{name}");
        }
    }
}

#[test]
fn no_bound_exceeds_a_known_value_and_the_rows_are_worth_their_time() {
    let mut raised = 0;
    for name in INSTANCES {
        let (problem, known) = instance(name);
        let floor = lower_bound(&problem);
        let work = Work {
            rounds: 3,
            trials: 1,
            probes: 2,
            nodes: None,
            refutations: 0,
            repairs: 0,
            gap_millionths: 0,
        };
        let known = Nanoseconds::new(known);
        let relaxed = relaxation_bound(
            &problem,
            known,
            Floor::certain(floor),
            work,
            Budget::UNLIMITED,
        );
        assert!(relaxed.bound <= known, "{name}: {relaxed:?} > {known:?}");
        raised += usize::from(relaxed.certified > floor);
    }
    assert!(raised >= 18, "only {raised} bounds were raised");
}

#[test]
fn a_block_is_refuted_up_to_its_optimum() {
    let (problem, known) = instance("incC_p3");
    let known = Nanoseconds::new(known);
    let relaxed = relaxation_bound(
        &problem,
        known,
        Floor::certain(Nanoseconds::ZERO),
        BRIEF,
        Budget::UNLIMITED,
    );
    assert_eq!(relaxed.certified, known);
}

#[test]
fn whoever_says_stop_is_obeyed_and_gets_what_was_known() {
    let (problem, known) = instance("nas100_p3");
    let stop = || Some(paracompile_plan::plan::StoppedBy::Interrupt);
    let floor = lower_bound(&problem);
    let relaxed = relaxation_bound(
        &problem,
        Nanoseconds::new(known),
        Floor::certain(floor),
        BRIEF,
        Budget::until(&stop),
    );
    assert!(relaxed.bound >= floor && relaxed.bound.count() <= known);
}

#[test]
fn no_more_is_proven_than_is_asked() {
    let (problem, known) = instance("nas50_p3");
    let known = Nanoseconds::new(known);
    let floor = lower_bound(&problem);
    let at = |gap_millionths| {
        let work = Work {
            gap_millionths,
            ..BRIEF
        };
        relaxation_bound(
            &problem,
            known,
            Floor::certain(floor),
            work,
            Budget::UNLIMITED,
        )
    };
    let (most, least) = (at(0).bound, at(900_000).bound);
    assert_eq!(least, floor, "it is within the gap as it is");
    assert!(most > floor);
    let allowed = known.count() - u64::midpoint(floor.count(), most.count());
    let gap = u32::try_from(allowed * 1_000_000 / known.count()).unwrap();
    let between = at(gap).bound;
    assert!(between > floor && between.count() + allowed >= known.count());
}
