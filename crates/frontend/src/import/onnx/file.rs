//! Maps a model file, so that a gigabyte of weights costs address space and no memory.
//!
//! This is the only place of the importer that opens a file.

use std::fs::File;
use std::path::Path;

use bytes::Bytes;

use super::ImportError;

/// The bytes of the file at `path`, read page by page when they are touched.
///
/// A file that shrinks while it is mapped ends the process with a bus error, as with every program that maps files.
pub fn map(path: &Path) -> Result<Bytes, ImportError> {
    let read = |source| ImportError::Read {
        path: path.to_owned(),
        source,
    };
    // Asked before opening: a pipe that nobody writes to would block there for ever.
    let metadata = std::fs::metadata(path).map_err(read)?;
    if metadata.is_dir() {
        return Err(read(std::io::ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() {
        // Pipes have no length and cannot be mapped; the user can redirect them into a file.
        return Err(ImportError::NotAFile {
            path: path.to_owned(),
        });
    }
    let file = File::open(path).map_err(read)?;
    if file.metadata().map_err(read)?.len() == 0 {
        return Err(ImportError::Empty);
    }
    // SAFETY: the map is read-only and private to this process, and nothing here relies on its bytes staying the same between reads:
    // they are decoded as untrusted input. Truncation by another process is documented above.
    #[expect(unsafe_code, reason = "mapping a file is unsafe by signature")]
    let map = unsafe { memmap2::Mmap::map(&file) }.map_err(read)?;
    // Field headers lie between large payloads: small pages keep the weights that nobody looks at out of memory.
    // Where the system refuses the advice, only that is lost.
    #[cfg(target_os = "linux")]
    let _advised = map.advise(memmap2::Advice::NoHugePage);
    Ok(Bytes::from_owner(map))
}
