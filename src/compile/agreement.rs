//! The search held against the estimator.

use rayon::prelude::*;

use super::CompileError;
use super::arrow::Inputs;
use crate::estimate::evaluate_times;
use crate::pipeline::Candidate;

/// Fails unless the estimator has the same integers for every candidate: one of the two would be wrong.
pub(super) fn agree(inputs: &Inputs<'_>, candidates: &[Candidate]) -> Result<(), CompileError> {
    let wrong = candidates
        .par_iter()
        .map(|candidate| {
            let times = evaluate_times(
                &inputs.segments.graph,
                inputs.at(&candidate.points).table,
                &candidate.mapping,
            );
            let cost = &candidate.cost;
            let searched = (cost.latency, cost.bottleneck, cost.energy);
            let estimated = (times.latency, times.interval, times.energy_dynamic);
            (searched, estimated)
        })
        .find_first(|(searched, estimated)| searched != estimated);
    match wrong {
        None => Ok(()),
        Some((searched, estimated)) => Err(CompileError::Disagreement {
            searched: format!("{searched:?}"),
            estimated: format!("{estimated:?}"),
        }),
    }
}
