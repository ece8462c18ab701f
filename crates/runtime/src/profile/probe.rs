//! What it costs the host to enqueue a command, and a queue to wait for another one.

use opencl3::command_queue::CommandQueue;
use opencl3::event::Event;
use std::time::Instant;

use super::chain::{finish, nanoseconds_between};
use super::machine::Station;
use super::statistics::real;
use crate::launch::{Launch, Place, Places};
use crate::lower::{Argument, Phase, Source, Step};
use crate::opencl::{Context, OpenclError};

const PROBE: Source = Source {
    name: "probe.cl",
    text: include_str!("../kernels/probe.cl"),
};
/// Commands that are enqueued in a row to learn what one costs.
const ENQUEUED: usize = 100;

/// A launch that does next to nothing.
pub(super) fn probe(context: &Context) -> Result<Launch, OpenclError> {
    let memory = context.allocate(4)?;
    let places = Places {
        results: vec![Some(Place { memory, first: 0 })],
        ..Places::default()
    };
    let step = Step {
        phase: Phase::Frame,
        source: PROBE,
        kernel: "probe",
        options: String::new(),
        arguments: vec![Argument::Result(0)],
        global: vec![1],
        local: None,
    };
    Launch::new(context, &step, &places)
}

/// Seconds that a bare loop takes for each command that it enqueues.
pub(super) fn enqueue_seconds(station: &Station, probe: &Launch) -> Result<f64, OpenclError> {
    let started = Instant::now();
    for _ in 0..ENQUEUED {
        drop(probe.enqueue(&station.queue, &[])?);
    }
    let seconds = started.elapsed().as_secs_f64() / real(ENQUEUED);
    finish(&station.queue)?;
    Ok(seconds)
}

/// Seconds that a launch takes behind another one of its queue.
pub(super) fn launch_seconds(
    queue: &CommandQueue,
    probe: &Launch,
    repetitions: usize,
) -> Result<f64, OpenclError> {
    let first = probe.enqueue(queue, &[])?;
    let mut last = None;
    for _ in 0..repetitions {
        last = Some(probe.enqueue(queue, &[])?);
    }
    finish(queue)?;
    between(&first, last.as_ref(), repetitions)
}

/// Seconds that a launch takes behind one of another queue of the same context, as the mean over hops to and fro.
pub(super) fn hop_seconds(
    queues: [&CommandQueue; 2],
    probes: [&Launch; 2],
    repetitions: usize,
) -> Result<f64, OpenclError> {
    let first = probes[0].enqueue(queues[0], &[])?;
    let mut last: Option<Event> = None;
    for hop in 0..repetitions {
        let side = (hop + 1) % 2;
        let before = last.as_ref().unwrap_or(&first);
        let event = probes[side].enqueue(queues[side], &[before.get()])?;
        last = Some(event);
    }
    for queue in queues {
        flush(queue)?;
    }
    for queue in queues {
        finish(queue)?;
    }
    between(&first, last.as_ref(), repetitions)
}

fn between(first: &Event, last: Option<&Event>, repetitions: usize) -> Result<f64, OpenclError> {
    last.map_or(Ok(0.0), |last| {
        Ok(nanoseconds_between(first, last)? / 1e9 / real(repetitions))
    })
}

/// Hands everything that is enqueued to the device.
pub(super) fn flush(queue: &CommandQueue) -> Result<(), OpenclError> {
    use crate::opencl::Doing;
    queue.flush().doing(|| "starting a queue".to_owned())
}
