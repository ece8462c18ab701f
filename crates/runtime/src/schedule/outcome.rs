//! What a frame did, and when.

use paracompile_plan::device_use::united;

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

    /// Time between the first choice and the last callback in which a device had nothing to do.
    pub(super) fn idle_ns(&self, unit: usize) -> i64 {
        let own = self.commands.iter().filter(|one| one.unit == unit);
        let busy = united(own.map(|one| (one.start_ns, one.end_ns)));
        let busy = busy
            .iter()
            .map(|(start, end)| end.min(&self.total_ns) - start.max(&0));
        self.total_ns - busy.map(|time| time.max(0)).sum::<i64>()
    }
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
    fn what_no_command_covers_is_idle() {
        let frame = Scheduled {
            total_ns: 100,
            commands: vec![
                command(0, What::Launch, -2, 5),
                command(0, What::Launch, 10, 30),
                command(0, What::Read, 20, 40),
                command(0, What::Launch, 65, 90),
                command(1, What::Launch, 0, 101),
            ],
            ..Scheduled::default()
        };
        let idle = [0, 1, 2].map(|unit| frame.idle_ns(unit));
        assert_eq!(idle, [40, 0, 100]);
    }
}
