//! The figures of a plan file, in the words of a case.

use paracompile_plan::Plan;

use super::{Energy, Figures, Network};

impl Figures {
    /// What a plan for `network` says; operators are found by their place in it.
    ///
    /// Dynamic energy is the sum over tasks and transfers; everything else the plan says itself.
    pub fn of_plan(plan: &Plan, network: &Network) -> Self {
        let predicted = &plan.predicted;
        let tasks = plan.tasks.iter().map(|task| task.energy_nj.count());
        let moves = plan
            .transfers
            .iter()
            .map(|transfer| transfer.energy_nj.count());
        let mut copies: Vec<u64> = plan
            .buffers
            .iter()
            .filter(|buffer| buffer.copies > 1)
            .map(|buffer| u64::from(buffer.copies))
            .collect();
        copies.sort_unstable();
        let mut figures = Self {
            processors: plan
                .stages
                .iter()
                .map(|stage| stage.processors.clone())
                .collect(),
            latency_ns: Some(predicted.latency_ns.count()),
            interval_ns: Some(predicted.interval_ns.count()),
            interval_bound_ns: Some(predicted.interval_bound_ns.count()),
            saturated_latency_ns: Some(predicted.saturated_latency_ns.count()),
            paced_latency_ns: Some(predicted.paced_latency_ns.count()),
            energy: Some(Energy {
                dynamic_nj: tasks.chain(moves).sum(),
                active_nj: predicted.energy_active_nj.count(),
                board_nj: predicted.energy_board_nj.count(),
            }),
            time_alone_ns: Some(
                plan.stages
                    .iter()
                    .map(|stage| stage.time_alone_ns.count())
                    .collect(),
            ),
            time_ns: Some(
                plan.stages
                    .iter()
                    .map(|stage| stage.time_ns.count())
                    .collect(),
            ),
            transfers: Some(plan.transfers.len()),
            crossing_copies: Some(copies),
            peak_bytes: predicted
                .memory
                .iter()
                .map(|used| (used.memory.clone(), used.peak.count()))
                .collect(),
            ..Self::default()
        };
        for task in &plan.tasks {
            let queue = plan.queues.get(task.queue as usize);
            for at in &task.operators {
                let operator = network.operators.get(at.node as usize);
                if let (Some(queue), Some(operator)) = (queue, operator) {
                    figures
                        .placement
                        .insert(operator.name.clone(), queue.processor.clone());
                }
            }
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::case::{Operator, Tensor};

    #[test]
    fn a_hand_written_plan_gives_the_figures_of_its_own_arithmetic() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plan/tests/plans/hybrid.json");
        let plan: Plan = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let named = |name: &str| Operator {
            writes: vec![Tensor {
                name: name.to_owned(),
                bytes: 0,
            }],
            ..serde_json::from_str(&format!(r#"{{"name": "op_{name}", "writes": []}}"#)).unwrap()
        };
        let network = Network {
            operators: vec![named("a"), named("b"), named("y")],
            ..Network::default()
        };
        let figures = Figures::of_plan(&plan, &network);
        assert_eq!(
            figures.processors,
            [
                vec!["big".to_owned(), "little".to_owned()],
                vec!["gpu".to_owned()]
            ]
        );
        assert_eq!(figures.latency_ns, Some(3800));
        assert_eq!(figures.time_alone_ns, Some(vec![1100, 2700]));
        let energy = figures.energy.unwrap();
        assert_eq!(
            (energy.dynamic_nj, energy.active_nj, energy.board_nj),
            (10210, 15157, 23887)
        );
        assert_eq!(figures.crossing_copies, Some(vec![2, 2]));
        assert_eq!(figures.peak_bytes["ddr"], 3800);
        assert_eq!(figures.placement["op_y"], "gpu");
    }
}
