//! Fronts for tests, made of times alone.

use std::collections::BTreeMap;

use paracompile_plan::front::{EnergyAxis, Figures, Front, FrontPlan};
use paracompile_plan::plan::{SCHEMA, StoppedBy, Strategy};

/// A plan of these seconds: of one frame alone, in a stream, of the interval; its active energy is its interval.
pub(super) fn plan(strategy: Strategy, [latency, stream, interval]: [f64; 3]) -> FrontPlan {
    FrontPlan {
        file: "plans/01.json".to_owned(),
        strategy,
        labels: Vec::new(),
        figures: Figures {
            latency_s: latency,
            saturated_latency_s: stream,
            paced_latency_s: stream,
            interval_s: interval,
            throughput_fps: 1.0 / interval,
            energy_active_j: interval,
            energy_board_j: interval,
            peak_memory: BTreeMap::new(),
            gap: 0.0,
            stages: Vec::new(),
        },
    }
}

/// A front of these plans, without bests and baselines.
pub(super) fn front(plans: Vec<FrontPlan>) -> Front {
    Front {
        schema: SCHEMA,
        model: "model".to_owned(),
        soc: "soc".to_owned(),
        effort: "normal".to_owned(),
        stopped_by: StoppedBy::Complete,
        candidates: plans.len() as u64,
        dominated: 0,
        cloud: None,
        objectives: Vec::new(),
        energy: EnergyAxis::ByProduct,
        energy_slack: 0.0,
        granularity: None,
        operating_points: None,
        queues: BTreeMap::new(),
        constraints: Vec::new(),
        epsilon: 0.0,
        plans,
        best_by_strategy: BTreeMap::new(),
        most_frames_by_strategy: BTreeMap::new(),
        baselines: Vec::new(),
        recommended: String::new(),
        why: String::new(),
    }
}
