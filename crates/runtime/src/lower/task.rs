//! Fused operators as one sequence of launches: what stays between them is scratch space.

use super::{Lowered, Site, Target, Unsupported};

/// Operators that run one after another, and how they are wired.
#[derive(Clone, Debug)]
pub struct Task<'a> {
    /// In topological order; the first is the anchor.
    pub sites: Vec<Site<'a>>,
    /// For every site and operand, where it comes from; `None` where one is left out.
    pub operands: Vec<Vec<Option<Wire>>>,
    /// For every site and result, its position among the results of the task; `None` where nothing outside reads it.
    pub results: Vec<Vec<Option<usize>>>,
}

/// Where an operand of a fused operator comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// An operand of the task, by position.
    Outside(usize),
    /// A result of an earlier operator of the task.
    Inside {
        /// Which operator.
        site: usize,
        /// Which of its results.
        result: usize,
    },
}

/// Lowers a task; [`super::Argument::Operand`] and [`super::Argument::Result`] of what it returns are positions of the task.
pub fn lower_task(_task: &Task<'_>, _target: &Target) -> Result<Lowered, Unsupported> {
    todo!("fusion")
}
