//! Real networks on a real profile, mapped at random: the checker and the simulator agree there too.

use std::path::Path;

use paracompile_frontend::cost::{CostOverrides, CostTable};
use paracompile_frontend::import::onnx::{ImportOptions, import};
use paracompile_frontend::soc::Soc;
use paracompile_plan::check;

use super::fixtures::{Dice, Scenario};
use crate::partition::fuse;
use crate::simulate::{SimulateOptions, simulate};

fn agree(model: &str) {
    let soc = Soc::builtin("vim3").unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("models")
        .join(model);
    let mut dice = Dice(1);
    for _ in 0..4 {
        let graph = import(&path, &ImportOptions::default()).unwrap().graph;
        let fused = fuse(&graph);
        let table = CostTable::new(&graph, &soc, &CostOverrides::default(), None).unwrap();
        let scenario = Scenario::on(graph, fused, table, &mut dice);
        let estimate = scenario.estimate();
        let plan = scenario.plan(&estimate);
        assert_eq!(check(&plan, &scenario.model, &scenario.costs), vec![]);
        let simulation = simulate(&plan, &SimulateOptions::default()).unwrap();
        assert_eq!(
            (
                simulation.latency,
                simulation.saturated_latency,
                simulation.paced_latency,
                simulation.interval,
                simulation.energy_board,
            ),
            (
                estimate.latency,
                estimate.saturated_latency,
                estimate.paced_latency,
                estimate.interval,
                estimate.energy_board,
            )
        );
    }
}

#[test]
fn random_mappings_of_googlenet_are_valid_plans() {
    agree("googlenet.onnx");
}

#[test]
fn random_mappings_of_inception_v4_are_valid_plans() {
    agree("inception_v4.onnx");
}

#[test]
fn random_mappings_of_resnet50_are_valid_plans() {
    agree("resnet50.onnx");
}

#[test]
fn random_mappings_of_attention_heads_are_valid_plans() {
    agree("pyschedcl_mha_h2.onnx");
}
