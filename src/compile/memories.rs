//! Which candidates the chip can hold (rule M8), judged exactly by the estimator.

use paracompile_frontend::soc::{MemoryId, Soc};
use paracompile_plan::Bytes;
use rayon::prelude::*;

use super::CompileError;
use super::arrow::Inputs;
use crate::estimate::evaluate;
use crate::mapping::PipelineMapping;
use crate::pipeline::{Candidate, Capacity};

/// By how much a plan exceeds the capacity that it exceeds most; the order is that of the excess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Excess {
    missing: Bytes,
    /// Index of the capacity.
    capacity: usize,
    needed: Bytes,
}

/// The peak of each memory that a mapping uses.
pub(super) fn peaks(inputs: &Inputs<'_>, mapping: &PipelineMapping) -> Vec<(MemoryId, Bytes)> {
    let Inputs {
        graph,
        segments,
        table,
        ..
    } = inputs;
    let estimate = evaluate(&segments.graph, graph, table, mapping);
    let used = estimate.memory.iter();
    used.map(|used| (used.memory, used.peak)).collect()
}

/// What is missing for `mapping`; `None` if it fits.
pub(super) fn excess(
    inputs: &Inputs<'_>,
    capacities: &[Capacity],
    mapping: &PipelineMapping,
) -> Option<Excess> {
    if capacities.is_empty() {
        return None;
    }
    let peaks = peaks(inputs, mapping);
    let exceeded = capacities
        .iter()
        .enumerate()
        .filter_map(|(index, capacity)| {
            let needed = capacity.used(peaks.iter().copied());
            (needed > capacity.limit).then(|| Excess {
                missing: needed - capacity.limit,
                capacity: index,
                needed,
            })
        });
    exceeded.max()
}

/// What is told of a plan that does not fit.
pub(super) fn too_small(soc: &Soc, capacities: &[Capacity], excess: Excess) -> CompileError {
    let capacity = &capacities[excess.capacity];
    CompileError::DoesNotFit {
        soc: soc.name.clone(),
        memory: capacity.name.clone(),
        needed: excess.needed.count(),
        limit: capacity.limit.count(),
    }
}

/// The candidates that fit; if none does, what is missing in the one that comes closest.
pub(super) fn fitting(
    inputs: &Inputs<'_>,
    capacities: &[Capacity],
    candidates: Vec<Candidate>,
) -> Result<Vec<Candidate>, CompileError> {
    let judged: Vec<_> = candidates
        .par_iter()
        .map(|candidate| {
            excess(
                &inputs.at(&candidate.points),
                capacities,
                &candidate.mapping,
            )
        })
        .collect();
    // What fits is less than anything that does not.
    if let Some(&Some(least)) = judged.iter().min() {
        return Err(too_small(&inputs.table.soc, capacities, least));
    }
    let judged = candidates.into_iter().zip(judged);
    Ok(judged
        .filter(|(_, excess)| excess.is_none())
        .map(|(candidate, _)| candidate)
        .collect())
}
