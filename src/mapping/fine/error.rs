//! Why a fine mapping could not be computed.

use paracompile_plan::{Nanojoules, Nanoseconds};

use crate::milp::MilpError;

/// What went wrong; limits are no error, they show in the outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FineError {
    /// The start is no mapping of this problem: the caller's fault.
    #[error("start: {0}")]
    Start(StartFault),
    /// The solver's fault, or the size of the problem.
    #[error("fine mapping")]
    Solver(#[from] MilpError),
    /// A bound above a value that is reached, or a program without a point although the start is one: the solver is wrong, and nothing that it says is used.
    #[error("fine mapping: the solver claims {claim} against a schedule of {reached}")]
    Contradiction {
        /// What it claims.
        claim: Claim,
        /// The makespan of a schedule that exists.
        reached: Nanoseconds,
    },
}

/// What a solver can wrongly claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// A lower bound.
    Bound(Nanoseconds),
    /// A lower bound of the energy that the schedule stays below.
    Energy(Nanojoules),
    /// That no schedule exists.
    Infeasible,
}

impl std::fmt::Display for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bound(bound) => write!(f, "a bound of {bound}"),
            Self::Energy(bound) => write!(f, "at least {bound}"),
            Self::Infeasible => f.write_str("infeasibility"),
        }
    }
}

/// Why a start is no mapping of its problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartFault {
    /// It has another number of operators.
    #[error("{processors} processors and a sequence of {sequence} for {operators} operators")]
    Length {
        /// Assigned operators.
        processors: usize,
        /// Operators in the sequence.
        sequence: usize,
        /// Operators of the problem.
        operators: usize,
    },
    /// A processor does not run the operator that is placed on it.
    #[error("operator {operator} does not run on processor {processor}")]
    Unsupported {
        /// The operator.
        operator: usize,
        /// Where it was placed.
        processor: usize,
    },
    /// The sequence repeats an operator or has it before one that it reads from.
    #[error("operator {operator} is repeated or comes before its inputs in the sequence")]
    Order {
        /// The operator.
        operator: usize,
    },
    /// A processor that must run an operator runs none.
    #[error("processor {processor} must be used and is not")]
    Unused {
        /// The processor.
        processor: usize,
    },
    /// The last operator is not on the exit processor.
    #[error("the last operator must run on processor {processor}")]
    Exit {
        /// The exit processor.
        processor: usize,
    },
}
