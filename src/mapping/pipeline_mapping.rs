//! A complete mapping: what the search hands to the estimator and to the emitter.
//!
//! It says who runs what in which order, and nothing about time: times are derived again, twice, behind it.

use std::ops::Range;

use paracompile_frontend::soc::{ProcessorId, ProcessorSet, Renaming};
use paracompile_plan::Nanoseconds;
use paracompile_plan::plan::StoppedBy;

use crate::partition::FusedOpId;

/// A mapping of a whole network; baselines are of this type too (rule M13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineMapping {
    /// Stages in order; together they cover every fused operator once.
    pub stages: Vec<StageMapping>,
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageMapping {
    /// Its fused operators, as positions in the order of the fused graph.
    pub ops: Range<usize>,
    /// Its processors `S`; each runs at least one operator.
    pub processors: ProcessorSet,
    /// The processor of each operator of `ops`.
    pub placement: Vec<ProcessorId>,
    /// The operators of `ops`, in an order that is topological; the order on each processor is the order here.
    pub sequence: Vec<FusedOpId>,
    /// The claim about `T_s(S)`.
    pub proof: StageProof,
}

/// The claim about a stage's time under its own set (rule M9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageProof {
    /// No mapping of the scope takes less.
    pub bound: Nanoseconds,
    /// How value and bound were found.
    pub method: String,
    /// Over which choices the claim holds.
    pub scope: String,
    /// Why the search stopped.
    pub stopped_by: StoppedBy,
}

impl StageMapping {
    /// The same stage on equivalent processors.
    #[must_use]
    pub fn renamed(mut self, renaming: &Renaming) -> Self {
        self.processors = self.processors.iter().map(|p| renaming.of(p)).collect();
        for processor in &mut self.placement {
            *processor = renaming.of(*processor);
        }
        self
    }
}

impl PipelineMapping {
    /// The processors in use, `A`.
    pub fn used(&self) -> ProcessorSet {
        self.stages.iter().fold(ProcessorSet::EMPTY, |set, stage| {
            set.union(stage.processors)
        })
    }
}
