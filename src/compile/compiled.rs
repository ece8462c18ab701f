//! What a compile run finds.

use std::sync::Arc;

use paracompile_frontend::cost::CostTable;
use paracompile_plan::Plan;
use paracompile_plan::front::Front;

use crate::estimate::Estimate;
use crate::mapping::PipelineMapping;
use crate::partition::Segments;

/// Everything that a compile run found.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The network, fused and cut.
    pub segments: Segments,
    /// The front.
    pub front: Front,
    /// Plans of the front, then dominated bests and baselines.
    pub files: Vec<PlanFile>,
    /// Memories that can be too small for some mapping: then the front is over the mappings that were tried, not over all.
    pub tight: Vec<String>,
    /// Of the hybrids that no plan of one stage matches in both latency and interval, the one of least latency in a stream; no file of the run, for comparisons alone.
    pub streaming_hybrid: Option<PlanFile>,
}

/// A plan and what it was made from.
#[derive(Clone, Debug)]
pub struct PlanFile {
    /// Path relative to `front.json`.
    pub file: String,
    /// The plan.
    pub plan: Plan,
    /// Who runs what.
    pub mapping: PipelineMapping,
    /// Its figures.
    pub estimate: Estimate,
    /// Costs at its operating points, where those are not the run's own.
    pub table: Option<Arc<CostTable>>,
}
