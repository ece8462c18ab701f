//! Why a plan cannot run, or stopped running.

use crate::host_memory::TooLarge;
use crate::lower::Unsupported;
use crate::opencl::OpenclError;
use crate::users::KernelProblems;

/// A plan that does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The user's fault: plan and model do not belong together.
    #[error("{what} of the plan is not in the model")]
    OtherModel {
        /// What is missing.
        what: String,
    },
    /// The model's fault: operators that no kernel computes, all of them.
    #[error("{} operators cannot be executed; the first is {}", .0.len(), .0[0])]
    Unsupported(Vec<Unsupported>),
    /// The user's fault: kernels that do not fit their sources or devices, all of them.
    #[error(transparent)]
    Kernels(KernelProblems),
    /// The user's fault: processors with one memory were bound to devices that share none.
    #[error("processors {} compute in memory `{memory}` of the plan, but are bound to devices of different platforms", .processors.join(", "))]
    TornMemory {
        /// The memory.
        memory: String,
        /// The processors in it.
        processors: Vec<String>,
    },
    /// A processor of the plan is bound to nothing.
    #[error("processor `{0}` of the plan is bound to no device")]
    Unbound(String),
    /// The user's fault: an input does not fit the model.
    #[error("input `{name}` needs {expected} bytes, but {found} were given")]
    Input {
        /// The input.
        name: String,
        /// Bytes of its type and shape.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
    /// Buffers that the memory does not hold.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// OpenCL's or the device's fault.
    #[error(transparent)]
    Opencl(#[from] OpenclError),
    /// A command failed while frames ran.
    #[error("frame {frame}: {command} failed: {reason}")]
    Failed {
        /// The frame.
        frame: usize,
        /// What failed.
        command: String,
        /// The code's name.
        reason: String,
    },
    /// Nothing ended for longer than the limit.
    #[error(
        "frame {frame}: nothing ended for {seconds} seconds; {command} is the first command that has not"
    )]
    Stuck {
        /// The frame.
        frame: usize,
        /// What has not ended.
        command: String,
        /// The limit.
        seconds: u64,
    },
    /// The user interrupted the run.
    #[error("interrupted after {complete} frames")]
    Interrupted {
        /// Frames that were complete.
        complete: usize,
    },
}
