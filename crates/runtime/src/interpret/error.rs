//! Why a model cannot be interpreted.

use paracompile_frontend::import::onnx::PayloadError;

use crate::host_memory::TooLarge;
use crate::lower::Unsupported;
use crate::opencl::OpenclError;

/// Why a model cannot be interpreted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterpretError {
    /// Operators that no kernel computes, all of them.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Unsupported(Vec<Unsupported>),
    /// Weights that cannot be read.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// Weights that whoever provides them cannot provide.
    #[error(transparent)]
    Weights(Box<dyn std::error::Error + Send + Sync>),
    /// The device's failure.
    #[error(transparent)]
    Opencl(#[from] OpenclError),
    /// Constants that the memory does not hold.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// A value that neither the file nor an operator gives.
    #[error(
        "`{name}`: its elements are neither in the file nor computed by an operator that is known"
    )]
    Missing {
        /// Its name.
        name: String,
    },
    /// A value with another size than its type and extents say.
    #[error("`{name}` has {found} bytes, but {expected} are needed")]
    Size {
        /// Its name.
        name: String,
        /// The bytes that are there.
        found: usize,
        /// The bytes that are needed.
        expected: usize,
    },
}
