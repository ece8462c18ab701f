//! Why a plan cannot be simulated.

use std::fmt;

use paracompile_plan::plan::Action;

/// A command of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandAt {
    /// Index in the plan's `frame`.
    pub command: u32,
    /// What it does.
    pub action: Action,
    /// Of which frame.
    pub frame: usize,
}

impl fmt::Display for CommandAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, id) = match self.action {
            Action::Launch(id) => ("launch", id),
            Action::Send(id) => ("send", id),
            Action::Receive(id) => ("receive", id),
            Action::Begin(id) => ("begin", id),
            Action::End(id) => ("end", id),
            Action::Write(id) => ("write", id),
        };
        write!(
            f,
            "command {} ({verb} {id}) of frame {}",
            self.command, self.frame
        )
    }
}

/// The plan's fault, but for the two limits, which are the caller's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimulateError {
    /// One frame shows no interval.
    #[error("frames: {0} are too few, a steady interval needs two")]
    TooFewFrames(usize),
    /// More than fits in a reasonable amount of memory.
    #[error("frames: {frames} of {commands} commands are too many, the limit is {limit} commands")]
    TooManyCommands {
        /// Frames asked for.
        frames: usize,
        /// Commands a frame.
        commands: usize,
        /// The largest product.
        limit: usize,
    },
    /// The plan has no stage.
    #[error("stages: there are none")]
    NoStages,
    /// A reference to nothing.
    #[error("{at}: there is no {what} {id}")]
    Missing {
        /// Where the reference stands.
        at: String,
        /// What it refers to.
        what: &'static str,
        /// The id.
        id: String,
    },
    /// A task or marker that occurs twice in a frame, or one end of a transfer.
    #[error("frame[{command}]: {what} {id} occurs twice")]
    Twice {
        /// Index in `frame`.
        command: usize,
        /// What it is.
        what: &'static str,
        /// The id.
        id: u32,
    },
    /// A task, stage end or transfer end that no command of the frame runs.
    #[error("frame: no command for {what} {id}")]
    NeverRuns {
        /// What it is.
        what: &'static str,
        /// The id.
        id: usize,
    },
    /// A command that belongs into `setup`.
    #[error("frame[{command}]: a weight is written in `setup` alone")]
    WriteInFrame {
        /// Index in `frame`.
        command: usize,
    },
    /// A task on a queue that is none for tasks.
    #[error("frame[{command}]: its queue is no compute queue")]
    NoComputeQueue {
        /// Index in `frame`.
        command: usize,
    },
    /// Commands that wait for each other.
    #[error("frame: {} commands wait for each other: {}", .0.len(), chain(.0))]
    Deadlock(Vec<CommandAt>),
}

/// The first commands of a cycle, each waiting for the next.
fn chain(commands: &[CommandAt]) -> String {
    const SHOWN: usize = 8;
    let mut text = commands
        .iter()
        .take(SHOWN)
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" waits for ");
    if commands.len() > SHOWN {
        text.push_str(" waits for …");
    } else {
        text.push_str(" waits for the first");
    }
    text
}
