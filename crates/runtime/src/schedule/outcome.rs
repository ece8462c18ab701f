//! What a frame did, and when.

use serde::Serialize;

/// A command of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executed {
    /// The kernel that it is of.
    pub kernel: String,
    /// Which kernel, by index.
    pub index: usize,
    /// The function of the kernel.
    pub function: String,
    /// The task that it was dispatched with: which component, by the order of their first kernels.
    pub component: usize,
    /// What it does.
    pub what: What,
    /// The device, by name.
    pub device: String,
    /// The same by index.
    pub unit: usize,
    /// The queue of the device, from 0.
    pub queue: usize,
    /// Nanoseconds from the beginning of the frame.
    pub start_ns: i64,
    /// The same.
    pub end_ns: i64,
}

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The host's data goes to a device.
    Write,
    /// The kernel runs.
    Launch,
    /// A device's data goes to the host.
    Read,
}

/// A frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scheduled {
    /// From the first choice to the last callback.
    pub total_ns: i64,
    /// From the start of the first command to the end of the last one.
    pub device_span_ns: i64,
    /// What the host spent on choosing and enqueueing.
    pub host_ns: i64,
    /// All commands, in the order in which they were enqueued.
    pub commands: Vec<Executed>,
}

impl Scheduled {
    /// Time in which the host ran and no device did: before the first command and behind the last one.
    pub fn overhead_ns(&self) -> i64 {
        self.total_ns - self.device_span_ns
    }

    /// The share of the total time of all `devices` in which kernels ran.
    /// Kernels of several queues of a device count each, so it can be more than one.
    pub fn executing(&self, devices: usize) -> f64 {
        let launches = self.commands.iter().filter(|one| one.what == What::Launch);
        let busy: i64 = launches.map(|one| one.end_ns - one.start_ns).sum();
        let all = self.total_ns * i64::try_from(devices).unwrap_or(i64::MAX);
        #[expect(
            clippy::cast_precision_loss,
            reason = "a share of nanoseconds that fit a double for weeks"
        )]
        let share = busy as f64 / all.max(1) as f64;
        share
    }

    /// When a device had nothing to do between the first choice and the last callback.
    pub fn holes(&self, unit: usize) -> Holes {
        let own = self.commands.iter().filter(|one| one.unit == unit);
        let mut spans: Vec<(i64, i64)> = own.map(|one| (one.start_ns, one.end_ns)).collect();
        spans.sort_unstable();
        spans.push((self.total_ns, self.total_ns));
        let (mut holes, mut end) = (Holes::default(), 0);
        for (start, stop) in spans {
            let hole = (start - end).max(0);
            holes.largest_ns = holes.largest_ns.max(hole);
            holes.total_ns += hole;
            end = end.max(stop);
        }
        holes
    }
}

/// Time in which a device does nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Holes {
    /// The longest time without a command.
    pub largest_ns: i64,
    /// All of it.
    pub total_ns: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(unit: usize, what: What, start_ns: i64, end_ns: i64) -> Executed {
        Executed {
            kernel: String::new(),
            function: String::new(),
            index: 0,
            component: 0,
            what,
            device: String::new(),
            unit,
            queue: 0,
            start_ns,
            end_ns,
        }
    }

    #[test]
    fn holes_are_what_no_command_covers() {
        let frame = Scheduled {
            total_ns: 100,
            commands: vec![
                command(0, What::Launch, 10, 30),
                command(0, What::Read, 20, 40),
                command(0, What::Launch, 65, 90),
                command(1, What::Launch, 0, 100),
            ],
            ..Scheduled::default()
        };
        let holes = |largest_ns, total_ns| Holes {
            largest_ns,
            total_ns,
        };
        assert_eq!(frame.holes(0), holes(25, 45));
        assert_eq!(frame.holes(1), holes(0, 0));
        assert_eq!(frame.holes(2), holes(100, 100));
        // 20, 25 and 100 of two times 100.
        assert!((frame.executing(2) - 0.725).abs() < 1e-12);
    }
}
