//! What a solve is asked, what it says on its way, and what it answers.

use std::fmt;
use std::time::Duration;

use paracompile_plan::plan::StoppedBy;

use super::Method;
use super::judge::{Fault, Placed};
use crate::mapping::Effort;

/// What to solve an instance with.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Which rungs.
    pub method: Method,
    /// Counted work where no proof is reached.
    pub effort: Effort,
    /// A value within this gap, in millionths, is good enough.
    pub gap_millionths: u32,
    /// Whether the user interrupted.
    pub interrupted: &'a (dyn Fn() -> bool + Sync),
    /// How much time is left; `None` without a limit, and then the answer is a function of the instance.
    pub left: Option<&'a (dyn Fn() -> Duration + Sync)>,
    /// Told of value and bound whenever one of them got better.
    pub progress: &'a (dyn Fn(&Progress) + Sync),
}

/// How far a solve is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The best value so far.
    pub value: u64,
    /// No schedule is below.
    pub bound: u64,
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("effort", &self.effort)
            .finish_non_exhaustive()
    }
}

/// A judged schedule and what is known about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its makespan, in units of the last digit.
    pub value: u64,
    /// No schedule is below.
    pub bound: u64,
    /// What is known of the same without trust in a solver's arithmetic; at most `bound`.
    pub certified: u64,
    /// How value and bound were found.
    pub method: String,
    /// Why the solve ended.
    pub stopped_by: StoppedBy,
    /// Where and when each operator runs, by the instance's numbers.
    pub placed: Vec<Placed>,
}

impl Answer {
    /// How far the value can be from the least, as a share of it.
    pub fn gap(&self) -> f64 {
        gap(self.value, self.bound)
    }
}

/// `1 − bound / value`.
#[expect(clippy::cast_precision_loss, reason = "a printed figure")]
pub fn gap(value: u64, bound: u64) -> f64 {
    if value <= bound {
        0.0
    } else {
        1.0 - bound as f64 / value as f64
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SolveError {
    /// The chosen method is not for problems of this kind.
    #[error("{method}: {why}")]
    Unsuitable {
        /// The method.
        method: &'static str,
        /// What it lacks.
        why: String,
    },
    /// A solver's claim that contradicts a schedule, or a schedule that is none: our fault.
    #[error("a fault of paracompile: {0}")]
    Refuted(String),
}

impl From<Fault> for SolveError {
    fn from(fault: Fault) -> Self {
        Self::Refuted(fault.to_string())
    }
}
