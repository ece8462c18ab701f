//! Energy as an objective, and operating points as a choice, against enumeration over all placements, orders, cuts and points.

use paracompile::front::EnergyAxis;
use paracompile::mapping::decompose::{MapperOptions, StageGraph, StageMapper};
use paracompile::mapping::{Budget, Effort, Granularity};
use paracompile::pipeline::{AtPoints, MemoryDemand, Searched, Sources, pipelines, symmetry};
use paracompile_frontend::soc::{ProcessorSet, Symmetry};
use paracompile_plan::{Milliwatts, Nanoseconds};
use paracompile_testkit::brute_force::pipelines::Point;
use paracompile_testkit::case::Case;
use paracompile_testkit::random::{Classes, cases};
use proptest::prelude::*;

use crate::oracle::{Both, SIZES, rules, sameness, undominated, with_twins};

const OPTIONS: MapperOptions<'static> = MapperOptions {
    granularity: Granularity::Auto,
    gap_millionths: 0,
    effort: Effort::Normal,
    shared_by: 1,
    energy: EnergyAxis::Objective,
    budget: Budget::UNLIMITED,
};

/// The case with the processors of `slow` at a second operating point: twice and a bit slower, for less energy and static power.
fn at_points(case: &Case, slow: u16) -> Case {
    let mut case = case.clone();
    let names: Vec<String> = case
        .soc
        .processors
        .iter()
        .enumerate()
        .filter(|(index, _)| slow & (1 << index) != 0)
        .map(|(_, processor)| processor.name.clone())
        .collect();
    for operator in &mut case.graph.operators {
        for name in &names {
            if let Some(time) = operator.time_ns.get_mut(name) {
                *time = *time * 2 + 1;
            }
            if let Some(energy) = operator.energy_nj.get_mut(name) {
                *energy = *energy * 2 / 3;
            }
        }
    }
    for processor in &mut case.soc.processors {
        if names.contains(&processor.name) {
            processor.static_mw /= 2;
        }
    }
    case
}

/// Without contention a mapping takes the same time under every plan, and without limits on memory every mapping is a plan.
fn simplified(case: &Case) -> Case {
    let mut case = case.clone();
    case.soc.contention.clear();
    for memory in &mut case.soc.memories {
        memory.bytes = None;
    }
    case
}

fn powers(both: &Both) -> Vec<Milliwatts> {
    let table = &both.built.costs;
    let processors = table.soc.processors.ids();
    processors
        .map(|processor| table.static_power(processor))
        .collect()
}

