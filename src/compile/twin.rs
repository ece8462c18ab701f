//! What operating points make of a plan: the same stages, processors and order with every processor at the run's own point, as a baseline.

use super::arrow::Inputs;
use super::baselines::Baseline;
use crate::emit::{Arrangement, Entry, Goal};
use crate::estimate::evaluate_times;
use crate::pipeline::Candidate;

/// The twin of the recommended plan, where that is elsewhere than at the run's own points.
/// Else of the plan of the front whose points save the largest share of energy for the same interval; where none keeps its interval, for any.
///
/// Its name is `twin:` and the plan's place on the front.
pub(super) fn twin(
    inputs: &Inputs<'_>,
    arrangement: &Arrangement,
    candidates: &[Candidate],
    goal: Goal,
) -> Option<Baseline> {
    let own = &inputs.table.operating_points;
    let is_elsewhere = |candidate: &Candidate| {
        let used = candidate.mapping.used();
        used.iter().any(|processor| {
            let point = candidate.points.get(processor.index());
            point.is_some_and(|point| *point != own[processor.index()])
        })
    };
    let elsewhere = || {
        let front = arrangement.entries.iter().filter(|entry| entry.on_front);
        front
            .enumerate()
            .map(|(place, entry)| (place, entry, &candidates[entry.candidate]))
            .filter(|(_, _, candidate)| is_elsewhere(candidate))
    };
    let recommended = |entry: &Entry| entry.labels.contains(&goal.label());
    let chosen = elsewhere()
        .find(|(_, entry, _)| recommended(entry))
        .or_else(|| {
            elsewhere().max_by_key(|(place, _, candidate)| {
                let cost = &candidate.cost;
                let twin = evaluate_times(&inputs.segments.graph, inputs.table, &candidate.mapping);
                let energy = cost.energy + cost.power.over(cost.bottleneck);
                let saved = twin.energy_active.saturating_sub(energy).count();
                let share =
                    u128::from(saved) * 1_000_000 / u128::from(twin.energy_active.count().max(1));
                let keeps_interval = twin.interval == cost.bottleneck;
                (keeps_interval, share, std::cmp::Reverse(*place))
            })
        });
    chosen.map(|(place, _, candidate)| Baseline {
        name: format!("twin:{}", place + 1),
        mapping: candidate.mapping.clone(),
        components: Vec::new(),
    })
}
