//! The whole pipeline as one function: from a verified graph and its costs to a front of checked plans.

use std::collections::BTreeMap;

use paracompile_frontend::cost::{CostTable, cost_facts};
use paracompile_frontend::facts::model_facts;
use paracompile_frontend::ir::VerifiedGraph;
use paracompile_plan::Plan;
use paracompile_plan::check::check;
use paracompile_plan::front::Front;
use paracompile_plan::plan::StoppedBy;
use rayon::prelude::*;

use crate::estimate::{Estimate, evaluate};
use crate::mapping::{Budget, Effort, Granularity};
use crate::partition::{Segments, fuse, segment};
use crate::pipeline::{PipelineMapping, baselines, pipelines};

/// What to search for, and how hard.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Which plan of the front to recommend; changes nothing else.
    pub objective: Recommend,
    /// How finely operators are mapped inside a stage.
    pub granularity: Granularity,
    /// The largest number of stages; `None` is as many as there are processors.
    pub max_stages: Option<usize>,
    /// A stage mapping within this gap of its bound is good enough.
    pub gap: f64,
    /// Counted work where no proof is reached.
    pub effort: Effort,
    /// Worker threads; `None` is one a core. The result does not depend on it.
    pub threads: Option<usize>,
}
