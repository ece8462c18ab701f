//! Every plan computes the same, whatever runs where and whatever is delayed.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use paracompile_runtime::execute::{Delays, Enqueueing, Mode, Options, Request, Sharing, prepare};
use paracompile_runtime::model;

use crate::devices::parts;
use crate::network::{
    PLANS, Reference, bytes, constants, difference, floats, input, plan, program,
};

fn request(frames: usize, interrupted: &AtomicBool) -> Request<'_> {
    Request {
        mode: Mode::Stream,
        frames,
        patience: Duration::from_secs(60),
        interrupted,
    }
}

/// Runs frames with inputs of their own and compares every output.
fn check(name: &str, frames: usize, options: Options) {
    const INPUTS: usize = 5;
    let program = program();
    let plan = plan(name);
    model::check(&plan, &program).unwrap();
    let parts = parts(&plan);
    let constants = constants(&program);
    let prepared = prepare(&plan, &program, &parts.bound, &constants, options).unwrap();
    let reference = Reference::new(&program);
    let expected: Vec<Vec<f32>> = (0..INPUTS)
        .map(|frame| reference.output(&input(frame)))
        .collect();
    let inputs: Vec<Vec<u8>> = (0..INPUTS).map(|frame| bytes(&input(frame))).collect();
    let mut feed = |frame: usize| vec![inputs[frame % INPUTS].clone()];
    let mut seen = 0;
    let mut sink = |frame: usize, outputs: Vec<Vec<u8>>| {
        assert_eq!(frame, seen, "{name}: frames come out in order");
        seen += 1;
        let found = floats(&outputs[0]);
        let difference = difference(&found, &expected[frame % INPUTS]);
        assert!(
            difference < 1e-3,
            "{name}, frame {frame}: off by {difference}"
        );
    };
    let never = AtomicBool::new(false);
    let timeline = prepared
        .run(request(frames, &never), Some(&mut feed), Some(&mut sink))
        .unwrap();
    assert_eq!(seen, frames, "{name}: nothing is lost");
    // Parts of one device have one clock; moves are on the host's, which is known to some microseconds.
    let tolerance = match options.sharing {
        Sharing::Platform => 0,
        Sharing::Memory => 100_000,
    };
    assert_eq!(
        timeline.overtaken(prepared.order(), tolerance),
        [],
        "{name}"
    );
}

#[test]
fn all_plans_compute_the_same() {
    for name in PLANS {
        check(name, 12, Options::for_plan(&plan(name)));
    }
}

#[test]
fn moves_through_the_host_change_nothing() {
    for name in PLANS.into_iter().filter(|name| !name.starts_with("shared")) {
        let options = Options {
            sharing: Sharing::Memory,
            ..Options::for_plan(&plan(name))
        };
        check(name, 12, options);
    }
}

#[test]
fn tasks_that_are_enqueued_when_they_are_ready_compute_the_same() {
    for name in PLANS {
        let sharing = if name.starts_with("shared") {
            Sharing::Platform
        } else {
            Sharing::Memory
        };
        let options = Options {
            sharing,
            enqueueing: Enqueueing::WhenReady,
            ..Options::for_plan(&plan(name))
        };
        check(name, 12, options);
    }
}

#[test]
fn a_thousand_frames_with_random_delays_lose_nothing() {
    for (name, sharing, enqueueing) in [
        ("shared-pipe-only-2", Sharing::Platform, Enqueueing::Ahead),
        ("three-hybrid-2", Sharing::Memory, Enqueueing::Ahead),
        ("three-hybrid-2", Sharing::Memory, Enqueueing::WhenReady),
    ] {
        let options = Options {
            delays: Some(Delays::Random(11)),
            sharing,
            enqueueing,
            ..Options::for_plan(&plan(name))
        };
        check(name, 1_000, options);
    }
}
