//! What a simulation takes into account.

/// How a plan is run; the default is the model of `docs/model.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulateOptions {
    /// Frames of the stream, at least two; the last one is reported.
    pub frames: usize,
    /// Whether transfers queue for their link.
    pub links: Links,
    /// When processors slow each other.
    pub contention: Contention,
    /// Whether the host takes time.
    pub host: Host,
}

impl Default for SimulateOptions {
    /// Fifty frames by the rules of the model.
    fn default() -> Self {
        Self {
            frames: 50,
            links: Links::Parallel,
            contention: Contention::WholePlan,
            host: Host::Ignored,
        }
    }
}

/// How many transfers a link carries at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Any number, each at full speed (rule M3).
    Parallel,
    /// One; others wait in the order in which they became ready, ties by frame and command.
    /// A link leads from one memory to one memory.
    Serial,
}

/// When processors slow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contention {
    /// All the time, by all processors that the plan uses (rule M4).
    WholePlan,
    /// While they are busy together.
    /// A task goes on at the rate 1/κ for the set that is busy right now; its end is rounded up to whole nanoseconds.
    Dynamic,
}

/// Whether the host takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// Commands start when what they wait for has ended.
    Ignored,
    /// One thread a stage waits for `begin`, then enqueues the commands of the stage in the order of the file; each takes `enqueue_ns`, a task of several kernels that for each of them, and starts no earlier than that (rule M10); a task takes `dispatch_ns` of its processor longer.
    Enqueues,
}