fn searched(both: &Both, elsewhere: &[AtPoints<'_>], energy: EnergyAxis) -> Searched {
    searched_up_to(both, elsewhere, energy, Symmetry::NONE)
}

fn searched_up_to(
    both: &Both,
    elsewhere: &[AtPoints<'_>],
    energy: EnergyAxis,
    symmetry: Symmetry,
) -> Searched {
    let table = &both.built.costs;
    let allowed = ProcessorSet::first(table.soc.processors.len());
    let options = MapperOptions { energy, ..OPTIONS };
    let graph = StageGraph::new(&both.segments, table, allowed).up_to(symmetry);
    let mapper = StageMapper::new(graph, options);
    let demand = MemoryDemand::new(&both.segments.graph, table);
    let sources = Sources {
        fastest: &mapper,
        fastest_points: &table.operating_points,
        powers: &powers(both),
        elsewhere,
        lean: &[],
        demand: &demand,
        most_labels: usize::MAX,
        longest: Nanoseconds::MAX,
    };
    pipelines(
        sources,
        both.segments.cuts.len(),
        allowed,
        both.scope.max_stages,
        Budget::UNLIMITED,
    )
}

fn objectives(searched: &Searched) -> Vec<[u64; 3]> {
    let values = searched.candidates.iter().map(|candidate| {
        let cost = &candidate.cost;
        let energy = cost.energy + cost.power.over(cost.bottleneck);
        [
            cost.latency.count(),
            cost.bottleneck.count(),
            energy.count(),
        ]
    });
    undominated(values.collect())
}

/// Where nothing was thinned the front is the enumerated one; else for each of its points there is one that is no slower and takes little more energy.
fn compare(found: &Searched, expected: &[[u64; 3]], case: &Case) -> Result<(), TestCaseError> {
    let values = objectives(found);
    if found.share == 0 {
        prop_assert_eq!(&values[..], expected, "{}", case.to_json());
        return Ok(());
    }
    compare_near(found, expected, case)
}

fn compare_near(found: &Searched, expected: &[[u64; 3]], case: &Case) -> Result<(), TestCaseError> {
    let values = objectives(found);
    for value in expected {
        let limit = u128::from(value[2]) * (1_000_000 + u128::from(found.share));
        let is_near = values.iter().any(|other| {
            other[0] <= value[0]
                && other[1] <= value[1]
                && u128::from(other[2]) * 1_000_000 <= limit + 1_000_000
        });
        prop_assert!(
            is_near,
            "nothing stands for {value:?} within {}: {}",
            found.share,
            case.to_json()
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_front_over_all_trade_offs_is_the_enumerated_one(case in cases(SIZES, Classes::Mixed), rule in rules()) {
        let case = simplified(&case);
        let mut both = Both::new(&case, rule);
        both.scope.trades_energy = true;
        let expected = undominated(both.front().iter().map(Point::objectives).collect());
        let found = searched(&both, &[], EnergyAxis::Objective);
        compare(&found, &expected, &case)?;
    }

    #[test]
    fn the_front_over_all_operating_points_is_the_enumerated_one(case in cases(SIZES, Classes::Mixed), rule in rules()) {
        let case = simplified(&case);
        let count = case.soc.processors.len();
        let fast = Both::new(&case, rule);
        let all = ProcessorSet::first(count);
        let mut expected = Vec::new();
        let mut elsewhere = Vec::new();
        for slow in 0..1_u16 << count {
            let slower = at_points(&case, slow);
            let mut both = Both::new(&slower, rule);
            both.scope.trades_energy = true;
            expected.extend(both.front().iter().map(Point::objectives));
            if slow == 0 {
                continue;
            }
            let points: Vec<usize> = (0..count).map(|index| usize::from(slow >> index & 1)).collect();
            let serves = all.subsets().filter(|set| slow & !set.bits() == 0).collect();
            elsewhere.push(AtPoints {
                mapper: StageMapper::new(
                    StageGraph::new(&both.segments, &both.built.costs, all),
                    OPTIONS,
                ),
                powers: powers(&both),
                points,
                serves,
            });
        }
        let found = searched(&fast, &elsewhere, EnergyAxis::Objective);
        compare(&found, &undominated(expected), &case)?;
        // A plan's points are those of its stages together.
        for candidate in &found.candidates {
            prop_assert_eq!(candidate.points.len(), count);
        }
    }

    /// Two equal processors in one stage at two points: which of them is slow makes no difference, so one of both is tried.
    #[test]
    fn interchangeable_processors_choose_their_points_freely(case in cases(SIZES, Classes::Mixed), rule in rules()) {
        let case = simplified(&with_twins(&case, 0b110));
        let count = case.soc.processors.len();
        let fast = Both::new(&case, rule);
        let all = ProcessorSet::first(count);
        let slowed: Vec<(u16, Both)> = (1..1_u16 << count)
            .map(|slow| (slow, Both::new(&at_points(&case, slow), rule)))
            .collect();
        let all_slow = &slowed[slowed.len() - 1].1.built.costs;
        let twins = symmetry(sameness(&fast, &[&fast.built.costs, all_slow]));
        prop_assert!(count == 1 || twins.orbits() == [all]);
        let mut fronts = Vec::new();
        for symmetry in [Symmetry::NONE, twins] {
            let mut elsewhere = Vec::new();
            for (slow, both) in &slowed {
                let points: Vec<usize> = (0..count).map(|index| usize::from(slow >> index & 1)).collect();
                let ascend = |set: &ProcessorSet| {
                    symmetry.orbits().is_empty()
                        || set.iter().map(|processor| points[processor.index()]).is_sorted()
                };
                let serves = symmetry
                    .subsets(all)
                    .filter(|set| slow & !set.bits() == 0)
                    .filter(ascend)
                    .collect();
                elsewhere.push(AtPoints {
                    mapper: StageMapper::new(
                        StageGraph::new(&both.segments, &both.built.costs, all)
                            .up_to(symmetry.clone()),
                        OPTIONS,
                    ),
                    powers: powers(both),
                    points,
                    serves,
                });
            }
            let found = searched_up_to(&fast, &elsewhere, EnergyAxis::Objective, symmetry);
            for candidate in &found.candidates {
                let power: Milliwatts = candidate
                    .mapping
                    .used()
                    .iter()
                    .map(|processor| match candidate.points[processor.index()] {
                        0 => powers(&fast)[processor.index()],
                        _ => powers(&slowed[slowed.len() - 1].1)[processor.index()],
                    })
                    .sum();
                prop_assert_eq!(candidate.cost.power, power);
            }
            fronts.push(found);
        }
        if fronts.iter().all(|found| found.share == 0) {
            prop_assert_eq!(objectives(&fronts[1]), objectives(&fronts[0]), "{}", case.to_json());
        } else {
            let expected = objectives(&fronts[0]);
            let mut found = fronts.swap_remove(1);
            found.share = found.share.max(fronts[0].share);
            compare_near(&found, &expected, &case)?;
        }
    }

    #[test]
    fn every_plan_of_the_fastest_mappings_is_covered_by_one_of_the_trade_offs(case in cases(SIZES, Classes::Mixed), rule in rules()) {
        let case = simplified(&case);
        let both = Both::new(&case, rule);
        let by_product = objectives(&searched(&both, &[], EnergyAxis::ByProduct));
        let found = searched(&both, &[], EnergyAxis::Objective);
        let values = objectives(&found);
        for value in by_product {
            let limit = u128::from(value[2]) * (1_000_000 + u128::from(found.share)) + 1_000_000;
            let is_covered = values.iter().any(|other| {
                other[0] <= value[0] && other[1] <= value[1] && u128::from(other[2]) * 1_000_000 <= limit
            });
            prop_assert!(is_covered, "{value:?}: {}", case.to_json());
        }
    }
}
