//! What is compared: plans of ours, baselines, and the best of a part of the chip.

use std::collections::BTreeMap;

use paracompile_plan::front::{BestOfStrategy, Figures, Front};
use paracompile_plan::plan::{Label, Strategy};
use serde::Serialize;

/// Whose mapping it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Chosen from all that was found.
    Ours,
    /// A rule that people know (rule M13).
    Baseline,
    /// Found on a part of the chip or with one granularity alone.
    Restricted,
}

/// A plan with the name under which it is compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contender {
    /// `para-only`, `hybrid-L`, `heft`, ….
    pub name: String,
    /// Whose it is.
    pub kind: Kind,
    /// Frames for each joule of active energy; 0 where a frame takes none.
    pub frames_per_joule: f64,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

impl Contender {
    pub(super) fn new(name: impl Into<String>, kind: Kind, figures: Figures) -> Self {
        let energy = figures.energy_active_j;
        Self {
            name: name.into(),
            kind,
            frames_per_joule: if energy > 0.0 { 1.0 / energy } else { 0.0 },
            figures,
        }
    }
}

/// The plans of a front that stand for its strategies, then its baselines.
///
/// - `para-only` is the fastest plan of one stage on several processors.
/// - `hybrid-L` is `streaming`, of the hybrids that no plan of one stage matches in both latency and interval the one of least latency in a stream; where there is none, the fastest hybrid.
/// - `hybrid-T` is the hybrid of least interval, and `pipe-only` the plan of that strategy of least interval.
/// - `balanced` and `min-energy` are the plans with these labels.
pub(super) fn contenders(front: &Front, streaming: Option<Figures>) -> Vec<Contender> {
    let of = |bests: &BTreeMap<String, BestOfStrategy>, strategy: Strategy| {
        bests.get(strategy.name()).map(|best| best.figures.clone())
    };
    let labelled = |label: Label| {
        let plan = front.plans.iter().find(|plan| plan.labels.contains(&label));
        plan.map(|plan| plan.figures.clone())
    };
    let fastest = &front.best_by_strategy;
    let most_frames = &front.most_frames_by_strategy;
    let ours = [
        ("para-only", of(fastest, Strategy::ParaOnly)),
        (
            "hybrid-L",
            streaming.or_else(|| of(fastest, Strategy::Hybrid)),
        ),
        ("hybrid-T", of(most_frames, Strategy::Hybrid)),
        ("pipe-only", of(most_frames, Strategy::PipeOnly)),
        ("balanced", labelled(Label::Balanced)),
        ("min-energy", labelled(Label::MinEnergy)),
    ];
    let ours = ours
        .into_iter()
        .filter_map(|(name, figures)| Some(Contender::new(name, Kind::Ours, figures?)));
    let baselines = front.baselines.iter().map(|baseline| {
        Contender::new(
            baseline.name.clone(),
            Kind::Baseline,
            baseline.figures.clone(),
        )
    });
    ours.chain(baselines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::fixtures::{front, plan};

    #[test]
    fn where_no_hybrid_pays_in_a_stream_the_fastest_one_stands_for_them() {
        let para = plan(Strategy::ParaOnly, [10.0, 10.0, 10.0]);
        let streaming = plan(Strategy::Hybrid, [12.0, 13.0, 9.0]).figures;
        let stub = plan(Strategy::Hybrid, [10.5, 10.6, 10.2]);
        let mut front = front(vec![para]);
        front.best_by_strategy.insert(
            "hybrid".to_owned(),
            BestOfStrategy {
                plan: None,
                dominated: true,
                figures: stub.figures.clone(),
            },
        );
        for (streaming, expected) in [(Some(streaming.clone()), &streaming), (None, &stub.figures)]
        {
            let found = contenders(&front, streaming);
            let named: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
            assert_eq!(named, ["hybrid-L"]);
            assert_eq!(&found[0].figures, expected);
        }
    }
}
