//! The best mapping of one stage on given processors: what a comparison asks for when it looks at a part of a chip.
//!
//! No baseline competes, so that a granularity is judged by what it finds itself.

use paracompile_frontend::cost::CostTable;
use paracompile_frontend::ir::VerifiedGraph;
use paracompile_frontend::soc::ProcessorSet;
use paracompile_plan::front::EnergyAxis;
use paracompile_plan::plan::StoppedBy;

use super::arrow::{Inputs, mapper_options};
use super::field::queues_allowed;
use super::memories::excess;
use super::plan_files::{Terms, check_all, plan_file};
use super::{CompileError, Options, PlanFile};
use crate::mapping::PipelineMapping;
use crate::mapping::decompose::{Ends, MapperOptions, StageGraph, StageMapper};
use crate::partition::{fuse_for, segment_by};
use crate::pipeline::Capacity;

/// The whole network as one stage that uses all of `processors` and no other, in the least time that the options find; a checked plan.
///
/// `None` where these processors cannot run everything, or their memories do not hold it.
/// The file's name is `file`; [`Options::max_stages`], [`Options::goal`] and [`Options::constraints`] are not asked.
pub fn one_stage(
    graph: &VerifiedGraph,
    table: &CostTable,
    processors: ProcessorSet,
    file: &str,
    options: &Options<'_>,
) -> Result<Option<PlanFile>, CompileError> {
    let segments = segment_by(fuse_for(graph, table), options.cuts);
    let count = segments.graph.ops.len();
    if count == 0 {
        return Err(CompileError::NothingToMap);
    }
    let inputs = Inputs::new(graph, &segments, table, options.queues);
    let mapper = StageMapper::new(
        StageGraph::new(&segments, table, processors).with_queues(queues_allowed(&inputs)),
        MapperOptions {
            energy: EnergyAxis::ByProduct,
            ..mapper_options(options)
        },
    );
    let found = mapper.options_to(0, &mapper.entry_at_start(), processors, Ends::Last);
    let best = found
        .iter()
        .filter(|option| option.ops.end == count)
        .min_by_key(|option| (option.time, option.energy));
    let Some(best) = best else {
        return Ok(None);
    };
    let mapping = PipelineMapping {
        stages: vec![best.mapping()],
    };
    if excess(&inputs, &Capacity::of_chip(&table.soc), &mapping).is_some() {
        return Ok(None);
    }
    let stopped_by = options.budget.stopped_by().unwrap_or(StoppedBy::Complete);
    let plan = plan_file(
        &inputs,
        file.to_owned(),
        &mapping,
        &[],
        stopped_by,
        &Terms::NONE,
    );
    check_all(&inputs, std::slice::from_ref(&plan))?;
    Ok(Some(plan))
}
