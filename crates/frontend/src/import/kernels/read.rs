//! The way from a file to a linked graph.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::{KernelsError, Problems};
use super::json::parse_file;
use super::library::{self, Library};
use super::link::{Linked, link};
use super::specification::Specification;
use super::{expanded, limits, symbolic};

/// What the user decides about an import.
#[derive(Clone, Debug, Default)]
pub struct KernelOptions {
    /// Folders with descriptions of kernels and sources, looked in first.
    pub folders: Vec<PathBuf>,
    /// Values of symbols that the file leaves open, or that it gives to the whole graph.
    pub symbols: BTreeMap<String, u64>,
}

/// Whether a file is a kernel graph by its name: everything else is a network.
pub fn is_kernel_graph(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| {
        extension.eq_ignore_ascii_case("graph") || extension.eq_ignore_ascii_case("json")
    })
}

/// Reads a specification without evaluating it.
pub fn read(path: &Path, options: &KernelOptions) -> Result<Specification, KernelsError> {
    let (specification, problems) = read_file(path, options)?;
    problems.into_result(specification)
}

/// Reads, evaluates and links a kernel graph.
pub fn import(path: &Path, options: &KernelOptions) -> Result<Linked, KernelsError> {
    let (specification, problems) = read_file(path, options)?;
    let folders = library::source_folders(path, &options.folders);
    let library = Library {
        source: &|name| library::find(&folders, name),
        ..Library::empty()
    };
    link(&specification, &options.symbols, &library, problems)
}

/// The same from a text, with a library in place of folders.
pub fn import_text(
    text: &str,
    name: &str,
    symbols: &BTreeMap<String, u64>,
    library: &Library<'_>,
) -> Result<Linked, KernelsError> {
    let (specification, problems) = read_any(text, name, library)?;
    link(&specification, symbols, library, problems)
}

fn read_file(
    path: &Path,
    options: &KernelOptions,
) -> Result<(Specification, Problems), KernelsError> {
    let text = library::read_text(path, limits::FILE_BYTES)?;
    let folders = library::description_folders(path, &options.folders);
    let library = Library {
        description: &|name| library::look_up(&folders, name),
        source: &|_| None,
        folders: folders
            .iter()
            .map(|folder| folder.display().to_string())
            .collect(),
    };
    let name = path
        .file_stem()
        .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    read_any(&text, &name, &library)
}

/// Reads a specification from a text without evaluating it.
pub fn read_text(
    text: &str,
    name: &str,
    library: &Library<'_>,
) -> Result<Specification, KernelsError> {
    let (specification, problems) = read_any(text, name, library)?;
    problems.into_result(specification)
}

/// What the file starts with says in which format it is.
fn read_any(
    text: &str,
    name: &str,
    library: &Library<'_>,
) -> Result<(Specification, Problems), KernelsError> {
    let mut problems = Problems::default();
    let start = text.trim_start_matches(|c: char| c == '\u{feff}' || c.is_whitespace());
    let mut specification = if start.starts_with(['[', '{']) {
        let value = parse_file(text)?;
        match &value {
            Value::Object(_) => super::tidy::read(&value, &mut problems),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => expanded::read(&value, &mut problems),
        }
    } else {
        symbolic::read(text, library, &mut problems)
    };
    name.clone_into(&mut specification.name);
    Ok((specification, problems))
}
