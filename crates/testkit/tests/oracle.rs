//! The oracle judged by what does not come from it: optima that another solver has proven, simple bounds, and invariances of the model.

use std::path::Path;

use paracompile_testkit::brute_force::pipelines::{self, Point, Scope};
use paracompile_testkit::brute_force::{Instance, stages};
use paracompile_testkit::case::{Case, Cuts};
use paracompile_testkit::instances;
use paracompile_testkit::random::{self, Classes, Sizes};
use proptest::prelude::*;

const SIZES: Sizes = Sizes {
    operators: 5,
    processors: 3,
};

fn cases() -> impl Strategy<Value = Case> {
    random::cases(SIZES, Classes::Unfusable)
}

fn instance(case: &Case) -> Instance {
    Instance::new(&case.graph, &case.soc).expect("random cases name what they have")
}

fn front(case: &Case) -> Vec<Point> {
    let instance = instance(case);
    pipelines::front(&instance, &Scope::new(&instance, &case.limits))
}

fn values(front: &[Point]) -> Vec<[u64; 3]> {
    front.iter().map(Point::objectives).collect()
}

/// Whether every point of `worse` is reached or beaten by one of `better`.
fn covers(better: &[Point], worse: &[Point]) -> bool {
    worse.iter().all(|point| {
        better.iter().any(|other| {
            other
                .objectives()
                .iter()
                .zip(&point.objectives())
                .all(|(a, b)| a <= b)
        })
    })
}

/// All processors in all sets: the best makespan of the whole network in one stage.
fn best_makespan(instance: &Instance) -> Option<u64> {
    let part = stages::Part {
        before: 0,
        operators: instance.all_operators(),
    };
    let entry = stages::network_entry(instance);
    (1..=instance.all_processors())
        .filter_map(|set| stages::best_stage(instance, part, set, &entry))
        .map(|(time, _)| time)
        .min()
}

