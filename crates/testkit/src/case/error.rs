//! What can be wrong with a case: always the fault of whoever wrote it.

use std::path::PathBuf;

use paracompile_frontend::cost::CostError;
use paracompile_frontend::ir::VerifyError;
use paracompile_frontend::soc::SocError;

/// Why a case is not one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaseError {
    /// The file cannot be read.
    #[error("{}: cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not a case.
    #[error("{}: not a case: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A name that nothing has.
    #[error("{at}: `{name}` is not {what}")]
    Unknown {
        /// Where it is used.
        at: String,
        /// The name.
        name: String,
        /// What it should name.
        what: &'static str,
    },
    /// A slowdown below one.
    #[error("contention: factor {thousandths} of `{processor}` is below 1000")]
    Factor {
        /// The processor.
        processor: String,
        /// The factor.
        thousandths: u32,
    },
    /// The graph breaks an invariant of the verifier.
    #[error("graph: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Graph(Vec<VerifyError>),
    /// The limits name a processor that the chip lacks, or none.
    #[error("limits: {0}")]
    Processors(#[from] SocError),
    /// There is no cost table; a case may expect that.
    #[error(transparent)]
    Costs(#[from] CostError),
}
