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

/// Makes sure that a file can be written at `path`, and makes the directories above it: to be asked before long work.
pub fn writable(path: &Path) -> Result<(), WriteError> {
    let io = |source| WriteError::Io {
        path: path.to_owned(),
        source,
    };
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&target) {
        Ok(found) if found.is_dir() => return Err(io(io::ErrorKind::IsADirectory.into())),
        Ok(found) if !found.is_file() => {
            let opened = fs::OpenOptions::new().write(true).open(&target);
            return opened.map(drop).map_err(io);
        }
        Ok(found) if found.permissions().readonly() => {
            return Err(io(io::ErrorKind::PermissionDenied.into()));
        }
        Ok(_) | Err(_) => {}
    }
    temporary(made(&target).map_err(io)?).map(drop).map_err(io)
}

/// Makes sure that files can be written into `folder`, and makes it and the directories above it.
pub fn writable_folder(folder: &Path) -> Result<(), WriteError> {
    let io = |source| WriteError::Io {
        path: folder.to_owned(),
        source,
    };
    fs::create_dir_all(folder).map_err(io)?;
    temporary(folder).map(drop).map_err(io)
}

/// Writes `value` as indented JSON with a newline at the end: to a temporary file in the same directory, which is then renamed.
///
/// Directories above it are made.
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
    let existing = fs::metadata(&target).ok().map(|found| found.permissions());
    if existing.as_ref().is_some_and(fs::Permissions::readonly) {
        // A rename would replace it all the same, which is not what whoever protected it expects.
        return Err(io(io::ErrorKind::PermissionDenied.into()));
    }
    let file = temporary(made(&target).map_err(io)?).map_err(io)?;
    let file = filled(file, write).map_err(io)?;
    if let Some(permissions) = existing {
        file.as_file().set_permissions(permissions).map_err(io)?;
    }
    file.persist(&target).map_err(|error| io(error.error))?;
    Ok(())
}

/// The directory of a file, which is made if it is missing.
fn made(target: &Path) -> io::Result<&Path> {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => {
            if parent.is_file() {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            fs::create_dir_all(parent)?;
            Ok(parent)
        }
        Some(_) | None => Ok(Path::new(".")),
    }
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
    builder
        .tempfile_in(directory)
        .map_err(|error| plain(&error))
}

/// What the system said, without the name of the temporary file, which tells nobody anything.
fn plain(error: &io::Error) -> io::Error {
    let inner = error.get_ref().and_then(std::error::Error::source);
    let inner = inner.and_then(|inner| inner.downcast_ref::<io::Error>());
    let code = error.raw_os_error().or_else(|| inner?.raw_os_error());
    code.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
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
    fn directories_above_a_file_are_made() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b/x.json");
        write_json(&path, &1).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1\n");
        let path = directory.path().join("c/d/x.json");
        writable(&path).unwrap();
        assert!(!path.exists() && path.parent().unwrap().is_dir());
    }

    #[test]
    fn what_cannot_be_written_is_known_before_and_names_the_file_alone() {
        use std::error::Error;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        write_json(&file, &1).unwrap();
        for path in [
            file.join("x.json"),
            file.join("y/x.json"),
            directory.path().to_owned(),
        ] {
            for error in [
                writable(&path).unwrap_err(),
                write_json(&path, &1).unwrap_err(),
            ] {
                assert_eq!(
                    error.to_string(),
                    format!("{}: cannot write", path.display())
                );
                let cause = error.source().unwrap().to_string();
                assert!(!cause.contains(".paracompile-"), "{cause}");
            }
        }
        writable_folder(&file).unwrap_err();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn temporary_names_are_not_told() {
        // Nobody, not even root, makes files there.
        let error = temporary(Path::new("/proc")).unwrap_err().to_string();
        assert!(!error.contains(".paracompile-"), "{error}");
    }
}
