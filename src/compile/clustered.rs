//! A clustering as a checked plan: nothing is searched.

use paracompile_plan::plan::StoppedBy;

use super::arrow::Inputs;
use super::memories::{excess, too_small};
use super::plan_files::{Terms, check_all, plan_file};
use super::{Clustering, CompileError, PlanFile};
use crate::cluster::{kernel_components, stage};
use crate::emit::name_components;
use crate::mapping::PipelineMapping;
use crate::partition::{CutRule, fuse_for, segment_by};
use crate::pipeline::Capacity;

/// The plan of a clustering, whose tasks name their components.
pub fn clustered(clustering: Clustering<'_>, file: &str) -> Result<PlanFile, CompileError> {
    let Clustering {
        clusters,
        configuration,
    } = clustering;
    let (graph, table) = (clusters.graph, clusters.table);
    let segments = segment_by(fuse_for(graph, table), CutRule::default());
    if segments.graph.ops.is_empty() {
        return Err(CompileError::NothingToMap);
    }
    let inputs = Inputs::new(graph, &segments, table, &[]);
    let mapping = PipelineMapping {
        stages: vec![stage(clusters, configuration, &segments)],
    };
    let capacities = Capacity::of_chip(&table.soc);
    if let Some(excess) = excess(&inputs, &capacities, &mapping) {
        return Err(too_small(&table.soc, &capacities, excess));
    }
    let mut plan = plan_file(
        &inputs,
        file.to_owned(),
        &mapping,
        &[],
        StoppedBy::Complete,
        &Terms::NONE,
    );
    name_components(&mut plan.plan, &kernel_components(&clusters.components));
    check_all(&inputs, std::slice::from_ref(&plan))?;
    Ok(plan)
}
