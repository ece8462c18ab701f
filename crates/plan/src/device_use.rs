//! What the devices of a schedule do in a frame: how long kernels execute, and when nothing runs.

use crate::Nanoseconds;
use crate::scheduled::{CommandKind, Schedule, ScheduledCommand};

/// From one time of a frame to another.
pub type Span = (Nanoseconds, Nanoseconds);

/// How a device spends a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceUse {
    /// Time in which at least one of its queues executes a kernel.
    pub executing: Nanoseconds,
    /// Time in which none of its commands runs.
    pub idle: Nanoseconds,
    /// The longest span in which none of its commands runs, the first of equals; `None` where it never rests.
    pub largest_hole: Option<Span>,
}

impl Schedule {
    /// The use of each device between the first choice and the last callback of the frame, in the order of the devices.
    pub fn device_use(&self) -> Vec<DeviceUse> {
        let devices = self.devices.iter().map(|device| {
            let own = |command: &&ScheduledCommand| command.device == device.name;
            let commands = || self.commands.iter().filter(own);
            let kernels = commands().filter(|command| command.what == CommandKind::Launch);
            let holes = || self.holes(commands());
            DeviceUse {
                executing: united(kernels.map(span)).iter().map(length).sum(),
                idle: holes().iter().map(length).sum(),
                largest_hole: holes().into_iter().reduce(|most, one| {
                    if length(&one) > length(&most) {
                        one
                    } else {
                        most
                    }
                }),
            }
        });
        devices.collect()
    }

    /// The share of the total time of all devices in which kernels execute, from 0 to 1.
    pub fn executing(&self) -> f64 {
        let executing: Nanoseconds = self.device_use().iter().map(|one| one.executing).sum();
        let devices = u32::try_from(self.devices.len()).unwrap_or(u32::MAX);
        let all = self.total_ns.to_seconds() * f64::from(devices);
        if all > 0.0 {
            executing.to_seconds() / all
        } else {
            0.0
        }
    }

    /// From the start of the first command to the end of the last one; `None` without commands.
    pub fn device_span(&self) -> Option<Span> {
        let starts = self.commands.iter().map(|command| command.start_ns);
        let ends = self.commands.iter().map(|command| command.end_ns);
        starts.min().zip(ends.max())
    }

    /// What none of `commands` covers.
    fn holes<'c>(&self, commands: impl Iterator<Item = &'c ScheduledCommand>) -> Vec<Span> {
        let last = self.device_span().map_or(Nanoseconds::ZERO, |span| span.1);
        let busy = united(commands.map(span));
        let from = busy.iter().map(|span| span.1);
        let to = busy.iter().map(|span| span.0);
        let from = std::iter::once(Nanoseconds::ZERO).chain(from);
        let to = to.chain([self.total_ns.max(last)]);
        from.zip(to).filter(|(from, to)| from < to).collect()
    }
}

const fn span(command: &ScheduledCommand) -> Span {
    (command.start_ns, command.end_ns)
}

fn length(span: &Span) -> Nanoseconds {
    span.1 - span.0
}

/// The same time in spans that do not overlap or touch, in order.
pub fn united<T: Ord + Copy>(spans: impl Iterator<Item = (T, T)>) -> Vec<(T, T)> {
    let mut spans: Vec<(T, T)> = spans.collect();
    spans.sort_unstable();
    let mut joined: Vec<(T, T)> = Vec::new();
    for (from, to) in spans {
        match joined.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            Some(_) | None => joined.push((from, to)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduled::{ScheduleKind, ScheduledDevice};

    type Hole = Option<(u64, u64)>;

    fn schedule(commands: &[(&str, CommandKind, u64, u64)], total: u64) -> Schedule {
        let device = |name: &str| ScheduledDevice {
            name: name.to_owned(),
            device: name.to_owned(),
            queues: 2,
            kernels: 0,
        };
        let commands = commands
            .iter()
            .map(|&(device, what, start, end)| ScheduledCommand {
                kernel: "k".to_owned(),
                function: "f".to_owned(),
                component: 0,
                what,
                device: device.to_owned(),
                queue: 0,
                start_ns: Nanoseconds::new(start),
                end_ns: Nanoseconds::new(end),
            });
        Schedule {
            schema: 1,
            kind: ScheduleKind::Schedule,
            graph: "g".to_owned(),
            policy: "eager".to_owned(),
            rule: None,
            devices: vec![device("gpu"), device("cpu")],
            kernels: 1,
            components: 1,
            frames: 1,
            total_ns: Nanoseconds::new(total),
            device_span_ns: Nanoseconds::ZERO,
            overhead_ns: Nanoseconds::ZERO,
            host_ns: Nanoseconds::ZERO,
            commands: commands.collect(),
        }
    }

    fn uses(commands: &[(&str, CommandKind, u64, u64)], total: u64) -> Vec<(u64, u64, Hole)> {
        let uses = schedule(commands, total).device_use().into_iter();
        uses.map(|one| {
            let hole = one
                .largest_hole
                .map(|(from, to)| (from.count(), to.count()));
            (one.executing.count(), one.idle.count(), hole)
        })
        .collect()
    }

    use CommandKind::{Launch, Read};

    #[test]
    fn kernels_that_overlap_count_once_and_holes_reach_to_the_ends_of_the_frame() {
        let commands = [
            ("gpu", Launch, 10, 30),
            ("gpu", Launch, 20, 40),
            ("gpu", Launch, 55, 60),
            ("cpu", Launch, 40, 44),
        ];
        let found = uses(&commands, 62);
        assert_eq!(found[0], (35, 27, Some((40, 55))));
        assert_eq!(found[1], (4, 58, Some((0, 40))));
        let executing = schedule(&commands, 62).executing();
        assert!((executing - 39.0 / 124.0).abs() < 1e-12);
    }

    #[test]
    fn a_device_without_commands_is_one_hole_and_one_that_never_rests_has_none() {
        assert_eq!(
            uses(&[("gpu", Launch, 0, 9)], 9),
            [(9, 0, None), (0, 9, Some((0, 9)))]
        );
        assert_eq!(uses(&[], 0), [(0, 0, None), (0, 0, None)]);
    }

    #[test]
    fn copies_fill_holes_and_are_no_execution() {
        let commands = [("gpu", Launch, 0, 4), ("gpu", Read, 4, 9)];
        assert_eq!(uses(&commands, 9)[0], (4, 0, None));
    }
}
