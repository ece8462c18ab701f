//! The operator graph: what a network computes, without how it was written down.

mod graph;
mod kernel;
mod op;
mod shape;
mod tensor;
mod verify;
mod verify_error;
mod work;

mod control;

pub mod antichain;
pub mod topo;

mod summary;

mod dump;

pub use control::{Control, Step};
pub use dump::dump;
pub use graph::Graph;
pub use kernel::{KernelCall, KernelOperand};
pub use op::{Op, OpId, OpKind};
pub use shape::{DataType, Shape};
pub use summary::{ClassTotals, Summary};
pub use tensor::{Tensor, TensorId, TensorRole, WeightRef};
pub use verify::{VerifiedGraph, verify};
pub use verify_error::VerifyError;
pub use work::Work;
