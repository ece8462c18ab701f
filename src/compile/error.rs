//! Why a compile run finds nothing, and whose fault that is.

use super::conflict::Conflict;
use crate::constraints::Stranded;
use paracompile_plan::Violation;
use paracompile_plan::plan::StoppedBy;

/// Why there is no front.
///
/// Exhaustive, so that whoever turns it into an exit code decides about each variant.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The model computes nothing: every output is an input or a constant, or a view of one.
    #[error("the model has no operator to map: its outputs are views of inputs or constants")]
    NothingToMap,
    /// The user's or the chip's: the search tries every set of processors, and that many sets do not end.
    #[error("{count} processors are more than can be searched, which is {most}")]
    TooManyProcessors {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// The chip's fault: no mapping fits its memories.
    #[error(
        "no mapping that was found fits the memories of `{soc}`; the closest needs {needed} bytes of `{memory}`, which has {limit}"
    )]
    DoesNotFit {
        /// The chip.
        soc: String,
        /// The memory that is exceeded by the plan that exceeds it least.
        memory: String,
        /// What that plan needs.
        needed: u64,
        /// What there is.
        limit: u64,
    },
    /// The user's or the chip's: nothing runs the whole network under the limits given.
    #[error("no mapping of at most {max_stages} stages runs every operator")]
    NoMapping {
        /// The limit.
        max_stages: usize,
    },
    /// The user's: demands leave tasks no processor; all of them.
    #[error("{} left without a processor", match .0.len() {
        1 => "1 task is".to_owned(),
        count => format!("{count} tasks are"),
    })]
    Stranded(Vec<Stranded>),
    /// The user's: demands that exclude each other.
    #[error("{0}")]
    Conflict(Box<Conflict>),
    /// The user stopped the search, or let it run out of time, before any mapping was complete.
    #[error("{} before any mapping was complete", match .0 {
        StoppedBy::Time => "the time limit was reached",
        StoppedBy::Complete | StoppedBy::Gap | StoppedBy::Work | StoppedBy::Interrupt => "stopped",
    })]
    Stopped(StoppedBy),
    /// Ours: a plan that the checker refuses.
    #[error("the plan {file} breaks its own rules: {}", .violations.first().map_or_else(String::new, ToString::to_string))]
    Wrong {
        /// Its file.
        file: String,
        /// All of it.
        violations: Vec<Violation>,
    },
    /// Ours: search and estimator disagree about a mapping.
    #[error("search and estimator disagree about a mapping: {searched} and {estimated}")]
    Disagreement {
        /// Latency, interval and dynamic energy as the search has them.
        searched: String,
        /// The same as the estimator has them.
        estimated: String,
    },
}
