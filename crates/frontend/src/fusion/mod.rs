//! Which operators run as one task, and where their tensors lie.
//!
//! The compiler maps these groups, and the runtime measures and lowers the same ones.

mod groups;
mod storage;

pub use groups::{groups, tasks};
pub use storage::{Storage, is_weight};
