//! Stages and branches really run at the same time.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use paracompile_runtime::execute::{
    Delays, Mode, Options, Order, Request, Sharing, Span, Timeline, Work, prepare,
};

use crate::devices::parts;
use crate::network::{bytes, constants, input, plan, program};

fn run(name: &str, sharing: Sharing) -> (Order, Timeline) {
    let (program, plan) = (program(), plan(name));
    let parts = parts(&plan);
    // Tasks of a few microseconds need not meet on a busy machine; delayed ones take some milliseconds.
    let options = Options {
        delays: Some(Delays::Longest),
        sharing,
        ..Options::for_plan(&plan)
    };
    let constants = constants(&program);
    let prepared = prepare(&plan, &program, &parts.bound, &constants, options).unwrap();
    prepared.set_inputs(&[bytes(&input(0))]).unwrap();
    let interrupted = AtomicBool::new(false);
    let request = Request {
        mode: Mode::Stream,
        frames: 30,
        patience: Duration::from_secs(60),
        interrupted: &interrupted,
    };
    let timeline = prepared.run(request, None, None).unwrap();
    (prepared.order().clone(), timeline)
}

fn overlaps(one: Span, other: Span) -> bool {
    one.start < other.end && other.start < one.end
}

/// Spans of tasks with their frame and stage.
fn tasks(order: &Order, timeline: &Timeline) -> Vec<(usize, u32, u32, Span)> {
    let mut found = Vec::new();
    for (frame, times) in timeline.frames.iter().enumerate() {
        for (node, &span) in order.nodes.iter().zip(&times.spans) {
            if matches!(node.work, Work::Task(_)) {
                found.push((frame, node.stage, node.queue, span));
            }
        }
    }
    found
}

#[test]
fn two_stages_work_on_two_frames_at_once() {
    for (name, sharing) in [
        ("shared-pipe-only-2", Sharing::Platform),
        ("apart-pipe-only-2", Sharing::Memory),
    ] {
        let (order, timeline) = run(name, sharing);
        let tasks = tasks(&order, &timeline);
        let is_pair = |one: &&(usize, u32, u32, Span)| {
            tasks.iter().any(|other| {
                other.0 == one.0 + 1 && other.1 == 0 && one.1 == 1 && overlaps(one.3, other.3)
            })
        };
        let pairs = tasks.iter().filter(is_pair).count();
        assert!(
            pairs > 0,
            "{name}: {pairs} tasks overlap with the next frame's"
        );
    }
}

#[test]
fn two_branches_of_a_frame_run_at_once() {
    for (name, sharing) in [
        ("shared-para-only-1", Sharing::Platform),
        ("apart-para-only-1", Sharing::Memory),
    ] {
        let (order, timeline) = run(name, sharing);
        let tasks = tasks(&order, &timeline);
        let is_pair = |one: &&(usize, u32, u32, Span)| {
            tasks
                .iter()
                .any(|other| other.0 == one.0 && other.2 > one.2 && overlaps(one.3, other.3))
        };
        let pairs = tasks.iter().filter(is_pair).count();
        assert!(
            pairs > 0,
            "{name}: {pairs} tasks overlap with the other branch's"
        );
    }
}

#[test]
fn frames_of_a_stage_do_not_overlap() {
    let (order, timeline) = run("three-hybrid-2", Sharing::Memory);
    for stage in 0..order.stages.len() {
        for frame in 1..timeline.frames.len() {
            let begin = timeline.begin(&order, frame, stage);
            assert!(begin >= timeline.end(&order, frame - 1, stage));
        }
    }
}
