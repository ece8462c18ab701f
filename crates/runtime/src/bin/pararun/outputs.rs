//! Files that a command writes: each option needs one of its own.

use std::path::{Path, PathBuf};

use crate::failure::{Failure, Kind};

/// Refuses two options that name one file or folder, before any work.
pub(crate) fn distinct(outputs: &[(&str, Option<&Path>)]) -> Result<(), Failure> {
    let mut seen: Vec<(&str, PathBuf)> = Vec::new();
    for &(option, path) in outputs {
        let Some(path) = path else {
            continue;
        };
        let place = place(path);
        if let Some((other, _)) = seen.iter().find(|(_, known)| *known == place) {
            let message = format!(
                "{other} and {option} name the same file: {}",
                path.display()
            );
            return Err(Failure::new(Kind::File, message).with_help("give each a path of its own"));
        }
        seen.push((option, place));
    }
    Ok(())
}

/// Where a path leads, as far as it exists.
fn place(path: &Path) -> PathBuf {
    if let Ok(place) = path.canonicalize() {
        return place;
    }
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    match (
        parent.unwrap_or(Path::new(".")).canonicalize(),
        path.file_name(),
    ) {
        (Ok(parent), Some(name)) => parent.join(name),
        _ => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
    }
}
