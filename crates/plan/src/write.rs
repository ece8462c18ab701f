//! Writes JSON files so that a reader sees the old file or the new one and never a part.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use tempfile::NamedTempFile;

/// Why a file was not written; what was there before is untouched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The directory or the file cannot be written.
    #[error("{}: cannot write", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The value has no JSON form, such as a map with keys that are no text.
    #[error("{}: cannot express as JSON", .path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}

/// Writes `value` as indented JSON with a newline at the end: to a temporary file in the same directory, which is then renamed.
pub fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), WriteError> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|source| WriteError::Json {
        path: path.to_owned(),
        source,
    })?;
    text.push(b'\n');
    write_bytes(path, &text)
}

/// Writes text in the same way.
pub fn write_text(path: &Path, text: &str) -> Result<(), WriteError> {
    write_bytes(path, text.as_bytes())
}

/// Writes bytes in the same way.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    write_with(path, |out| out.write_all(bytes))
}

/// Writes what `write` writes in the same way, piece by piece, so that a file need not fit into memory.
pub fn write_with(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), WriteError> {
    let io = |source| WriteError::Io {
        path: path.to_owned(),
        source,
    };
    // A link is followed, so that what it names is replaced and not the link.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&target).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        // A device or a pipe is written to: nobody can see a part of it as the whole, and it must not be replaced.
        let device = fs::OpenOptions::new()
            .write(true)
            .open(&target)
            .map_err(io)?;
        return filled(device, write).map(drop).map_err(io);
    }
    let directory = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    let existing = fs::metadata(&target).ok().map(|found| found.permissions());
    if existing.as_ref().is_some_and(fs::Permissions::readonly) {
        // A rename would replace it all the same, which is not what whoever protected it expects.
        return Err(io(io::ErrorKind::PermissionDenied.into()));
    }
    let file = temporary(directory).map_err(io)?;
    let file = filled(file, write).map_err(io)?;
    if let Some(permissions) = existing {
        file.as_file().set_permissions(permissions).map_err(io)?;
    }
    file.persist(&target).map_err(|error| io(error.error))?;
    Ok(())
}

/// The file with everything in it.
fn filled<W: Write>(
    file: W,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<W> {
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

/// A temporary file with the permissions of an ordinary one; the default is readable by its owner alone.
fn temporary(directory: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".paracompile-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_stay_devices() {
        use std::os::unix::fs::FileTypeExt;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file.json");
        let link = directory.path().join("link.json");
        write_json(&file, &1).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_json(&link, &2).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "2\n");
        write_json(Path::new("/dev/null"), &3).unwrap();
        assert!(
            fs::metadata("/dev/null")
                .unwrap()
                .file_type()
                .is_char_device()
        );
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay_and_protected_files_too() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file.json");
        write_json(&path, &1).unwrap();
        let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        mode(0o600);
        write_json(&path, &2).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        mode(0o400);
        assert!(write_json(&path, &3).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "2\n");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_is_replaced_whole_and_leaves_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.json");
        write_json(&path, &vec![1, 2]).unwrap();
        write_json(&path, &vec![3]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "[\n  3\n]\n");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_directory_is_an_error_that_names_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("none/x.json");
        let error = write_json(&path, &1).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{}: cannot write", path.display())
        );
    }
}
