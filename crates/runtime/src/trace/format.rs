//! The format of a trace by the name of its file.

use std::path::Path;

use paracompile_plan::WriteError;

use super::{Trace, write_chrome, write_paje};

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// JSON, for Perfetto.
    Chrome,
    /// Paje, for `ViTE` and `pj_dump`.
    Paje,
}

impl TraceFormat {
    /// Paje for a name that ends with `.paje` or `.trace`, which its tools ask for; JSON for `.json`; nothing for others.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "json" => Some(Self::Chrome),
            "paje" | "trace" => Some(Self::Paje),
            _ => None,
        }
    }
}

/// Writes a trace; the file is there as a whole or not at all.
pub fn write_trace(path: &Path, format: TraceFormat, trace: &Trace) -> Result<(), WriteError> {
    match format {
        TraceFormat::Chrome => write_chrome(path, trace),
        TraceFormat::Paje => write_paje(path, trace),
    }
}
