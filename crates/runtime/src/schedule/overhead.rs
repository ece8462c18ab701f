//! What dispatching costs on each device, measured.
//!
//! Two kinds of frames tell it: one in which every kernel is a task, and one in which all of them are one task.
//! What the first takes beyond its kernels is the dispatch overhead of its tasks, and what the second takes beyond that of one task is
//! the overhead of its launches.
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

/// A frame of everything on one device, as it is needed here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample<'s> {
    /// The median frame.
    pub(super) frame: &'s Scheduled,
    /// Nanoseconds of all kernels.
    pub(super) kernels: &'s [i64],
}

impl Overhead {
    /// From frames with a task a kernel and with one task.
    pub(super) fn of(apart: Sample<'_>, together: Sample<'_>) -> Self {
        let count = i64::try_from(apart.kernels.len().max(1)).unwrap_or(i64::MAX);
        let beyond =
            |sample: Sample<'_>| sample.frame.total_ns - sample.kernels.iter().sum::<i64>();
        let dispatch_ns = (beyond(apart) / count).max(0);
        // The first kernel of a task is as by itself.
        let first = together.kernels.first().zip(apart.kernels.first());
        let first = first.map_or(0, |(together, apart)| apart - together);
        let behind = (count - 1).max(1);
        let launch_ns = ((beyond(together) - first - dispatch_ns) / behind).max(0);
        let host_ns = (apart.frame.host_ns / count).min(dispatch_ns);
        let enqueue_ns = ((together.frame.host_ns - host_ns) / behind).max(0);
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
    use super::*;

    #[test]
    fn overheads_are_what_frames_take_beyond_their_kernels() {
        let frame = |total_ns, host_ns| Scheduled {
            total_ns,
            host_ns,
            ..Scheduled::default()
        };
        let (apart, together) = (frame(430, 80), frame(166, 50));
        let sample = |frame, kernels| Sample { frame, kernels };
        let found = Overhead::of(sample(&apart, &[10, 10, 10]), sample(&together, &[6, 6, 6]));
        // 400 beyond three kernels; 148 beyond them in one task, of which the first takes 4 more and its dispatch 133.
        let expected = Overhead {
            dispatch_ns: 133,
            host_ns: 26,
            launch_ns: 5,
            enqueue_ns: 12,
        };
        assert_eq!(found, expected);
    }
}