#[test]
fn small_instances_reach_their_proven_optima() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../solver_tests/instances");
    let mut compared = 0;
    for known in instances::read_unrelated(&folder).unwrap() {
        if known.durations.len() > 8 {
            continue;
        }
        let (network, soc) = known.to_network().unwrap();
        let instance = Instance::new(&network, &soc).unwrap();
        let optimum = known.known.unwrap();
        assert_eq!(optimum.best, optimum.bound, "{} is proven", known.name);
        assert_eq!(
            best_makespan(&instance),
            Some(optimum.best),
            "{}",
            known.name
        );
        compared += 1;
    }
    assert_eq!(compared, 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_stage_is_below_its_work_or_its_longest_chain(case in cases()) {
        let instance = instance(&case);
        let count = instance.operators.len();
        let least = |operator: usize| {
            (0..instance.processors.len())
                .filter_map(|processor| instance.duration(operator, processor, 1, 0))
                .min()
                .unwrap()
        };
        let mut chains = vec![0; count];
        for operator in 0..count {
            let before = (0..operator)
                .filter(|other| instance.predecessors(operator) & (1 << other) != 0)
                .map(|other| chains[other])
                .max()
                .unwrap_or(0);
            chains[operator] = before + least(operator);
        }
        let work: u64 = (0..count).map(least).sum();
        let bound = work
            .div_ceil(instance.processors.len() as u64)
            .max(chains.into_iter().max().unwrap());
        if let Some(best) = best_makespan(&instance) {
            prop_assert!(best >= bound, "{best} is below {bound}");
        }
    }

    #[test]
    fn figures_keep_the_order_that_the_model_implies(case in cases()) {
        let instance = instance(&case);
        for point in pipelines::plans(&instance, &Scope::new(&instance, &case.limits)) {
            prop_assert!(point.interval_bound <= point.interval);
            let alone: u64 = point.stages.iter().map(|stage| stage.time_alone).sum();
            prop_assert_eq!(alone, point.latency);
            let together: u64 = point.stages.iter().map(|stage| stage.timed.time).sum();
            prop_assert!(together >= point.latency);
            prop_assert_eq!(point.paced_latency, together);
            prop_assert!(point.saturated_latency >= together);
            prop_assert!(point.energy_dynamic <= point.energy_active);
            prop_assert!(point.energy_active <= point.energy_board);
        }
    }

    #[test]
    fn stage_mappings_are_timed_as_they_were_chosen(case in cases()) {
        let instance = instance(&case);
        let entry = stages::network_entry(&instance);
        let part = stages::Part { before: 0, operators: instance.all_operators() };
        for set in 1..=instance.all_processors() {
            for mapping in stages::stage_mappings(&instance, part, set, &entry) {
                let timed = stages::time(&instance, &mapping.choice, set, &entry).unwrap();
                prop_assert_eq!((timed.time, timed.energy), (mapping.time, mapping.energy));
                let used = mapping.choice.placement.values().fold(0, |mask, p| mask | 1 << p);
                prop_assert_eq!(used, set);
            }
        }
    }

    #[test]
    fn scaling_all_times_scales_the_front(case in cases(), factor in 2..5u64) {
        let mut plain = case;
        // Rounding of slowed times does not scale, and static energy would mix in.
        plain.soc.contention.clear();
        for processor in &mut plain.soc.processors {
            processor.static_mw = 0;
        }
        let mut scaled = plain.clone();
        for operator in &mut scaled.graph.operators {
            for time in operator.time_ns.values_mut() {
                *time *= factor;
            }
        }
        for link in &mut scaled.soc.links {
            link.power_mw = 0;
            link.latency_ns *= factor;
            link.ns_per_byte *= factor;
            link.convert_ns_per_byte *= factor;
        }
        for link in &mut plain.soc.links {
            link.power_mw = 0;
        }
        let expected: Vec<_> = values(&front(&plain))
            .into_iter()
            .map(|[latency, interval, energy]| [latency * factor, interval * factor, energy])
            .collect();
        prop_assert_eq!(values(&front(&scaled)), expected);
    }

    #[test]
    fn offering_a_processor_never_worsens_the_front(case in cases()) {
        let mut fewer = case.clone();
        let names = case.soc.processors.iter().map(|processor| processor.name.clone());
        fewer.limits.processors = Some(names.skip(1).collect());
        fewer.limits.max_stages = Some(case.soc.processors.len());
        prop_assert!(covers(&front(&case), &front(&fewer)));
    }

    #[test]
    fn a_stage_more_never_worsens_the_front(case in cases()) {
        let mut fewer = case.clone();
        fewer.limits.max_stages = Some(1);
        prop_assert!(covers(&front(&case), &front(&fewer)));
    }

    #[test]
    fn more_cuts_never_worsen_the_front(case in cases()) {
        let mut more = case.clone();
        more.limits.cuts = Cuts::EveryDownSet;
        prop_assert!(covers(&front(&more), &front(&case)));
    }

    #[test]
    fn a_larger_memory_never_worsens_the_front(case in cases(), limit in 0..20u64, more in 0..10u64) {
        let limited = |bytes: u64| {
            let mut case = case.clone();
            case.soc.memories[0].bytes = Some(bytes);
            front(&case)
        };
        prop_assert!(covers(&limited(limit + more), &limited(limit)));
        let peaks_fit = limited(limit).iter().all(|point| point.peaks[0] <= limit);
        prop_assert!(peaks_fit);
    }

    #[test]
    fn the_front_has_no_dominated_point_and_the_best_of_each_objective(case in cases()) {
        let instance = instance(&case);
        let scope = Scope::new(&instance, &case.limits);
        let plans = pipelines::plans(&instance, &scope);
        let front = pipelines::front(&instance, &scope);
        prop_assert!(covers(&front, &plans));
        for (index, point) in front.iter().enumerate() {
            let others: Vec<_> = front
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != index)
                .map(|(_, other)| other.clone())
                .collect();
            prop_assert!(!covers(&others, std::slice::from_ref(point)));
        }
    }
}
