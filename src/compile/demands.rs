//! What a run demands, held against what was found.

use paracompile_frontend::soc::Soc;
use paracompile_plan::plan::Figure;
use paracompile_plan::{Bytes, Nanoseconds};
use rayon::prelude::*;

use super::arrow::Inputs;
use super::memories::peaks;
use crate::constraints::{Constraints, Judged, Requirement};
use crate::pipeline::{Candidate, Capacity};

/// Limits on memory, which the search keeps: those of the chip, then those that are required.
pub(super) fn capacities(soc: &Soc, asked: &Constraints) -> Vec<Capacity> {
    let required = asked.requirements.iter();
    let required = required.filter_map(|requirement| capacity(soc, requirement));
    Capacity::of_chip(soc).into_iter().chain(required).collect()
}

/// A requirement on memory as a limit of the search.
pub(super) fn capacity(soc: &Soc, requirement: &Requirement) -> Option<Capacity> {
    (requirement.figure == Figure::Memory).then(|| Capacity {
        name: requirement.to_string(),
        memories: match requirement.memory {
            Some(memory) => vec![memory],
            None => soc.memories.ids().collect(),
        },
        limit: Bytes::new(requirement.at_most),
    })
}

/// The figures of a candidate; the memory costs an evaluation, so only where somebody asks for it.
pub(super) fn judged(inputs: &Inputs<'_>, candidate: &Candidate, with_memory: bool) -> Judged {
    Judged {
        latency: candidate.cost.latency,
        interval: candidate.cost.bottleneck,
        energy_dynamic: candidate.cost.energy,
        static_power: candidate.cost.power,
        base_power: inputs.table.base_power(),
        memory: if with_memory {
            peaks(&inputs.at(&candidate.points), &candidate.mapping)
        } else {
            Vec::new()
        },
    }
}

/// Candidates and, of each, the interval at which frames are admitted.
pub(super) type Admitted = (Vec<Candidate>, Vec<Nanoseconds>);

/// The candidates that meet every requirement, each with the interval at which frames are admitted.
pub(super) fn admitted(
    inputs: &Inputs<'_>,
    candidates: Vec<Candidate>,
    asked: &Constraints,
) -> Admitted {
    let requirements: Vec<&Requirement> = asked.requirements.iter().collect();
    let with_memory = requirements
        .iter()
        .any(|requirement| requirement.figure == Figure::Memory);
    let admissions: Vec<Option<Nanoseconds>> = candidates
        .par_iter()
        .map(|candidate| judged(inputs, candidate, with_memory).admission(&requirements))
        .collect();
    candidates
        .into_iter()
        .zip(admissions)
        .filter_map(|(candidate, admission)| Some((candidate, admission?)))
        .unzip()
}
