//! The rungs by name.

use crate::mapping::ListRule;

/// How to solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// The ladder picks: gates, exact blocks, then search and bounds by turns.
    #[default]
    Auto,
    /// Dynamic programming over down-sets, of the whole; exact, and for small problems only.
    Frontier,
    /// The strengthened integer program from the best start that is quick to find.
    Milp,
    /// The integer program as published, with big-M rows: the reference.
    BigM,
    /// Annealing by exact insertion, with bounds from paths, loads and intervals.
    LocalSearch,
    /// A list schedule.
    List(ListRule),
}

impl Method {
    /// All of them, in the order of help texts.
    pub const ALL: [Self; 9] = [
        Self::Auto,
        Self::Frontier,
        Self::Milp,
        Self::BigM,
        Self::LocalSearch,
        Self::List(ListRule::Heft),
        Self::List(ListRule::Cpop),
        Self::List(ListRule::Peft),
        Self::List(ListRule::LookaheadHeft),
    ];

    /// The name on the command line and in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Frontier => "frontier",
            Self::Milp => "milp",
            Self::BigM => "big-m",
            Self::LocalSearch => "local-search",
            Self::List(rule) => rule.name(),
        }
    }
}
