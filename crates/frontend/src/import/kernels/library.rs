//! Where descriptions of kernels and their sources are found: in named folders, and nowhere else.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::error::{KernelsError, shown};
use super::json::is_file_name;
use super::limits;

/// What a search for a description found.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// Its text.
    Found(String),
    /// No folder has it.
    Missing,
    /// It is there and cannot be read.
    Unreadable {
        /// Its path.
        path: String,
        /// Why.
        message: String,
    },
}

/// The folders, as functions, so that nothing but this file opens any.
#[expect(missing_debug_implementations, reason = "functions say nothing")]
pub struct Library<'a> {
    /// The text of the description with this file name.
    pub description: &'a dyn Fn(&str) -> Lookup,
    /// Where the source with this file name lies.
    pub source: &'a dyn Fn(&str) -> Option<PathBuf>,
    /// The folders of descriptions, for messages.
    pub folders: Vec<String>,
}

impl Library<'_> {
    /// A library without any folder.
    pub const fn empty() -> Self {
        Self {
            description: &|_| Lookup::Missing,
            source: &|_| None,
            folders: Vec::new(),
        }
    }
}

/// Folders in which descriptions are looked for, first one first.
pub(super) fn description_folders(file: &Path, asked: &[PathBuf]) -> Vec<PathBuf> {
    let beside = beside(file);
    let mut folders = asked.to_vec();
    folders.extend(["", "info", "../info"].map(|below| beside.join(below)));
    folders
}

/// Folders in which sources are looked for.
pub(super) fn source_folders(file: &Path, asked: &[PathBuf]) -> Vec<PathBuf> {
    let beside = beside(file);
    let mut folders = asked.to_vec();
    let below = [
        "",
        "src",
        "kernels",
        "info",
        "../src",
        "../kernels",
        "../info",
    ];
    folders.extend(below.map(|below| beside.join(below)));
    folders
}

fn beside(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The file of this name in the first folder that has it.
pub(super) fn find(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    if !is_file_name(name) {
        return None;
    }
    folders
        .iter()
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// The description of this name.
pub(super) fn look_up(folders: &[PathBuf], name: &str) -> Lookup {
    let Some(path) = find(folders, name) else {
        return Lookup::Missing;
    };
    match read_text(&path, limits::DESCRIPTION_BYTES) {
        Ok(text) => Lookup::Found(text),
        Err(error) => {
            let message = if let KernelsError::Read { source, .. } = &error {
                source.to_string()
            } else {
                error.to_string()
            };
            let path = shown(&path.display().to_string());
            Lookup::Unreadable { path, message }
        }
    }
}

/// The text of a regular file of at most `limit` bytes.
pub(super) fn read_text(path: &Path, limit: u64) -> Result<String, KernelsError> {
    let failed = |source| KernelsError::Read {
        path: path.to_owned(),
        source,
    };
    // Asked before opening: a pipe that nobody writes to would block there for ever.
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(KernelsError::NotAFile {
            path: path.to_owned(),
        });
    }
    let mut bytes = Vec::new();
    // One byte more shows that there is more, without reading it all.
    let file = File::open(path).map_err(failed)?;
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(KernelsError::TooLarge { limit });
    }
    String::from_utf8(bytes).map_err(|wrong| KernelsError::NotText {
        offset: wrong.utf8_error().valid_up_to(),
    })
}
