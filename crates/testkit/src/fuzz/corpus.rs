//! The committed inputs of the fuzz targets, in `fuzz/corpus/TARGET/`.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Names and bytes of the inputs of `target`, by name.
pub fn inputs(target: &str) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut inputs = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let bytes = fs::read(&path)?;
        inputs.push((path, bytes));
    }
    inputs.sort();
    Ok(inputs)
}
