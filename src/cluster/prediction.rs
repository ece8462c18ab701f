//! What a frame takes with the host that enqueues it: a discrete-event simulation in integers.
//!
//! Every resource serves commands in the order in which they were enqueued: a queue because it is in order, and the engines of a device
//! because kernels of different queues gain nothing from each other here and copies of one direction share the bus.
//! So the simulation is a timed event graph, in which every time is a maximum of sums (Baccelli et al., "Synchronization and Linearity",
//! section 2.3): one pass in the order of the commands, and no anomaly of list schedules (Graham 1969) can make a slower host faster.

use std::collections::BTreeMap;

use paracompile_frontend::soc::ProcessorId;
use paracompile_plan::Nanoseconds;

use super::{Command, Engine};

/// When devices begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Starts {
    /// With the first kernel, while the host enqueues the others: our runtime.
    #[default]
    First,
    /// When the host has enqueued everything: the published measurements of `PySchedCL`, whose device spans hold no time of the host.
    Enqueued,
}

/// The one host thread that enqueues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// Time to enqueue a kernel with its copies, `c`.
    pub enqueue: Nanoseconds,
    /// When devices begin.
    pub starts: Starts,
}

/// What a frame takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// From the first enqueueing to the last end.
    pub total: Nanoseconds,
    /// From the first start of a command to the last end.
    pub device_span: Nanoseconds,
    /// What the host spends on enqueueing.
    pub host: Nanoseconds,
    /// The last end on each device.
    pub ends: BTreeMap<ProcessorId, Nanoseconds>,
}

/// What a frame of these commands takes.
pub fn predict(commands: &[Command], host: Host) -> Prediction {
    let times = timetable(commands, host);
    let mut ends: BTreeMap<ProcessorId, Nanoseconds> = BTreeMap::new();
    for (command, &(_, end)) in commands.iter().zip(&times) {
        let last = ends.entry(command.device).or_default();
        *last = (*last).max(end);
    }
    let first = times.iter().map(|(start, _)| *start).min();
    let total = ends.values().copied().max().unwrap_or_default();
    let kernels = position_of_kernels(commands)
        .last()
        .map_or(0, |last| last + 1);
    Prediction {
        total,
        device_span: total - first.unwrap_or_default(),
        host: host.enqueue.times(kernels),
        ends,
    }
}

/// Start and end of each command: it starts when it is enqueued, when the one before it on its queue and the one before it on its engine have ended, and when all that it waits for has ended.
pub fn timetable(commands: &[Command], host: Host) -> Vec<(Nanoseconds, Nanoseconds)> {
    let positions = position_of_kernels(commands);
    let count = positions.last().map_or(0, |last| last + 1);
    let mut queues: BTreeMap<(ProcessorId, usize), Nanoseconds> = BTreeMap::new();
    let mut engines: BTreeMap<(ProcessorId, Engine), Nanoseconds> = BTreeMap::new();
    let mut times: Vec<(Nanoseconds, Nanoseconds)> = Vec::with_capacity(commands.len());
    for (command, position) in commands.iter().zip(positions) {
        let enqueued = host.enqueue.times(match host.starts {
            Starts::First => position + 1,
            Starts::Enqueued => count,
        });
        let queue = queues.entry((command.device, command.queue)).or_default();
        let engine = engines.entry((command.device, command.engine)).or_default();
        let waits = command.after.iter().map(|&before| times[before].1);
        let start = waits.fold(enqueued.max(*queue).max(*engine), Ord::max);
        let end = start + command.duration;
        (*queue, *engine) = (end, end);
        times.push((start, end));
    }
    times
}

/// For each command, how many kernels were enqueued before its own.
fn position_of_kernels(commands: &[Command]) -> Vec<u64> {
    let mut position = 0;
    let mut positions = Vec::with_capacity(commands.len());
    for (index, command) in commands.iter().enumerate() {
        if index > 0 && commands[index - 1].kernel != command.kernel {
            position += 1;
        }
        positions.push(position);
    }
    positions
}
