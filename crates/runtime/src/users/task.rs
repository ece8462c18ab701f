//! What a task launches, as data.

use std::sync::Arc;

use super::program::KernelSource;
use crate::lower::Scratch;

/// Where a buffer of a task lies, by its position among the task's operands, results or scratch space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Slot {
    /// Something that is read.
    Operand(usize),
    /// Something that is written.
    Result(usize),
    /// What stays within the task.
    Scratch(usize),
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallArgument {
    /// A buffer.
    Buffer(Slot),
    /// A value as the device reads it.
    Value(Vec<u8>),
    /// Local memory of so many bytes.
    Local(usize),
}

/// One launch of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Its code.
    pub(crate) source: Arc<KernelSource>,
    /// Build options: its macros.
    pub(crate) options: String,
    /// The function in the source.
    pub(crate) function: String,
    /// By position.
    pub(crate) arguments: Vec<CallArgument>,
    /// Work items along one to three dimensions.
    pub(crate) global: Vec<usize>,
    /// Work items of a group; the driver chooses if absent.
    pub(crate) local: Option<Vec<usize>>,
}

/// A command of a task.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    /// A launch.
    Call(Call),
    /// The contents of a buffer that a kernel changes while somebody else still needs them.
    Copy {
        /// From here.
        from: Slot,
        /// To there.
        to: Slot,
        /// As many.
        bytes: usize,
    },
}

/// The commands of a task, one after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelTask {
    /// In order.
    pub(crate) commands: Vec<Command>,
    /// Scratch space.
    pub(crate) scratch: Vec<Scratch>,
}
