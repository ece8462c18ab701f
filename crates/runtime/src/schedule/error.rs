//! Why a kernel graph is not scheduled.

use crate::execute::RunError;
use crate::opencl::OpenclError;

/// A graph that does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The user's fault: components that wait for each other.
    #[error(
        "the components of the specification wait for each other: a kernel of one needs something of another that needs something of the first"
    )]
    Cycle,
    /// The policy's fault: nothing runs, and it chooses nothing.
    #[error("the policy chooses nothing though {frontier} components are ready and nothing runs")]
    Idle {
        /// Components that are ready.
        frontier: usize,
    },
    /// The policy's fault: what it chose cannot begin.
    #[error("the policy chose component {component} for device {device}, but {why}")]
    Choice {
        /// The component.
        component: usize,
        /// The device.
        device: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// A component failed while it ran.
    #[error("kernel {kernel} on {device} failed: {reason}")]
    Failed {
        /// The first kernel of its component.
        kernel: String,
        /// The device.
        device: String,
        /// The code's name.
        reason: String,
    },
    /// Nothing ended for longer than the limit.
    #[error("nothing ended for {0} seconds")]
    Stuck(u64),
    /// The user interrupted the run before its first frame was complete.
    #[error("interrupted before a frame was complete")]
    Interrupted,
    /// The kernels' or the device's fault.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl From<OpenclError> for ScheduleError {
    fn from(error: OpenclError) -> Self {
        Self::Run(error.into())
    }
}
