//! What a frame did, and when.

/// A command of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executed {
    /// The kernel that it is of.
    pub kernel: String,
    /// Which kernel, by index.
    pub index: usize,
    /// The function of the kernel.
    pub function: String,
    /// The component of the kernel, by index.
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
}
