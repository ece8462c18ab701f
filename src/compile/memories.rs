//! Which candidates the chip can hold (rule M8), judged exactly by the estimator.

use paracompile_frontend::soc::MemoryId;
use paracompile_plan::Bytes;
use rayon::prelude::*;

use super::CompileError;
use super::arrow::Inputs;
use crate::estimate::evaluate;
use crate::mapping::PipelineMapping;
use crate::pipeline::Candidate;

/// By how much a plan exceeds the memory that it exceeds most; the order is that of the excess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Excess {
    missing: Bytes,
    memory: MemoryId,
    needed: Bytes,
    limit: Bytes,
}

/// What is missing for `mapping`; `None` if it fits.
pub(super) fn excess(inputs: &Inputs<'_>, mapping: &PipelineMapping) -> Option<Excess> {
    let Inputs {
        graph,
        segments,
        table,
        ..
    } = inputs;
    let memories = &table.soc.memories;
    if memories.iter().all(|(_, memory)| memory.limit.is_none()) {
        return None;
    }
    let estimate = evaluate(&segments.graph, graph, table, mapping);
    let exceeded = estimate.exceeded(&table.soc).filter_map(|used| {
        let limit = memories[used.memory].limit?;
        Some(Excess {
            missing: used.peak - limit,
            memory: used.memory,
            needed: used.peak,
            limit,
        })
    });
    exceeded.max()
}

/// The candidates that fit; if none does, what is missing in the one that comes closest.
pub(super) fn fitting(
    inputs: &Inputs<'_>,
    candidates: Vec<Candidate>,
) -> Result<Vec<Candidate>, CompileError> {
    let judged: Vec<_> = candidates
        .par_iter()
        .map(|candidate| excess(&inputs.at(&candidate.points), &candidate.mapping))
        .collect();
    // What fits is less than anything that does not.
    if let Some(Some(least)) = judged.iter().min() {
        let soc = &inputs.table.soc;
        return Err(CompileError::DoesNotFit {
            soc: soc.name.clone(),
            memory: soc.memories[least.memory].name.clone(),
            needed: least.needed.count(),
            limit: least.limit.count(),
        });
    }
    let judged = candidates.into_iter().zip(judged);
    Ok(judged
        .filter(|(_, excess)| excess.is_none())
        .map(|(candidate, _)| candidate)
        .collect())
}
