//! Why a coarse mapping could not be computed.

use crate::mapping::fine::FineError;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CoarseError {
    /// A branch names an operator that the problem does not have: the caller's fault.
    #[error(
        "branch of operator {first}: operator {operator} is not one of the {operators} of the problem"
    )]
    UnknownOperator {
        /// First operator of the branch.
        first: usize,
        /// The operator that does not exist.
        operator: usize,
        /// How many there are.
        operators: usize,
    },
    /// Branches overlap, or a nested branch leaves its outer one: the caller's fault.
    #[error("operator {operator}: in two branches, or in a nested branch and not in the outer one")]
    Overlap {
        /// The operator.
        operator: usize,
    },
    /// A path leaves a branch and comes back to it, so it cannot be one task: the caller's fault.
    #[error("operator {operator}: its branch is not convex")]
    NotConvex {
        /// An operator of a task that waits for itself.
        operator: usize,
    },
    /// No processor runs all operators of a branch: a fact about the model and the chip.
    #[error("branch of operator {first}: no processor runs all its {operators} operators")]
    NoProcessor {
        /// First operator of the branch.
        first: usize,
        /// How many it has.
        operators: usize,
    },
    /// There are fewer tasks than processors that must be used, or none that some of them can run: a fact about the stage.
    #[error("stage: its tasks cannot use every processor that must be used")]
    Uncovered,
    /// The solve failed.
    #[error("coarse mapping")]
    Fine(#[from] FineError),
}
