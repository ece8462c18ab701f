//! Kernel graphs: OpenCL kernels that a user wrote, beside the operators that we lower ourselves.
//!
//! [`KernelProgram`] is a graph with its sources; `task` says what a task of a plan launches, `resolve` finds it, and `judge`
//! compares it with what the device's compiler made of the source before anything runs.
//! Kernels of users get plain `__global` pointers.

mod program;

mod task;

mod resolve;

mod problem;

mod judge;

mod inputs;

pub use inputs::{kernel_inputs, kernel_ports};
pub use problem::{Fault, KernelProblem, KernelProblems};
pub use program::{KernelProgram, KernelSource, LoadError, MissingSource};

pub(crate) use judge::{Placed, judge};
pub(crate) use resolve::{ResolvedTask, Resolver, Update, alone};
pub(crate) use task::{Call, CallArgument, Command, KernelTask, Slot};
