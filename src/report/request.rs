//! What a page is made from, and why it cannot be.

use paracompile_plan::Plan;
use paracompile_plan::facts::{CostFacts, ModelFacts};
use paracompile_plan::front::Front;

use crate::simulate::SimulateError;

/// What a page is made from.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The front.
    pub front: &'a Front,
    /// The plans that it names, by their files, in any order; others are ignored.
    pub plans: &'a [(&'a str, &'a Plan)],
    /// Model and chip, where they are at hand.
    pub known: Option<Known<'a>>,
    /// What people should know of the run: one sentence each.
    pub notes: &'a [String],
}

/// What plan files do not hold: classes of operators, sources of their costs, sizes of memories.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The network.
    pub model: &'a ModelFacts,
    /// The chip at the operating points of the run.
    pub costs: &'a CostFacts,
    /// The same at others that plans run at.
    pub elsewhere: &'a [CostFacts],
}

/// Why there is no page; always the fault of the files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The front has no plan, so that there is nothing to show.
    #[error("front.json: there are no plans")]
    NoPlans,
    /// The front names a plan that was not given.
    #[error("front.json: the plan {file} is missing")]
    Missing {
        /// Its file.
        file: String,
    },
    /// The recommended plan is not on the front.
    #[error("front.json: the recommended plan {file} is not on the front")]
    NotOnFront {
        /// Its file.
        file: String,
    },
    /// A plan belongs to another model or chip than the front, or than what is known besides.
    #[error("{file}: this plan is for {found}, not for {wanted}")]
    Stranger {
        /// Its file.
        file: String,
        /// Model and chip of the plan.
        found: String,
        /// Model and chip of the page.
        wanted: String,
    },
    /// A plan that cannot run.
    #[error("{file}: {source}")]
    Broken {
        /// Its file.
        file: String,
        /// What is wrong with it.
        source: SimulateError,
    },
}
