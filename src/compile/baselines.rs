//! Baselines: what the network costs without a search (rule M13).

use paracompile_plan::plan::KernelComponent;

use super::Clustering;
use super::arrow::Inputs;
use super::memories::excess;
use crate::cluster::{kernel_components, stage};
use crate::constraints::Eligibility;
use crate::estimate::evaluate_times;
use crate::mapping::decompose::StageMapper;
use crate::mapping::{ListRule, PipelineMapping, StageMapping};
use crate::pipeline::{Candidate, Capacity};

/// A mapping with a name.
#[derive(Clone, Debug)]
pub(super) struct Baseline {
    /// `single:` and a processor, `layer-switched`, the name of a [`ListRule`], or `clustering`.
    pub(super) name: String,
    /// One stage.
    pub(super) mapping: PipelineMapping,
    /// The components of a clustering, by kernel; of others none.
    pub(super) components: Vec<KernelComponent>,
}

/// Everything on each processor that can run it, one operator after another on all of them, the list schedules over all of them, and the clustering that the specification of a kernel graph asks for.
///
/// A baseline that the chip cannot hold is no plan, and neither is a clustering that a rule forbids, so nothing is compared with them.
pub(super) fn baselines(
    inputs: &Inputs<'_>,
    mapper: &StageMapper<'_>,
    eligibility: &Eligibility,
    capacities: &[Capacity],
    clustering: Option<Clustering<'_>>,
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
    let plain = single
        .chain(layer_switched)
        .chain(listed)
        .map(|(name, stage)| Baseline::new(name, stage, Vec::new()));
    let clustered = clustering.and_then(|clustering| {
        let stage = stage(
            clustering.clusters,
            clustering.configuration,
            inputs.segments,
        );
        let placed = inputs.segments.graph.ops.ids().zip(&stage.placement);
        let mut placed = placed.map(|(op, &processor)| eligibility.allows(op, processor));
        let components = kernel_components(&clustering.clusters.components);
        placed
            .all(|is_allowed| is_allowed)
            .then(|| Baseline::new("clustering".to_owned(), stage, components))
    });
    plain
        .chain(clustered)
        .filter(|baseline| excess(inputs, capacities, &baseline.mapping).is_none())
        .collect()
}

impl Baseline {
    fn new(name: String, stage: StageMapping, components: Vec<KernelComponent>) -> Self {
        let mapping = PipelineMapping {
            stages: vec![stage],
        };
        Self {
            name,
            mapping,
            components,
        }
    }

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
