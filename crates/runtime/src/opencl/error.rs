//! What OpenCL objects to, with what was being done.

use opencl3::error_codes::{ClError, DLOPEN_RUNTIME_LOAD_FAILED};

/// A failure of OpenCL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenclError {
    /// The machine's fault: no OpenCL is installed.
    #[error("there is no OpenCL on this machine (libOpenCL.so.1 cannot be loaded)")]
    NoLibrary,
    /// The machine's fault: no driver offers a device.
    #[error("OpenCL offers no device on this machine")]
    NoDevice,
    /// A kernel does not compile for a device: the driver's fault, or ours.
    #[error("{source_name} (`{options}`) does not build for {device}:\n{log}")]
    Build {
        /// The file.
        source_name: String,
        /// The build options.
        options: String,
        /// The device.
        device: String,
        /// What the compiler says.
        log: String,
    },
    /// The device has not enough memory.
    #[error("{doing}: the device is out of memory ({name})")]
    OutOfMemory {
        /// What was being done.
        doing: String,
        /// The code's name.
        name: String,
    },
    /// Any other failure.
    #[error("{doing}: {name}")]
    Call {
        /// What was being done.
        doing: String,
        /// The code's name.
        name: String,
    },
}

impl OpenclError {
    /// A failure with `code` while `doing` something.
    pub fn of_code(code: i32, doing: impl Into<String>) -> Self {
        // The last one is a buffer that is larger than the device allows.
        const OUT_OF_MEMORY: [i32; 4] = [-4, -5, -6, -61];
        let doing = doing.into();
        if code == DLOPEN_RUNTIME_LOAD_FAILED {
            return Self::NoLibrary;
        }
        let name = code_name(code);
        if OUT_OF_MEMORY.contains(&code) {
            Self::OutOfMemory { doing, name }
        } else {
            Self::Call { doing, name }
        }
    }
}

/// The standard's name of an error code.
pub fn code_name(code: i32) -> String {
    ClError(code).to_string()
}

/// Says what was being done when a call failed.
pub(crate) trait Doing<T> {
    /// The result with an error that says `doing`.
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, OpenclError>;
}

impl<T> Doing<T> for Result<T, ClError> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, OpenclError> {
        self.map_err(|error| OpenclError::of_code(error.0, doing()))
    }
}
