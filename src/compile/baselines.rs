//! Baselines: what the network costs without a search (rule M13).

use super::arrow::Inputs;
use super::memories::excess;
use crate::estimate::evaluate_times;
use crate::mapping::decompose::StageMapper;
use crate::mapping::{ListRule, PipelineMapping};
use crate::pipeline::{Candidate, Capacity};

/// A mapping with a name.
#[derive(Clone, Debug)]
pub(super) struct Baseline {
    /// `single:` and a processor, `layer-switched`, or the name of a [`ListRule`].
    pub(super) name: String,
    /// One stage.
    pub(super) mapping: PipelineMapping,
}

/// Everything on each processor that can run it, one operator after another on all of them, and the list schedules over all of them.
///
/// A baseline that the chip cannot hold is no plan, so nothing is compared with it.
pub(super) fn baselines(
    inputs: &Inputs<'_>,
    mapper: &StageMapper<'_>,
    capacities: &[Capacity],
) -> Vec<Baseline> {
    let processors = inputs.table.soc.processors.iter();
    let single = processors.filter_map(|(id, processor)| {
        let stage = mapper.whole_on(id)?;
        Some((format!("single:{}", processor.name), stage))
    });
    let layer_switched = mapper
        .whole_layer_switched()
        .map(|stage| ("layer-switched".to_owned(), stage));
    let listed = ListRule::ALL.into_iter().filter_map(|rule| {
        let stage = mapper.whole_by(rule)?;
        Some((rule.name().to_owned(), stage))
    });
    single
        .chain(layer_switched)
        .chain(listed)
        .map(|(name, stage)| Baseline {
            name,
            mapping: PipelineMapping {
                stages: vec![stage],
            },
        })
        .filter(|baseline| excess(inputs, capacities, &baseline.mapping).is_none())
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
            self.mapping
                .used()
                .iter()
                .map(|processor| inputs.table.static_power(processor))
                .sum(),
        )
    }
}
