//! Writes what a model answers, a `.npy` file an output.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use paracompile_frontend::ir::DataType;
use paracompile_plan::{WriteError, write_bytes};

use super::npy;
use super::tensor::HostTensor;

/// Outputs that cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// No folder.
    #[error("{}: {source}", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No file.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// NumPy has no such type.
    #[error("output `{name}`: .npy files do not hold {dtype}")]
    Type {
        /// The output.
        name: String,
        /// Its type.
        dtype: DataType,
    },
}

/// Writes outputs into `folder`, which is made if it is missing, and returns the files.
///
/// A file is named after its output, with `_` in the place of what file systems object to.
pub fn write_outputs(
    folder: &Path,
    outputs: &[(String, HostTensor)],
) -> Result<Vec<PathBuf>, OutputError> {
    fs::create_dir_all(folder).map_err(|source| OutputError::Folder {
        path: folder.to_owned(),
        source,
    })?;
    let mut taken = BTreeSet::new();
    let mut files = Vec::new();
    for (name, tensor) in outputs {
        let bytes = npy::write(tensor).ok_or_else(|| OutputError::Type {
            name: name.clone(),
            dtype: tensor.dtype,
        })?;
        let path = folder.join(file_name(name, &mut taken));
        write_bytes(&path, &bytes)?;
        files.push(path);
    }
    Ok(files)
}

/// A name that no file has yet, whatever the case of its letters.
fn file_name(name: &str, taken: &mut BTreeSet<String>) -> String {
    const LONGEST: usize = 100;
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '_'
        }
    };
    let stem: String = name.chars().map(plain).take(LONGEST).collect();
    let stem = stem.trim_start_matches('.');
    let stem = if stem.is_empty() { "output" } else { stem };
    let numbered = (2..).map(|number| format!("{stem}-{number}.npy"));
    let mut names = std::iter::once(format!("{stem}.npy")).chain(numbered);
    names
        .find(|name| taken.insert(name.to_lowercase()))
        .expect("numbers do not end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_stay_in_their_folder_and_apart() {
        let mut taken = BTreeSet::new();
        let names = ["y", "Y", "../../etc/passwd", "a/b", "a:b", "", "..", "é"];
        let files: Vec<String> = names
            .iter()
            .map(|name| file_name(name, &mut taken))
            .collect();
        assert_eq!(
            files,
            [
                "y.npy",
                "Y-2.npy",
                "_.._etc_passwd.npy",
                "a_b.npy",
                "a_b-2.npy",
                "output.npy",
                "output-2.npy",
                "_.npy"
            ]
        );
    }
}
