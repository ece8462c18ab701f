//! `CLBlast`, another implementation of matrix products over OpenCL, loaded where it is installed.

use std::ffi::c_void;
use std::path::{Path, PathBuf};

use libloading::{Library, Symbol};
use opencl3::command_queue::CommandQueue;

use crate::opencl::Memory;

const FILE: &str = "libclblast.so.1";

/// The library.
#[derive(Debug)]
pub struct Clblast {
    library: Library,
}

/// Why `CLBlast` does not multiply.
#[derive(Debug, thiserror::Error)]
pub enum ClblastError {
    /// It is not there.
    #[error("{FILE}: {0}")]
    Missing(#[from] libloading::Error),
    /// It refused.
    #[error("CLBlast: status {0}")]
    Status(i32),
}

type Sgemm = unsafe extern "C" fn(
    layout: i32,
    transposes_left: i32,
    transposes_right: i32,
    rows: usize,
    columns: usize,
    depth: usize,
    alpha: f32,
    left: *mut c_void,
    left_offset: usize,
    left_pitch: usize,
    right: *mut c_void,
    right_offset: usize,
    right_pitch: usize,
    beta: f32,
    out: *mut c_void,
    out_offset: usize,
    out_pitch: usize,
    queue: *mut *mut c_void,
    event: *mut *mut c_void,
) -> i32;

impl Clblast {
    /// Loads it.
    pub fn load() -> Result<Self, ClblastError> {
        // SAFETY: the library has no constructors beside those of its tables.
        #[expect(unsafe_code, reason = "loading a library runs its code")]
        let library = unsafe { Library::new(FILE) }?;
        Ok(Self { library })
    }

    /// The file behind the name, which says the version.
    pub fn file() -> PathBuf {
        let folders = [
            "/usr/local/lib",
            "/usr/lib/x86_64-linux-gnu",
            "/usr/lib/aarch64-linux-gnu",
            "/usr/lib64",
            "/usr/lib",
        ];
        let paths = folders.iter().map(|folder| Path::new(folder).join(FILE));
        let mut found = paths.filter_map(|path| std::fs::canonicalize(path).ok());
        found.next().unwrap_or_else(|| PathBuf::from(FILE))
    }

    /// Whether its database of tuned parameters, which is part of the file, names a device; `None` if the file cannot be read.
    pub fn is_tuned_for(device: &str) -> Option<bool> {
        let bytes = std::fs::read(Self::file()).ok()?;
        let name = device.as_bytes();
        let mut places = bytes.windows(name.len().max(1));
        Some(places.any(|place| place == name))
    }

    /// Enqueues a product of row-major matrices.
    pub fn multiply(
        &self,
        queue: &CommandQueue,
        (rows, columns, depth): (usize, usize, usize),
        [left, right, out]: [&Memory; 3],
    ) -> Result<(), ClblastError> {
        const ROW_MAJOR: i32 = 101;
        const AS_IT_IS: i32 = 111;
        // SAFETY: the name has this type in `clblast_c.h`.
        #[expect(unsafe_code, reason = "a symbol has the type that is claimed")]
        let sgemm: Symbol<'_, Sgemm> = unsafe { self.library.get(b"CLBlastSgemm\0") }?;
        let mut queue = queue.get();
        // SAFETY: the handles are alive, and the library checks them and the sizes; no event is asked for.
        #[expect(unsafe_code, reason = "a foreign function")]
        let status = unsafe {
            sgemm(
                ROW_MAJOR,
                AS_IT_IS,
                AS_IT_IS,
                rows,
                columns,
                depth,
                1.0,
                left.handle(),
                0,
                depth,
                right.handle(),
                0,
                columns,
                0.0,
                out.handle(),
                0,
                columns,
                &raw mut queue,
                std::ptr::null_mut(),
            )
        };
        match status {
            0 => Ok(()),
            status => Err(ClblastError::Status(status)),
        }
    }
}
