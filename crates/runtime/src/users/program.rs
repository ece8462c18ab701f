//! A kernel graph that can be executed: linked, lowered to an operator graph, with the text of its sources.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paracompile_frontend::import::kernels::{
    Kernel, KernelId, KernelOptions, KernelsError, Linked, import, lower,
};
use paracompile_frontend::ir::{VerifiedGraph, VerifyError};

/// Bytes of a source at most.
const SOURCE_BYTES: u64 = 16 << 20;

/// A file with kernels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelSource {
    /// As the specification names it.
    pub name: String,
    /// Its text.
    pub text: String,
    /// The folder that it lies in, whole, if the text includes other files.
    pub includes_from: Option<PathBuf>,
}

/// A kernel graph with its sources.
#[derive(Clone, Debug)]
pub struct KernelProgram {
    /// Kernels and edges.
    pub linked: Linked,
    /// The same as operators and tensors; operators are the kernels in the same order.
    pub graph: VerifiedGraph,
    /// By name in the specification.
    sources: BTreeMap<String, Arc<KernelSource>>,
    /// Where files that the specification names lie.
    pub(super) folder: PathBuf,
}

/// Why a kernel graph cannot be executed: the user's fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The specification is wrong.
    #[error(transparent)]
    Import(#[from] KernelsError),
    /// Its buffers are more than can be counted.
    #[error("{}", lines(.0))]
    Verify(Vec<VerifyError>),
    /// Sources that no folder has.
    #[error("{}", missing(.0))]
    Missing(Vec<MissingSource>),
    /// A source that cannot be read.
    #[error("{}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A source that no folder has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingSource {
    /// As the specification names it.
    pub file: String,
    /// The first kernel that needs it.
    pub kernel: String,
}

fn lines(errors: &[VerifyError]) -> String {
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn missing(sources: &[MissingSource]) -> String {
    let lines = sources
        .iter()
        .map(|one| format!("kernel {}: there is no source `{}`", one.kernel, one.file));
    lines.collect::<Vec<_>>().join("\n")
}

impl KernelProgram {
    /// Reads a kernel graph and all its sources.
    pub fn load(path: &Path, options: &KernelOptions) -> Result<Self, LoadError> {
        let linked = import(path, options)?;
        let graph = lower(&linked).map_err(LoadError::Verify)?;
        let mut sources = BTreeMap::new();
        let mut missing: Vec<MissingSource> = Vec::new();
        for (_, kernel) in linked.graph.kernels.iter() {
            let file = &kernel.source.written;
            if sources.contains_key(file) || missing.iter().any(|one| one.file == *file) {
                continue;
            }
            let Some(found) = &kernel.source.found else {
                missing.push(MissingSource {
                    file: file.clone(),
                    kernel: kernel.name.clone(),
                });
                continue;
            };
            let text = read(found)?;
            let includes_from = includes_files(&text).then(|| folder_of(found));
            let source = KernelSource {
                name: file.clone(),
                includes_from: includes_from.transpose()?,
                text,
            };
            sources.insert(file.clone(), Arc::new(source));
        }
        if !missing.is_empty() {
            return Err(LoadError::Missing(missing));
        }
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self {
            linked,
            graph,
            sources,
            folder,
        })
    }

    /// A kernel of the graph.
    pub fn kernel(&self, id: KernelId) -> &Kernel {
        &self.linked.graph.kernels[id]
    }

    /// The source of a kernel.
    pub fn source(&self, id: KernelId) -> &Arc<KernelSource> {
        &self.sources[&self.kernel(id).source.written]
    }
}

/// Whether a line includes another file; one in a comment or a text counts too, which does no harm.
fn includes_files(text: &str) -> bool {
    text.lines().any(|line| {
        let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
        directive.is_some_and(|directive| directive.starts_with("include"))
    })
}

/// The folder of a file: the compiler need not run where this program does.
fn folder_of(path: &Path) -> Result<PathBuf, LoadError> {
    let whole = path.canonicalize().map_err(|source| LoadError::Read {
        path: path.to_owned(),
        source,
    })?;
    Ok(whole.parent().unwrap_or(Path::new("/")).to_owned())
}

/// The text of a source.
fn read(path: &Path) -> Result<String, LoadError> {
    let failed = |source| LoadError::Read {
        path: path.to_owned(),
        source,
    };
    let wrong = |what: &str| failed(io::Error::new(io::ErrorKind::InvalidData, what.to_owned()));
    // Asked before opening: a pipe that nobody writes to would block there for ever.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(wrong("it is not a regular file"));
    }
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(SOURCE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > SOURCE_BYTES {
        return Err(wrong("it is larger than 16 MiB"));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8 text"))?;
    if text.contains('\0') {
        return Err(wrong(
            "it holds a character NUL, which OpenCL takes for its end",
        ));
    }
    Ok(text)
}
