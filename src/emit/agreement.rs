//! Estimator, simulator and checker judge the same random mappings and agree.

use paracompile_plan::check;
use proptest::prelude::*;

use super::fixtures::Scenario;
use crate::estimate::evaluate_times;
use crate::simulate::{Contention, Host, Links, SimulateOptions, simulate};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20000))]

    #[test]
    fn every_emitted_plan_passes_the_checker(seed: u64) {
        let scenario = Scenario::random(seed);
        let plan = scenario.plan(&scenario.estimate());
        prop_assert_eq!(check(&plan, &scenario.model, &scenario.costs), vec![]);
    }

    #[test]
    fn the_simulator_agrees_with_the_estimator_to_the_nanosecond(seed: u64) {
        let scenario = Scenario::random(seed);
        let estimate = scenario.estimate();
        let plan = scenario.plan(&estimate);
        let simulation = simulate(&plan, &SimulateOptions::default()).unwrap();
        prop_assert_eq!(simulation.latency, estimate.latency);
        prop_assert_eq!(simulation.saturated_latency, estimate.saturated_latency);
        prop_assert_eq!(simulation.paced_latency, estimate.paced_latency);
        prop_assert_eq!(simulation.interval, estimate.interval);
        prop_assert_eq!(simulation.energy_active, estimate.energy_active);
        prop_assert_eq!(simulation.energy_board, estimate.energy_board);
    }

    #[test]
    fn the_light_figures_are_the_full_ones(seed: u64) {
        let scenario = Scenario::random(seed);
        let estimate = scenario.estimate();
        let times = evaluate_times(&scenario.fused, &scenario.table, &scenario.mapping);
        prop_assert_eq!(times.latency, estimate.latency);
        prop_assert_eq!(times.interval, estimate.interval);
        prop_assert_eq!(times.energy_dynamic, estimate.energy_dynamic);
        prop_assert_eq!(times.energy_active, estimate.energy_active);
        prop_assert_eq!(times.energy_board, estimate.energy_board);
        let alone = estimate.stages.iter().map(|stage| stage.time_alone);
        prop_assert_eq!(times.stages_alone, alone.collect::<Vec<_>>());
    }

    #[test]
    fn slowdown_only_while_processors_are_busy_together_never_costs_time(seed: u64) {
        let scenario = Scenario::random(seed);
        let plan = scenario.plan(&scenario.estimate());
        let always = simulate(&plan, &SimulateOptions::default()).unwrap();
        let dynamic = SimulateOptions { contention: Contention::Dynamic, ..Default::default() };
        let dynamic = simulate(&plan, &dynamic).unwrap();
        prop_assert!(dynamic.latency <= always.latency);
        for (before, after) in always.frames.iter().zip(&dynamic.frames) {
            prop_assert!(after.done <= before.done);
        }
    }

    #[test]
    fn links_one_at_a_time_and_a_host_that_takes_time_never_finish_a_lone_chain_earlier(seed: u64) {
        let scenario = Scenario::random(seed);
        let mut plan = scenario.plan(&scenario.estimate());
        let default = simulate(&plan, &SimulateOptions::default()).unwrap();
        let serial = SimulateOptions { links: Links::Serial, ..Default::default() };
        let serial = simulate(&plan, &serial).unwrap();
        prop_assert!(serial.latency >= default.latency);
        let host = SimulateOptions { host: Host::Enqueues, ..Default::default() };
        let slower = simulate(&plan, &host).unwrap();
        prop_assert!(slower.latency >= default.latency);
        plan.soc.enqueue_ns = paracompile_plan::Nanoseconds::ZERO;
        let free = simulate(&plan, &host).unwrap();
        prop_assert_eq!(free.frames, default.frames);
    }
}
