//! Critical paths of emitted plans: of random ones against the plan file and the simulator's events, and by hand.

use std::collections::BTreeSet;

use paracompile_plan::plan::{Action, BufferKind, Plan};
use paracompile_plan::{Nanoseconds, check};
use proptest::prelude::*;

use super::fixtures::{HandOp, Scenario, hand};
use crate::simulate::{
    Critical, CriticalPath, CriticalWork, SimulateOptions, WaitedFor, critical_path, simulate,
};

fn path(plan: &Plan, figure: Critical) -> CriticalPath {
    critical_path(plan, figure).unwrap()
}

/// Whether each step starts when the one before it ends.
fn is_contiguous(path: &CriticalPath) -> bool {
    let mut pairs = path.steps.windows(2);
    pairs.all(|pair| pair[0].end == pair[1].start)
}

fn reads_and_writes(plan: &Plan, work: CriticalWork) -> (BTreeSet<u32>, BTreeSet<u32>) {
    match work {
        CriticalWork::Task(id) => {
            let task = &plan.tasks[id as usize];
            let stored = |id: &&u32| plan.buffers[**id as usize].kind != BufferKind::Workspace;
            (
                task.reads.iter().copied().collect(),
                task.writes.iter().filter(stored).copied().collect(),
            )
        }
        CriticalWork::Transfer(id) => {
            let transfer = &plan.transfers[id as usize];
            (
                BTreeSet::from([transfer.from_buffer]),
                BTreeSet::from([transfer.to_buffer]),
            )
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_path_of_a_frame_has_no_gap_and_is_as_long_as_the_frame_takes(seed: u64) {
        let scenario = Scenario::random(seed);
        let plan = scenario.plan(&scenario.estimate());
        let passage: Nanoseconds = plan.stages.iter().map(|stage| stage.time_ns).sum();
        for (figure, length) in [
            (Critical::Latency, plan.predicted.latency_ns),
            (Critical::Passage, passage),
        ] {
            let path = path(&plan, figure);
            prop_assert!(is_contiguous(&path), "{path:?}");
            prop_assert_eq!(path.frames, 1);
            prop_assert_eq!(path.length(), length);
            let (first, last) = (path.steps.first().unwrap(), path.steps.last().unwrap());
            prop_assert_eq!((first.start, last.end), (Nanoseconds::ZERO, length));
            prop_assert_eq!(first.waited_for, WaitedFor::Frame);
        }
    }

    #[test]
    fn the_steps_of_a_passage_stand_where_the_plan_has_them(seed: u64) {
        let scenario = Scenario::random(seed);
        let plan = scenario.plan(&scenario.estimate());
        for step in path(&plan, Critical::Passage).steps {
            let (stage, start, duration) = match step.work {
                CriticalWork::Task(id) => {
                    let task = &plan.tasks[id as usize];
                    (task.stage, task.start_ns, task.duration_ns)
                }
                CriticalWork::Transfer(id) => {
                    let transfer = &plan.transfers[id as usize];
                    (transfer.stage, transfer.start_ns, transfer.duration_ns)
                }
            };
            let before: Nanoseconds = plan.stages[..stage as usize]
                .iter()
                .map(|stage| stage.time_ns)
                .sum();
            prop_assert_eq!(step.stage, stage);
            prop_assert_eq!(step.start, before + start);
            prop_assert_eq!(step.duration(), duration);
        }
    }

    #[test]
    fn the_path_of_the_interval_repeats_every_so_many_intervals(seed: u64) {
        let scenario = Scenario::random(seed);
        let plan = scenario.plan(&scenario.estimate());
        let path = path(&plan, Critical::Interval);
        prop_assert!(is_contiguous(&path), "{path:?}");
        prop_assert!(path.frames >= 1);
        let whole = plan.predicted.interval_ns.times(path.frames as u64);
        prop_assert_eq!(path.length(), whole);
        // All of it happens in one simulated stream, with the first of its frames somewhere in it.
        let simulation = simulate(&plan, &SimulateOptions::default()).unwrap();
        let occurs = |first: usize| {
            path.steps.iter().all(|step| {
                let action = match step.work {
                    CriticalWork::Task(id) => Action::Launch(id),
                    CriticalWork::Transfer(id) => Action::Receive(id),
                };
                simulation.events.iter().any(|event| {
                    (event.frame, event.action) == (first + step.frame, action)
                        && (event.start, event.end) == (step.start, step.end)
                })
            })
        };
        prop_assert!((0..simulation.frames.len()).any(occurs));
    }

    #[test]
    fn reasons_are_true(seed: u64) {
        let scenario = Scenario::random(seed);
        let plan = scenario.plan(&scenario.estimate());
        for figure in [Critical::Latency, Critical::Passage, Critical::Interval] {
            let path = path(&plan, figure);
            for pair in path.steps.windows(2) {
                let (before, step) = (&pair[0], &pair[1]);
                let same_frame = before.frame == step.frame;
                match step.waited_for {
                    WaitedFor::Frame => prop_assert!(false, "only the first step waits for the frame"),
                    WaitedFor::Tensor => {
                        let written = reads_and_writes(&plan, before.work).1;
                        let read = reads_and_writes(&plan, step.work).0;
                        prop_assert!(same_frame && !written.is_disjoint(&read), "{path:?}");
                    }
                    WaitedFor::Queue => {
                        let (CriticalWork::Task(one), CriticalWork::Task(other)) =
                            (before.work, step.work)
                        else {
                            panic!("moves have no order on queues: {path:?}");
                        };
                        let queue = |task: u32| plan.tasks[task as usize].queue;
                        prop_assert!(same_frame && queue(one) == queue(other));
                    }
                    WaitedFor::PreviousStage => {
                        prop_assert!(same_frame && before.stage < step.stage);
                    }
                    WaitedFor::PreviousFrame => {
                        prop_assert!(before.frame < step.frame && before.stage == step.stage);
                    }
                    WaitedFor::BufferCopy => {
                        prop_assert!(before.frame < step.frame && before.stage > step.stage);
                    }
                }
            }
        }
    }
}

fn op<'a>(times: &'a [u32], reads: &'a [usize], writes: &'a [u64]) -> HandOp<'a> {
    HandOp {
        times,
        reads,
        writes,
    }
}

