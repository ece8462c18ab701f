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
    /// The search for the least makespan below what is known, of the whole; exact, and for problems of up to 64 operators.
    Exact,
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
    pub const ALL: [Self; 10] = [
        Self::Auto,
        Self::Frontier,
        Self::Exact,
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
            Self::Exact => "exact",
            Self::Milp => "milp",
            Self::BigM => "big-m",
            Self::LocalSearch => "local-search",
            Self::List(rule) => rule.name(),
        }
    }
    /// What it does, in a line for help texts.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Auto => {
                "The ladder picks: list schedules, exact blocks between gates, then search and bounds by turns"
            }
            Self::Frontier => "Dynamic programming over down-sets; exact, up to 32 operators",
            Self::Exact => {
                "The least makespan below what local search finds; exact, up to 64 operators"
            }
            Self::Milp => "The strengthened integer program from the best list schedule",
            Self::BigM => "The integer program as published, with big-M rows: the reference",
            Self::LocalSearch => {
                "Annealing by exact insertion; bounds from paths, loads and intervals"
            }
            Self::List(ListRule::Heft) => "List schedule by upward rank (Topcuoglu et al. 2002)",
            Self::List(ListRule::Cpop) => {
                "List schedule with the critical path on one processor (Topcuoglu et al. 2002)"
            }
            Self::List(ListRule::Peft) => {
                "List schedule by a table of optimistic costs (Arabnejad and Barbosa 2014)"
            }
            Self::List(ListRule::LookaheadHeft) => {
                "HEFT that looks at the successors of each operator (Bittencourt et al. 2010)"
            }
        }
    }
}
