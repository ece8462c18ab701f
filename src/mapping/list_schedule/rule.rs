//! The list schedulers by name.

use super::super::{Problem, Solution};
use super::{cpop, heft, lookahead_heft, peft};

/// A list scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListRule {
    /// [`heft`].
    Heft,
    /// [`cpop`].
    Cpop,
    /// [`peft`].
    Peft,
    /// [`lookahead_heft`].
    LookaheadHeft,
}

impl ListRule {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 4] = [Self::Heft, Self::Cpop, Self::Peft, Self::LookaheadHeft];

    /// The name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Heft => "heft",
            Self::Cpop => "cpop",
            Self::Peft => "peft",
            Self::LookaheadHeft => "lookahead-heft",
        }
    }

    /// What it makes of a problem.
    pub fn schedule(self, problem: &Problem) -> Option<Solution> {
        match self {
            Self::Heft => heft(problem),
            Self::Cpop => cpop(problem),
            Self::Peft => peft(problem),
            Self::LookaheadHeft => lookahead_heft(problem),
        }
    }
}
