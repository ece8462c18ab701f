//! What dispatching costs on each device, measured.
//!
//! Two kinds of frames tell it: one in which every kernel is a task, and one in which all of them are one task.
//! The time in which the device has nothing to do in the first is the dispatch overhead of its tasks, and what the second has of it
//! beyond one task is the overhead of its launches.
//! A kernel behind another one of the same task can take less than by itself, since its device is awake and its data near; so kernels are
//! measured in both.

use super::cost::Costs;
use super::outcome::Scheduled;

/// Overheads of tasks and launches, and what kernels take within a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overheads {
    /// By device.
    pub devices: Vec<Overhead>,
    /// Nanoseconds of kernels that are not the first of their task.
    pub within: Costs,
}

impl Overheads {
    /// Nanoseconds between two tasks, by device.
    pub(super) fn dispatch(&self) -> Vec<i64> {
        self.devices.iter().map(|one| one.dispatch_ns).collect()
    }
}

/// Overheads of a device, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// Between the end of a task and the start of the next one: callback, choice, enqueueing and the device's own delay.
    pub dispatch_ns: i64,
    /// The part of it that the host spends on choosing and enqueueing, which tasks of other devices wait for.
    pub host_ns: i64,
    /// Between the end of a kernel and the start of the next one of the same task.
    pub launch_ns: i64,
    /// What the host spends on enqueueing a further kernel of a task.
    pub enqueue_ns: i64,
}

impl Overhead {
    /// Of a device, from frames of everything on it with a task a kernel and with one task, of `count` kernels.
    ///
    /// What devices do nothing in tells it, and not what is left of the total time without what kernels take at other times: large kernels
    /// vary by more than all overheads.
    pub(super) fn of(apart: &Scheduled, together: &Scheduled, device: usize, count: usize) -> Self {
        let count = i64::try_from(count.max(1)).unwrap_or(i64::MAX);
        let dispatch_ns = apart.idle_ns(device) / count;
        let behind = (count - 1).max(1);
        let launch_ns = ((together.idle_ns(device) - dispatch_ns) / behind).max(0);
        let host_ns = (apart.host_ns / count).min(dispatch_ns);
        let enqueue_ns = ((together.host_ns - host_ns) / behind).max(0);
        Self {
            dispatch_ns,
            host_ns,
            launch_ns,
            enqueue_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::outcome::{Executed, What};
    use super::*;

    /// A frame of kernels of 10 ns, the first of which starts at `first`, with so much between them.
    fn frame(first: i64, between: i64, total_ns: i64, host_ns: i64) -> Scheduled {
        let command = |place: i64| Executed {
            kernel: String::new(),
            function: String::new(),
            index: 0,
            component: 0,
            what: What::Launch,
            device: String::new(),
            unit: 0,
            queue: 0,
            start_ns: first + place * (10 + between),
            end_ns: first + place * (10 + between) + 10,
        };
        Scheduled {
            total_ns,
            host_ns,
            commands: (0..3).map(command).collect(),
            ..Scheduled::default()
        }
    }

    #[test]
    fn overheads_are_the_time_in_which_a_device_waits() {
        let apart = frame(40, 120, 330, 80);
        let together = frame(40, 5, 140, 50);
        // 300 for three tasks; 110 for one of 100 and two launches more.
        let expected = Overhead {
            dispatch_ns: 100,
            host_ns: 26,
            launch_ns: 5,
            enqueue_ns: 12,
        };
        assert_eq!(Overhead::of(&apart, &together, 0, 3), expected);
    }
}