#[test]
fn a_bypass_is_on_the_path_and_what_it_bypasses_is_not() {
    // The bypass takes 20 to arrive; `a`, which it bypasses, needs 1 and a move of 5.
    let ops = [
        op(&[1, 10], &[0], &[5, 20]),
        op(&[1, 10], &[1], &[5]),
        op(&[10, 1], &[3, 2], &[1]),
    ];
    let scenario = hand(&ops, &[4], &[&[0, 0, 1]], |_| {});
    let plan = scenario.plan(&scenario.estimate());
    assert_eq!(check(&plan, &scenario.model, &scenario.costs), vec![]);
    let path = path(&plan, Critical::Latency);
    let steps: Vec<(u64, u64, WaitedFor)> = path
        .steps
        .iter()
        .map(|step| (step.start.count(), step.end.count(), step.waited_for))
        .collect();
    assert_eq!(
        steps,
        [
            (0, 1, WaitedFor::Frame),
            (1, 21, WaitedFor::Tensor),
            (21, 22, WaitedFor::Tensor),
            (22, 23, WaitedFor::Tensor),
        ]
    );
    assert_eq!(path.steps[1].work, CriticalWork::Transfer(0));
}

#[test]
fn the_slowest_stage_repeats_and_waits_for_itself() {
    let ops = [op(&[4, 4], &[0], &[1]), op(&[9, 9], &[1], &[1])];
    let scenario = hand(&ops, &[2], &[&[0], &[1]], |_| {});
    let plan = scenario.plan(&scenario.estimate());
    let path = path(&plan, Critical::Interval);
    // The move in, the task, and the move out.
    assert_eq!((path.frames, path.length().count()), (1, 11));
    assert!(path.steps.iter().all(|step| step.stage == 1));
    assert_eq!(path.steps[0].waited_for, WaitedFor::PreviousFrame);
}

#[test]
fn a_buffer_with_one_copy_makes_two_stages_take_turns() {
    let ops = [op(&[4, 4], &[0], &[1]), op(&[9, 9], &[1], &[1])];
    let scenario = hand(&ops, &[2], &[&[0], &[1]], |_| {});
    let mut plan = scenario.plan(&scenario.estimate());
    // The plan that a runtime with single buffers would follow: not one of ours.
    for command in &mut plan.frame {
        for wait in &mut command.wait {
            wait.frames_back = wait.frames_back.min(1);
        }
    }
    let path = path(&plan, Critical::Interval);
    assert_eq!((path.frames, path.length().count()), (1, 4 + 11));
    let simulation = simulate(&plan, &SimulateOptions::default()).unwrap();
    assert_eq!(simulation.interval, path.length());
    let reasons: Vec<WaitedFor> = path.steps.iter().map(|step| step.waited_for).collect();
    assert_eq!(
        reasons[..2],
        [WaitedFor::BufferCopy, WaitedFor::PreviousStage]
    );
}

#[test]
fn a_plan_that_nothing_holds_back_has_an_empty_path() {
    let ops = [op(&[4], &[0], &[1])];
    let scenario = hand(&ops, &[1], &[&[0]], |_| {});
    let mut plan = scenario.plan(&scenario.estimate());
    plan.tasks[0].work_ns = Nanoseconds::ZERO;
    let path = path(&plan, Critical::Interval);
    assert_eq!((path.steps.len(), path.length()), (0, Nanoseconds::ZERO));
}
