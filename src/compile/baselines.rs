//! Baselines: what the network costs without a search (rule M13).

use super::arrow::Inputs;
use super::memories::excess;
use crate::estimate::evaluate_times;
use crate::mapping::PipelineMapping;
use crate::mapping::decompose::StageMapper;
use crate::pipeline::Candidate;

/// A mapping with a name.
pub(super) struct Baseline {
    /// `single:` and a processor, or `heft`.
    pub(super) name: String,
    /// One stage.
    pub(super) mapping: PipelineMapping,
}

/// Everything on each processor that can run it, and the list schedule over all of them.
///
/// A baseline that the chip cannot hold is no plan, so nothing is compared with it.
pub(super) fn baselines(inputs: &Inputs<'_>, mapper: &StageMapper<'_>) -> Vec<Baseline> {
    let processors = inputs.table.soc.processors.iter();
    let single = processors.filter_map(|(id, processor)| {
        let stage = mapper.whole_on(id)?;
        Some((format!("single:{}", processor.name), stage))
    });
    let heft = mapper
        .whole_by_heft()
        .map(|stage| ("heft".to_owned(), stage));
    single
        .chain(heft)
        .map(|(name, stage)| Baseline {
            name,
            mapping: PipelineMapping {
                stages: vec![stage],
            },
        })
        .filter(|baseline| excess(inputs, &baseline.mapping).is_none())
        .collect()
}

impl Baseline {
    /// It can be better than blocks that were not solved to the end, so it stands for election too.
    pub(super) fn candidate(&self, inputs: &Inputs<'_>) -> Candidate {
        let times = evaluate_times(&inputs.segments.graph, inputs.table, &self.mapping);
        Candidate::new(
            self.mapping.clone(),
            times.latency,
            times.interval,
            times.energy_dynamic,
        )
    }
}
