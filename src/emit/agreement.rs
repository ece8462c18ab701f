//! Estimator, simulator and checker judge the same random mappings and agree.

use paracompile_plan::check;
use proptest::prelude::*;

use super::fixtures::{Dice, Scenario};
use crate::estimate::evaluate_times;
use crate::simulate::{Contention, Host, Links, SimulateOptions, simulate, trace};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

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
    fn serial_links_and_a_host_that_takes_time_never_make_a_lone_frame_faster(seed: u64) {
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

    #[test]
    fn a_plan_with_any_number_replaced_is_simulated_or_refused(seed: u64) {
        let mut dice = Dice(seed | 1);
        let scenario = Scenario::random(seed);
        let plan = scenario.plan(&scenario.estimate());
        let mut json = serde_json::to_value(&plan).unwrap();
        let mut numbers = Vec::new();
        collect_numbers(&mut json, &mut numbers);
        let values = [0, 1, 2, 999, u64::from(u32::MAX), u64::MAX];
        let chosen = dice.below(numbers.len());
        *numbers.swap_remove(chosen) = values[dice.below(values.len())].into();
        if let Ok(mutant) = serde_json::from_value(json) {
            for (contention, links, host) in [
                (Contention::WholePlan, Links::Parallel, Host::Ignored),
                (Contention::Dynamic, Links::Serial, Host::Enqueues),
            ] {
                let options = SimulateOptions { frames: 4, links, contention, host };
                if let Ok(simulation) = simulate(&mutant, &options) {
                    prop_assert_eq!(simulation.frames.len(), 4);
                    prop_assert!(!trace(&mutant, &simulation).is_empty());
                }
            }
        }
    }

    #[test]
    fn the_trace_has_every_command_of_every_frame_once(seed: u64) {
        let scenario = Scenario::random(seed);
        let plan = scenario.plan(&scenario.estimate());
        let options = SimulateOptions { frames: 3, ..Default::default() };
        let simulation = simulate(&plan, &options).unwrap();
        let json: serde_json::Value = serde_json::from_str(&trace(&plan, &simulation)).unwrap();
        let events = json["traceEvents"].as_array().unwrap();
        let count = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
        let markers = 2 * plan.stages.len();
        prop_assert_eq!(count("X"), 3 * (plan.frame.len() - markers + plan.stages.len()));
        prop_assert_eq!((count("s"), count("f")), (3 * plan.transfers.len(), 3 * plan.transfers.len()));
        // Nothing on a track overlaps: that is what tracks are for.
        let mut spans: Vec<(u64, u64, f64, f64)> = events
            .iter()
            .filter(|event| event["ph"] == "X")
            .map(|event| {
                let number = |key: &str| event[key].as_f64().unwrap();
                let id = |key: &str| event[key].as_u64().unwrap();
                (id("pid"), id("tid"), number("ts"), number("ts") + number("dur"))
            })
            .collect();
        spans.sort_by(|one, other| one.partial_cmp(other).unwrap());
        for pair in spans.windows(2) {
            let same = (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1);
            prop_assert!(!same || pair[0].3 <= pair[1].2 + 1e-6, "{:?}", pair);
        }
    }
}

fn collect_numbers<'a>(
    value: &'a mut serde_json::Value,
    numbers: &mut Vec<&'a mut serde_json::Value>,
) {
    match value {
        serde_json::Value::Number(_) => numbers.push(value),
        serde_json::Value::Array(items) => {
            for item in items {
                collect_numbers(item, numbers);
            }
        }
        serde_json::Value::Object(fields) => {
            for field in fields.values_mut() {
                collect_numbers(field, numbers);
            }
        }
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::String(_) => {}
    }
}
