//! What goes wrong ends with a message, and never hangs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use paracompile_runtime::execute::{
    Delays, Enqueueing, Mode, Options, Request, RunError, Sharing, prepare,
};
use paracompile_runtime::lower::Source;
use paracompile_runtime::model::{self, ModelError};
use paracompile_runtime::opencl::{Context, OpenclError};

use crate::devices::{cpu, parts};
use crate::network::{bytes, constants, input, plan, program};

#[test]
fn a_plan_of_another_model_is_refused() {
    let mut plan = plan("shared-single-1");
    plan.model.graph_digest = "0".repeat(64);
    let error = model::check(&plan, &program()).unwrap_err();
    assert!(matches!(error, ModelError::Wrong(_)), "{error}");
}

#[test]
fn a_processor_without_a_device_is_named() {
    let (program, plan) = (program(), plan("shared-para-only-1"));
    let mut parts = parts(&plan);
    parts.bound.pop();
    let constants = constants(&program);
    let options = Options::for_plan(&plan);
    let error = prepare(&plan, &program, &parts.bound, &constants, options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "processor `b` of the plan is bound to no device"
    );
}

#[test]
fn an_input_of_another_size_is_refused() {
    let (program, plan) = (program(), plan("shared-single-1"));
    let parts = parts(&plan);
    let constants = constants(&program);
    let options = Options::for_plan(&plan);
    let prepared = prepare(&plan, &program, &parts.bound, &constants, options).unwrap();
    let error = prepared.set_inputs(&[vec![0; 8]]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "input `input` needs 36864 bytes, but 8 were given"
    );
}

#[test]
fn an_interrupt_ends_the_stream_with_the_frames_that_are_complete() {
    let (program, plan) = (program(), plan("shared-pipe-only-2"));
    let parts = parts(&plan);
    let constants = constants(&program);
    let options = Options::for_plan(&plan);
    let prepared = prepare(&plan, &program, &parts.bound, &constants, options).unwrap();
    prepared.set_inputs(&[bytes(&input(0))]).unwrap();
    let interrupted = AtomicBool::new(false);
    let request = Request {
        mode: Mode::Stream,
        frames: usize::MAX,
        patience: Duration::from_secs(60),
        interrupted: &interrupted,
    };
    let mut sink = |frame: usize, _: Vec<Vec<u8>>| {
        if frame == 20 {
            interrupted.store(true, Ordering::Relaxed);
        }
    };
    let timeline = prepared.run(request, None, Some(&mut sink)).unwrap();
    assert!(timeline.is_interrupted);
    assert!(timeline.frames.len() >= 21 && timeline.frames.len() < 60);
}

#[test]
fn a_kernel_that_does_not_build_comes_with_what_the_compiler_says() {
    const BROKEN: Source = Source {
        name: "broken.cl",
        text: "__kernel void broken(void) { this is no language; }",
    };
    let context = Context::new(&[cpu().device.id()]).unwrap();
    let error = context.kernel(BROKEN, "", "broken").unwrap_err();
    let OpenclError::Build {
        source_name, log, ..
    } = &error
    else {
        panic!("{error}");
    };
    assert_eq!(*source_name, "broken.cl");
    assert!(!log.trim().is_empty());
}

#[test]
fn memory_that_nobody_has_is_an_error() {
    let context = Context::new(&[cpu().device.id()]).unwrap();
    let error = context.allocate(1 << 46).unwrap_err();
    assert!(matches!(error, OpenclError::OutOfMemory { .. }), "{error}");
}

#[test]
fn a_run_that_makes_no_progress_is_given_up() {
    let (program, plan) = (program(), plan("three-hybrid-2"));
    let parts = parts(&plan);
    let constants = constants(&program);
    let options = Options {
        delays: Some(Delays::Longest),
        sharing: Sharing::Memory,
        ..Options::for_plan(&plan)
    };
    let prepared = prepare(&plan, &program, &parts.bound, &constants, options).unwrap();
    prepared.set_inputs(&[bytes(&input(0))]).unwrap();
    let interrupted = AtomicBool::new(false);
    let request = Request {
        mode: Mode::Stream,
        frames: 200,
        patience: Duration::ZERO,
        interrupted: &interrupted,
    };
    let error = prepared.run(request, None, None).unwrap_err();
    assert!(matches!(error, RunError::Stuck { .. }), "{error}");
    // As `run` does: what belongs to a device that hangs is not released.
    std::mem::forget(prepared);
}

#[test]
fn a_device_that_fails_ends_the_run_with_the_task_that_failed() {
    let program = program();
    for (name, sharing, enqueueing) in [
        ("shared-pipe-only-2", Sharing::Platform, Enqueueing::Ahead),
        ("three-hybrid-2", Sharing::Memory, Enqueueing::Ahead),
        ("three-hybrid-2", Sharing::Memory, Enqueueing::WhenReady),
    ] {
        let plan = plan(name);
        let parts = parts(&plan);
        let constants = constants(&program);
        let options = Options {
            sharing,
            enqueueing,
            fault: Some((7, 1)),
            ..Options::for_plan(&plan)
        };
        let prepared = prepare(&plan, &program, &parts.bound, &constants, options).unwrap();
        prepared.set_inputs(&[bytes(&input(0))]).unwrap();
        let interrupted = AtomicBool::new(false);
        let request = Request {
            mode: Mode::Stream,
            frames: 50,
            patience: Duration::from_secs(30),
            interrupted: &interrupted,
        };
        let error = prepared.run(request, None, None).unwrap_err();
        let RunError::Failed { frame, command, .. } = &error else {
            panic!("{name}: {error}");
        };
        assert_eq!(*frame, 7, "{name}: {error}");
        assert!(command.starts_with("task 1 "), "{name}: {error}");
        std::mem::forget(prepared);
    }
}
