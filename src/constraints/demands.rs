//! All demands of a run.

use paracompile_frontend::ir::VerifiedGraph;
use paracompile_frontend::soc::Soc;
use paracompile_plan::plan::Constraint;

use super::{PlacementRule, Requirement};

/// What every plan must meet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constraints {
    /// Where operators may run, in the order of the command line.
    pub placements: Vec<PlacementRule>,
    /// Limits on figures, in the order of the command line.
    pub requirements: Vec<Requirement>,
}

impl Constraints {
    /// Nothing is demanded.
    pub const NONE: Self = Self {
        placements: Vec::new(),
        requirements: Vec::new(),
    };

    /// Whether nothing is demanded.
    pub const fn is_empty(&self) -> bool {
        self.placements.is_empty() && self.requirements.is_empty()
    }

    /// The placements as plan files have them.
    pub fn recorded_placements(&self, graph: &VerifiedGraph, soc: &Soc) -> Vec<Constraint> {
        let placements = self.placements.iter();
        placements.map(|rule| rule.recorded(graph, soc)).collect()
    }

    /// All of them as plan files have them, placements first.
    pub fn recorded(&self, graph: &VerifiedGraph, soc: &Soc) -> Vec<Constraint> {
        let mut all = self.recorded_placements(graph, soc);
        let requirements = self.requirements.iter();
        all.extend(requirements.map(|requirement| requirement.recorded(soc)));
        all
    }
}
