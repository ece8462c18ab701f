//! Names for what a mapping consists of and how it was found.

use std::fmt;

/// What the unit of mapping is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Granularity {
    /// A branch of a fan-in block is one task.
    Coarse,
    /// Operators.
    Fine,
    /// The better of both, never worse than a list schedule or a single processor.
    #[default]
    Auto,
}

/// How a schedule and its bound were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Frontier search over down-sets.
    Frontier,
    /// Earliest finish first by upward ranks.
    ListSchedule,
    /// Everything on one processor.
    SingleProcessor,
    /// Annealing by insertion.
    LocalSearch,
    /// Branches as tasks.
    Coarse,
    /// The MILP over operators.
    Fine,
    /// Search for the least makespan below a cutoff.
    Exact,
}

impl Method {
    /// All methods, as their bits in [`Methods`] are ordered.
    pub const ALL: [Self; 7] = [
        Self::Frontier,
        Self::ListSchedule,
        Self::SingleProcessor,
        Self::LocalSearch,
        Self::Coarse,
        Self::Fine,
        Self::Exact,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Frontier => "frontier",
            Self::ListSchedule => "heft",
            Self::SingleProcessor => "single",
            Self::LocalSearch => "local-search",
            Self::Coarse => "coarse",
            Self::Fine => "fine",
            Self::Exact => "exact",
        }
    }
}

/// The methods behind the blocks of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Methods(u8);

impl Methods {
    /// With `method` too.
    #[must_use]
    pub const fn with(self, method: Method) -> Self {
        Self(self.0 | 1 << method as u8)
    }

    /// Both together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for Methods {
    /// `frontier+heft`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for method in Method::ALL {
            if self.0 & (1 << method as u8) != 0 {
                write!(f, "{separator}{}", method.name())?;
                separator = "+";
            }
        }
        Ok(())
    }
}
