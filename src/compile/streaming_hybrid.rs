//! The hybrid that a stream would be run with for the sake of latency.
//!
//! The fastest hybrid for one frame alone is mostly a plan of one stage with its last operator on another processor, which a stream gains nothing from.
//! So a hybrid counts only if no plan of one stage is at least as good in both latency and interval, and of those the latency in a stream decides, which is what Para-Pipe measures its hybrid-L by.

use rayon::prelude::*;

use super::arrow::Inputs;
use crate::estimate::evaluate;
use crate::pipeline::Candidate;

/// Of the hybrids that pay as pipelines, the one of least latency in a stream, then of least interval and energy.
pub(super) fn streaming_hybrid<'a>(
    inputs: &Inputs<'_>,
    candidates: &'a [Candidate],
) -> Option<&'a Candidate> {
    let objectives = |candidate: &Candidate| (candidate.cost.latency, candidate.cost.bottleneck);
    let uncut: Vec<_> = candidates
        .iter()
        .filter(|candidate| candidate.mapping.stages.len() == 1)
        .map(objectives)
        .collect();
    candidates
        .par_iter()
        .filter(|candidate| is_hybrid(candidate))
        .filter(|candidate| {
            let (latency, interval) = objectives(candidate);
            !uncut
                .iter()
                .any(|&one| one.0 <= latency && one.1 <= interval)
        })
        .map(|candidate| {
            let Inputs {
                graph,
                segments,
                table,
                ..
            } = &inputs.at(&candidate.points);
            let estimate = evaluate(&segments.graph, graph, table, &candidate.mapping);
            let key = (
                estimate.saturated_latency,
                estimate.interval,
                estimate.energy_active,
            );
            (key, candidate)
        })
        .collect::<Vec<_>>()
        .into_iter()
        .min_by_key(|&(key, _)| key)
        .map(|(_, candidate)| candidate)
}

fn is_hybrid(candidate: &Candidate) -> bool {
    let stages = &candidate.mapping.stages;
    stages.len() > 1 && stages.iter().any(|stage| stage.processors.len() > 1)
}
