//! What a search hands back, how hard it may try, and when it must stop.
//!
//! The bound always travels with the value.
//! Searches count their work and know no clock: whoever calls them hands down a [`Budget`].

use std::fmt;
use std::time::Duration;

use paracompile_plan::Nanoseconds;
use paracompile_plan::plan::StoppedBy;

use crate::milp::Remaining;

/// A value and what is known about how good it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<T> {
    /// The best that was found.
    pub value: T,
    /// The claim about it.
    pub proof: Proof,
}

/// How far a value can be from the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// No other value is better.
    Optimal,
    /// The counted work was done; no value is below the bound.
    WithinGap {
        /// Lower bound on the makespan.
        bound: Nanoseconds,
    },
    /// The budget ended the search; no value is below the bound.
    Interrupted {
        /// Lower bound on the makespan.
        bound: Nanoseconds,
    },
}

impl Proof {
    /// The lower bound that holds for a value of `value`.
    pub fn bound(self, value: Nanoseconds) -> Nanoseconds {
        match self {
            Self::Optimal => value,
            Self::WithinGap { bound } | Self::Interrupted { bound } => bound.min(value),
        }
    }
}

/// The least bound for a value with which the gap is at most so many millionths.
pub(crate) fn enough(value: Nanoseconds, gap_millionths: u32) -> Nanoseconds {
    let allowed = u128::from(value.count()) * u128::from(gap_millionths) / 1_000_000;
    let allowed = u64::try_from(allowed).unwrap_or(u64::MAX);
    Nanoseconds::new(value.count().saturating_sub(allowed))
}

/// How much counted work a search may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effort {
    /// A first answer.
    Quick,
    /// The default.
    #[default]
    Normal,
    /// Several times the default.
    Thorough,
}

impl Effort {
    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Normal => "normal",
            Self::Thorough => "thorough",
        }
    }

    /// How many states a frontier search may create.
    pub const fn states(self) -> u64 {
        match self {
            Self::Quick => 60_000,
            Self::Normal => 600_000,
            Self::Thorough => 3_000_000,
        }
    }

    /// How many states an exact search for the makespan may create.
    pub const fn exact_states(self) -> u64 {
        match self {
            Self::Quick => 200_000,
            Self::Normal => 5_000_000,
            Self::Thorough => 50_000_000,
        }
    }

    /// The same for a block of a stage, of which there are hundreds.
    pub(super) const fn exact_states_of_block(self) -> u64 {
        match self {
            Self::Quick => 5_000,
            Self::Normal => 40_000,
            Self::Thorough => 5_000_000,
        }
    }

    /// How many moves a local search of a block of `operators` may try.
    ///
    /// A move takes time in proportion to the block at most, so large blocks get fewer; the numbers keep the default under a second.
    pub fn moves(self, operators: usize) -> u64 {
        let unit = (2_250_000 / operators.max(1) as u64).clamp(11_000, 45_000);
        match self {
            Self::Quick => unit,
            Self::Normal => 8 * unit,
            Self::Thorough => 100 * unit,
        }
    }
}

/// Says whether a search must stop, and why; the caller owns the clock.
#[derive(Clone, Copy)]
pub struct Budget<'a> {
    stop: Option<Stop<'a>>,
    stop_blocks: Option<Stop<'a>>,
    left: Option<&'a (dyn Fn() -> Duration + Sync)>,
}

/// Why to stop, if to stop.
type Stop<'a> = &'a (dyn Fn() -> Option<StoppedBy> + Sync);

impl<'a> Budget<'a> {
    /// Only counted work ends a search, so that its result is a function of its input.
    pub const UNLIMITED: Self = Self {
        stop: None,
        left: None,
        stop_blocks: None,
    };

    /// Asks `stop` now and then.
    pub const fn until(stop: &'a (dyn Fn() -> Option<StoppedBy> + Sync)) -> Self {
        Self {
            stop: Some(stop),
            stop_blocks: None,
            left: None,
        }
    }

    /// The same with a clock: solvers that cannot be asked to stop are told how long they may take.
    #[must_use]
    pub const fn with_clock(self, left: &'a (dyn Fn() -> Duration + Sync)) -> Self {
        Self {
            left: Some(left),
            ..self
        }
    }

    /// The same, where the blocks of stages stop earlier, so that time is left to combine those that are solved.
    #[must_use]
    pub const fn with_blocks_until(
        self,
        stop_blocks: &'a (dyn Fn() -> Option<StoppedBy> + Sync),
    ) -> Self {
        Self {
            stop_blocks: Some(stop_blocks),
            ..self
        }
    }

    /// How much time is left; `None` where no clock runs.
    pub fn left(&self) -> Option<Duration> {
        self.left.map(|left| left())
    }

    /// The same as solvers of integer programs ask it.
    pub fn remaining(&self) -> Remaining {
        match self.left() {
            _ if self.should_stop() => Remaining::Nothing,
            Some(left) => Remaining::Time(left),
            None => Remaining::Unlimited,
        }
    }

    /// The part of it that blocks of stages have.
    #[must_use]
    pub const fn of_blocks(self) -> Self {
        match self.stop_blocks {
            None => self,
            Some(stop) => Self {
                stop: Some(stop),
                stop_blocks: None,
                left: self.left,
            },
        }
    }

    /// Why to stop, if to stop.
    pub fn stopped_by(&self) -> Option<StoppedBy> {
        self.stop.and_then(|stop| stop())
    }

    /// Whether to stop.
    pub fn should_stop(&self) -> bool {
        self.stopped_by().is_some()
    }
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("limited", &self.stop.is_some())
            .finish()
    }
}
