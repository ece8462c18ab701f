//! Tunings as files in the user's cache folder, one a device and driver.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use paracompile_plan::hexadecimal;
use sha2::{Digest as _, Sha256};

use crate::lower::{Tuning, Unsupported};
use crate::opencl::{self, DeviceInfo, OpenclError};

/// Why a tuning cannot be made, read or written.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// OpenCL objects.
    #[error(transparent)]
    Opencl(OpenclError),
    /// The product that is measured is not supported.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// There is no folder to keep it in.
    #[error("neither XDG_CACHE_HOME nor HOME says where to keep tunings")]
    NoFolder,
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A file is not what was written.
    #[error("{path}: it is no tuning of this version ({what}); delete it, and tune again")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Document {
    device: String,
    driver: String,
    tuning: Tuning,
}

/// Where the tuning of a device is kept: `$XDG_CACHE_HOME/paracompile` or `~/.cache/paracompile`.
pub fn path(device: &DeviceInfo) -> Result<PathBuf, TuneError> {
    let set = |name| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    let folder = cache.ok_or(TuneError::NoFolder)?.join("paracompile");
    Ok(folder.join(file_name(&device.name, &device.driver)))
}

/// Readable, and different for different devices.
fn file_name(name: &str, driver: &str) -> String {
    const READABLE: usize = 40;
    let readable: String = name
        .chars()
        .map(|character| {
            if character.is_ascii_alphanumeric() {
                character.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .take(READABLE)
        .collect();
    let digest = Sha256::digest(format!("{name}\0{driver}"));
    format!("tiles-{readable}-{}.json", hexadecimal(&digest[..4]))
}

/// The tuning that was kept for a device; `None` if it was never tuned.
pub fn load(device: &DeviceInfo) -> Result<Option<Tuning>, TuneError> {
    read(&path(device)?)
}

/// All devices of the machine, with what was kept for each.
pub fn devices() -> Result<Vec<DeviceInfo>, TuneError> {
    let mut found = opencl::devices().map_err(TuneError::Opencl)?;
    for device in &mut found {
        // Without a folder there is nothing that was kept.
        match load(device) {
            Ok(Some(tuning)) => device.tuning = tuning,
            Ok(None) | Err(TuneError::NoFolder) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Keeps the tuning of a device, and says where.
pub fn save(device: &DeviceInfo, tuning: &Tuning) -> Result<PathBuf, TuneError> {
    let path = path(device)?;
    let document = Document {
        device: device.name.clone(),
        driver: device.driver.clone(),
        tuning: tuning.clone(),
    };
    write(&path, &document)?;
    Ok(path)
}

fn read(path: &Path) -> Result<Option<Tuning>, TuneError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(of_file(path, error)),
    };
    let content = |what: String| TuneError::Content {
        path: path.to_owned(),
        what,
    };
    let document: Document =
        serde_json::from_slice(&text).map_err(|error| content(error.to_string()))?;
    if document.tuning.is_valid() {
        Ok(Some(document.tuning))
    } else {
        Err(content("a tile has impossible extents".to_owned()))
    }
}

/// By a temporary file that is renamed, so that nobody reads half of it.
fn write(path: &Path, document: &Document) -> Result<(), TuneError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|error| of_file(folder, error))?;
    let mut file =
        tempfile::NamedTempFile::new_in(folder).map_err(|error| of_file(folder, error))?;
    let text = serde_json::to_string_pretty(document).expect("a tuning is plain data");
    file.write_all(text.as_bytes())
        .map_err(|error| of_file(path, error))?;
    file.persist(path)
        .map_err(|error| of_file(path, error.error))?;
    Ok(())
}

fn of_file(path: &Path, error: io::Error) -> TuneError {
    TuneError::File {
        path: path.to_owned(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::{Document, TuneError, file_name, read, write};
    use crate::lower::Tuning;

    fn document() -> Document {
        Document {
            device: "a device".to_owned(),
            driver: "1".to_owned(),
            tuning: Tuning::of_width(16),
        }
    }

    #[test]
    fn a_tuning_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep").join("file.json");
        assert!(read(&path).unwrap().is_none());
        write(&path, &document()).unwrap();
        assert_eq!(read(&path).unwrap(), Some(document().tuning));
    }

    #[test]
    fn impossible_tiles_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.json");
        for break_it in [
            |tuning: &mut Tuning| tuning.register_tiles[0].rows = 0,
            |tuning: &mut Tuning| tuning.register_tiles.clear(),
            |tuning: &mut Tuning| tuning.group_tiles[0].columns = 100,
            |tuning: &mut Tuning| tuning.group_tiles[0].rate = 0.0,
            |tuning: &mut Tuning| tuning.group_tiles.truncate(1),
        ] {
            let mut document = document();
            break_it(&mut document.tuning);
            write(&path, &document).unwrap();
            assert!(matches!(read(&path), Err(TuneError::Content { .. })));
        }
        std::fs::write(&path, "{").unwrap();
        assert!(matches!(read(&path), Err(TuneError::Content { .. })));
    }

    #[test]
    fn devices_and_drivers_have_files_of_their_own() {
        assert_eq!(file_name("A/b c", "1"), file_name("A/b c", "1"));
        assert_ne!(file_name("A/b c", "1"), file_name("A/b c", "2"));
        assert!(file_name("../x", "1").starts_with("tiles----x-"));
    }
}
