//! The OpenCL devices of this machine, contexts, and what can go wrong with them.

mod context;

mod device;

mod error;

mod host_bytes;

pub use context::{Context, Memory, QueueOrder, read, write};
pub use device::{DeviceInfo, DeviceKind, devices};
pub use error::{OpenclError, code_name};

pub(crate) use error::Doing;
