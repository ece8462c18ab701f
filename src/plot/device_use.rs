//! What the devices of a schedule do in a frame: how long kernels execute, and how long the longest hole is.

use paracompile_plan::Nanoseconds;
use paracompile_plan::scheduled::{CommandKind, Schedule, ScheduledCommand};

/// A span of time from the beginning of the frame.
pub(super) type Span = (Nanoseconds, Nanoseconds);

/// How a device spends a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeviceUse {
    /// Time in which at least one of its queues executes a kernel.
    pub(super) executing: Nanoseconds,
    /// The longest time between the first start and the last end of the whole frame in which no command of the device runs, the first of
    /// equals; `None` where there is no such time, or no command.
    pub(super) hole: Option<Span>,
}

/// The use of each device, in the order of the schedule's.
pub(super) fn device_use(schedule: &Schedule) -> Vec<DeviceUse> {
    let Some(frame) = device_span(schedule) else {
        let nothing = DeviceUse {
            executing: Nanoseconds::ZERO,
            hole: None,
        };
        return vec![nothing; schedule.devices.len()];
    };
    let devices = schedule.devices.iter().map(|device| {
        let own = |command: &&ScheduledCommand| command.device == device.name;
        let commands = || schedule.commands.iter().filter(own);
        let kernels = commands().filter(|command| command.what == CommandKind::Launch);
        let executing = united(kernels).into_iter();
        DeviceUse {
            executing: executing.map(|(from, to)| to - from).sum(),
            hole: largest_hole(&united(commands()), frame),
        }
    });
    devices.collect()
}

/// From the start of the first command to the end of the last one; `None` without commands.
pub(super) fn device_span(schedule: &Schedule) -> Option<Span> {
    let starts = schedule.commands.iter().map(|command| command.start_ns);
    let ends = schedule.commands.iter().map(|command| command.end_ns);
    starts.min().zip(ends.max())
}

/// The spans of commands, those that overlap or touch as one, in order of time.
fn united<'c>(commands: impl Iterator<Item = &'c ScheduledCommand>) -> Vec<Span> {
    let mut spans: Vec<Span> = commands
        .map(|command| (command.start_ns, command.end_ns))
        .collect();
    spans.sort_unstable();
    let mut joined: Vec<Span> = Vec::new();
    for (from, to) in spans {
        match joined.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            Some(_) | None => joined.push((from, to)),
        }
    }
    joined
}

/// The longest span of the frame that no busy span covers.
fn largest_hole(busy: &[Span], frame: Span) -> Option<Span> {
    busy.first()?;
    let from = std::iter::once(frame.0).chain(busy.iter().map(|span| span.1));
    let to = busy.iter().map(|span| span.0).chain([frame.1]);
    let mut largest: Option<Span> = None;
    for (from, to) in from.zip(to).filter(|(from, to)| from < to) {
        if largest.is_none_or(|(start, end)| to - from > end - start) {
            largest = Some((from, to));
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::samples;

    fn spans(commands: &[(&str, u32, u64, u64)]) -> Vec<(u64, Option<(u64, u64)>)> {
        let schedule = samples::schedule(&[("gpu", 2), ("cpu", 1)], commands);
        let uses = device_use(&schedule).into_iter();
        uses.map(|one| {
            let hole = one.hole.map(|(from, to)| (from.count(), to.count()));
            (one.executing.count(), hole)
        })
        .collect()
    }

    #[test]
    fn kernels_that_overlap_count_once_and_holes_reach_to_the_ends_of_the_frame() {
        let commands = [
            ("gpu", 0, 10, 30),
            ("gpu", 1, 20, 40),
            ("gpu", 0, 55, 60),
            ("cpu", 0, 40, 44),
        ];
        // The CPU waits from 10 to 40 and from 44 to 60.
        assert_eq!(
            spans(&commands),
            [(35, Some((40, 55))), (4, Some((10, 40)))]
        );
    }

    #[test]
    fn a_device_without_commands_has_no_hole_and_neither_has_one_that_never_rests() {
        assert_eq!(spans(&[("gpu", 0, 5, 9)]), [(4, None), (0, None)]);
        assert_eq!(spans(&[]), [(0, None), (0, None)]);
    }

    #[test]
    fn copies_fill_holes_and_are_no_execution() {
        let mut schedule = samples::schedule(&[("gpu", 1)], &[("gpu", 0, 0, 4), ("gpu", 0, 4, 9)]);
        schedule.commands[0].what = CommandKind::Write;
        let found = &device_use(&schedule)[0];
        assert_eq!((found.executing.count(), found.hole), (5, None));
    }
}
