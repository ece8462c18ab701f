//! How long a solve may go on.
//!
//! Work is counted in branch-and-bound nodes, so that the result is a function of the input (rule M1, and `--effort`).
//! A clock or an interrupt comes from outside, as a question that the solve asks between slices of work.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

/// Limits of one solve.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Branch-and-bound nodes of the longest slice.
    pub nodes: NonZeroU32,
    /// Whom to ask whether to go on.
    pub watch: Watch<'a>,
}

impl Limits<'_> {
    /// Counted work only.
    pub const fn counted(nodes: NonZeroU32) -> Self {
        Self {
            nodes,
            watch: Watch::Unwatched,
        }
    }
}

/// Whether somebody may stop the solve.
#[derive(Clone, Copy)]
pub enum Watch<'a> {
    /// Nobody: the solve is one slice.
    Unwatched,
    /// Asked before each slice; slices grow fourfold from a few nodes, so at most a third of the work is repeated.
    Asked(&'a (dyn Fn() -> Remaining + Sync)),
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unwatched => "Unwatched",
            Self::Asked(_) => "Asked",
        })
    }
}

/// What is left when asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remaining {
    /// No clock runs.
    Unlimited,
    /// The user gave a time limit, and this much is left; the next slice gets it as the solver's own limit.
    Time(Duration),
    /// Stop and hand over what there is.
    Nothing,
}
