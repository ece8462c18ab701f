//! Several compute queues a processor (rule M10) against enumeration, and against chips whose lanes are spelled out as processors.

use std::collections::BTreeMap;

use paracompile::front::EnergyAxis;
use paracompile::mapping::decompose::{Ends, MapperOptions, StageGraph, StageMapper};
use paracompile::mapping::{Budget, Effort, Granularity};
use paracompile::partition::CutRule;
use paracompile_frontend::soc::ProcessorSet;
use paracompile_testkit::brute_force::pipelines::Point;
use paracompile_testkit::case::{Case, Processor};
use paracompile_testkit::random::{Classes, Sizes, cases};
use proptest::prelude::*;

use crate::oracle::{
    Both, every_number_of_queues, plans_say_what_enumeration_says, rules, searched,
};

/// Every way to share out lanes is enumerated too, so there are fewer operators.
const SIZES: Sizes = Sizes {
    operators: 4,
    processors: 2,
};

/// Up to three queues on each processor; a larger number may be the faster one, as no profile forbids.
fn cases_with_queues() -> impl Strategy<Value = Case> {
    let factors = prop::collection::vec((4_u32..9).prop_map(|quarters| 250 * quarters), 0..3);
    let sharing = prop::collection::vec(factors, SIZES.processors);
    (cases(SIZES, Classes::Mixed), sharing).prop_map(|(mut case, sharing)| {
        for (processor, factors) in case.soc.processors.iter_mut().zip(sharing) {
            processor.sharing.extend(factors);
        }
        case
    })
}

const OPTIONS: MapperOptions<'static> = MapperOptions {
    granularity: Granularity::Auto,
    gap_millionths: 0,
    effort: Effort::Normal,
    shared_by: 1,
    energy: EnergyAxis::ByProduct,
    budget: Budget::UNLIMITED,
};

/// The least time of the whole network as one stage on all processors.
fn least(both: &Both, counts: Vec<Vec<usize>>) -> Option<u64> {
    let table = &both.built.costs;
    let all = ProcessorSet::first(table.soc.processors.len());
    let mut allowed = every_number_of_queues(table);
    allowed.counts = counts;
    let graph = StageGraph::new(&both.segments, table, all).with_queues(allowed);
    let mapper = StageMapper::new(graph, OPTIONS);
    let options = mapper.options_to(0, &mapper.entry_at_start(), all, Ends::Last);
    options.iter().map(|option| option.time.count()).min()
}

/// The case with the lanes of each processor as processors of their own, where everything takes as long as on a lane.
fn spelled_out(case: &Case, counts: &[usize]) -> Case {
    let mut spelled = case.clone();
    spelled.soc.processors.clear();
    let mut lanes: BTreeMap<String, (Vec<String>, u64)> = BTreeMap::new();
    for (processor, &count) in case.soc.processors.iter().zip(counts) {
        let names: Vec<String> = (0..count)
            .map(|lane| format!("{}-{lane}", processor.name))
            .collect();
        for name in &names {
            spelled.soc.processors.push(Processor {
                name: name.clone(),
                sharing: vec![1000],
                ..processor.clone()
            });
        }
        let factor = u64::from(processor.sharing[count - 1]);
        lanes.insert(processor.name.clone(), (names, factor));
    }
    for operator in &mut spelled.graph.operators {
        let on_lanes = |costs: &BTreeMap<String, u64>, is_time: bool| {
            let mut all = BTreeMap::new();
            for (processor, &cost) in costs {
                let (names, factor) = &lanes[processor];
                let cost = if is_time { cost * factor / 1000 } else { cost };
                all.extend(names.iter().map(|name| (name.clone(), cost)));
            }
            all
        };
        operator.time_ns = on_lanes(&operator.time_ns, true);
        operator.energy_nj = on_lanes(&operator.energy_nj, false);
    }
    spelled
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn plans_with_several_queues_say_what_enumeration_says(case in cases_with_queues(), rule in rules()) {
        plans_say_what_enumeration_says(&case, &Both::new(&case, rule))?;
    }

    /// Without contention, as in `oracle`.
    #[test]
    fn the_search_over_numbers_of_queues_finds_the_enumerated_front(case in cases_with_queues(), rule in rules()) {
        let mut case = case;
        case.soc.contention.clear();
        let both = Both::new(&case, rule);
        let expected: Vec<_> = both.front().iter().map(Point::objectives).collect();
        prop_assert_eq!(searched(&both), expected, "{}", case.to_json());
    }

    #[test]
    fn the_least_latency_over_numbers_of_queues_is_that_of_enumeration(case in cases_with_queues(), rule in rules()) {
        let both = Both::new(&case, rule);
        let expected = both.front().iter().map(|point| point.latency).min();
        let found = searched(&both);
        let found = found.iter().map(|value| value[0]).min();
        prop_assert_eq!(found, expected, "{}", case.to_json());
    }

    /// Times are multiples of a thousand, so that nothing is rounded.
    #[test]
    fn lanes_are_processors_that_are_slower(case in cases_with_queues(), counts in prop::collection::vec(1_usize..4, SIZES.processors)) {
        let mut case = case;
        case.soc.contention.clear();
        for operator in &mut case.graph.operators {
            operator.time_ns.values_mut().for_each(|time| *time *= 1000);
            operator.class = paracompile_plan::OpClass::Other;
        }
        for processor in &mut case.soc.processors {
            processor.fuses.clear();
        }
        let processors = case.soc.processors.iter().zip(counts);
        let counts: Vec<usize> = processors.map(|(processor, count)| count.min(processor.sharing.len())).collect();
        let both = Both::new(&case, CutRule::default());
        let spelled = spelled_out(&case, &counts);
        let apart = Both::new(&spelled, CutRule::default());
        let lanes = spelled.soc.processors.len();
        let on_lanes = least(&both, counts.iter().map(|&count| vec![count]).collect());
        let on_processors = least(&apart, vec![vec![1]; lanes]);
        // With a given number of queues, a stage whose fastest mapping has too few operators for them is left out.
        if let Some(on_lanes) = on_lanes {
            prop_assert_eq!(Some(on_lanes), on_processors, "{}", case.to_json());
        }
    }
}
