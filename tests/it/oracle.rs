//! Search, estimator, emitter and checker against enumeration, on random networks and chips.
//!
//! The oracle gets the fused groups, their order and the cut points, since rule M9 is about these; it shares nothing else.

use paracompile::emit::{self, Claim, Emission};
use paracompile::estimate::{Estimate, evaluate};
use paracompile::front::EnergyAxis;
use paracompile::mapping::decompose::{MapperOptions, QueuesAllowed, StageGraph, StageMapper};
use paracompile::mapping::{
    Budget, Effort, Granularity, PipelineMapping, StageMapping, StageProof,
};
use paracompile::partition::{CutRule, Segments, fuse, segment_by};
use paracompile::pipeline::{Candidate, MemoryDemand, Sameness, Sources, pipelines, symmetry};
use paracompile_frontend::arena::Id;
use paracompile_frontend::cost::CostTable;
use paracompile_frontend::soc::{ProcessorSet, Symmetry};
use paracompile_plan::plan::StoppedBy;
use paracompile_plan::{Bytes, Milliwatts, Nanoseconds, Plan, check};
use paracompile_testkit::brute_force::Instance;
use paracompile_testkit::brute_force::pipelines::{self as enumerated, Point, Scope};
use paracompile_testkit::case::{Built, Case, Contention, Cuts, Figures, Processor};
use paracompile_testkit::random::{Classes, Sizes, cases};
use proptest::prelude::*;

pub(crate) const SIZES: Sizes = Sizes {
    operators: 5,
    processors: 3,
};

/// A case, cut, as the compiler and as the oracle see it.
pub(crate) struct Both {
    pub(crate) built: Built,
    pub(crate) segments: Segments,
    pub(crate) instance: Instance,
    pub(crate) scope: Scope,
}

impl Both {
    pub(crate) fn new(case: &Case, rule: CutRule) -> Self {
        let built = case.build().expect("random cases run everywhere");
        let segments = segment_by(fuse(&built.graph), rule);
        let groups: Vec<Vec<usize>> = segments
            .graph
            .ops
            .iter()
            .map(|(_, op)| op.members.iter().map(|member| member.index()).collect())
            .collect();
        let instance =
            Instance::grouped(&case.graph, &case.soc, &groups).expect("the case has built");
        let mut scope = Scope::new(&instance, &case.limits);
        scope.cuts = Cuts::Positions(segments.cuts.iter().map(|cut| cut.position).collect());
        Self {
            built,
            segments,
            instance,
            scope,
        }
    }

    pub(crate) fn front(&self) -> Vec<Point> {
        enumerated::front(&self.instance, &self.scope)
    }

    fn estimate(&self, mapping: &PipelineMapping) -> Estimate {
        evaluate(
            &self.segments.graph,
            &self.built.graph,
            &self.built.costs,
            mapping,
        )
    }

    fn plan(&self, mapping: &PipelineMapping, estimate: &Estimate) -> Plan {
        emit::plan(&Emission {
            graph: &self.built.graph,
            fused: &self.segments.graph,
            table: &self.built.costs,
            mapping,
            estimate,
            labels: &[],
            claim: &Claim {
                method: "enumeration".to_owned(),
                scope: "all mappings".to_owned(),
                stopped_by: StoppedBy::Complete,
            },
            constraints: &[],
            tasks: None,
        })
    }
}

/// A plan of the oracle in the compiler's words.
fn mapping(point: &Point) -> PipelineMapping {
    let mut done = 0;
    let stages = point
        .stages
        .iter()
        .map(|stage| {
            let start = done;
            done += stage.choice.sequence.len();
            StageMapping {
                ops: start..done,
                processors: ProcessorSet::from_bits(stage.set),
                placement: stage
                    .choice
                    .placement
                    .values()
                    .map(|&processor| Id::from_index(processor))
                    .collect(),
                queues: stage
                    .choice
                    .queues
                    .values()
                    .map(|&queue| u8::try_from(queue).expect("cases have few queues"))
                    .collect(),
                sequence: stage
                    .choice
                    .sequence
                    .iter()
                    .map(|&operator| Id::from_index(operator))
                    .collect(),
                proof: StageProof {
                    bound: Nanoseconds::new(stage.time_alone),
                    by_queues: Vec::new(),
                    method: "enumeration".to_owned(),
                    scope: "all mappings".to_owned(),
                    stopped_by: StoppedBy::Complete,
                },
            }
        })
        .collect();
    PipelineMapping { stages }
}

/// All pipelines that the search finds, and the names of the memories whose use it labels.
fn candidates(both: &Both) -> (Vec<Candidate>, Vec<String>) {
    candidates_up_to(both, symmetry(sameness(both, &[&both.built.costs])))
}

/// Whatever can be told apart at the operating points of `tables`.
pub(crate) fn sameness<'a>(both: &'a Both, tables: &'a [&'a CostTable]) -> Sameness<'a> {
    Sameness {
        fused: &both.segments.graph,
        tables,
        allows: &|_, _| true,
        queues: &[],
        is_fixed: &|_| false,
    }
}

/// As many queues as the processors of a chip may have.
pub(crate) fn every_number_of_queues(table: &CostTable) -> QueuesAllowed {
    let processors = || table.soc.processors.iter().map(|(_, processor)| processor);
    QueuesAllowed {
        names: processors()
            .map(|processor| processor.name.clone())
            .collect(),
        counts: processors()
            .map(|processor| (1..=processor.sharing.len()).collect())
            .collect(),
        sharing: processors()
            .map(|processor| processor.sharing.clone())
            .collect(),
    }
}

fn candidates_up_to(both: &Both, symmetry: Symmetry) -> (Vec<Candidate>, Vec<String>) {
    let (segments, table) = (&both.segments, &both.built.costs);
    let allowed = ProcessorSet::first(table.soc.processors.len());
    let options = MapperOptions {
        granularity: Granularity::Auto,
        gap_millionths: 0,
        effort: Effort::Normal,
        shared_by: 1,
        energy: EnergyAxis::ByProduct,
        budget: Budget::UNLIMITED,
    };
    let graph = StageGraph::new(segments, table, allowed)
        .up_to(symmetry)
        .with_queues(every_number_of_queues(table));
    let mapper = StageMapper::new(graph, options);
    mapper.prepare(&|_, _, _| ());
    let demand = MemoryDemand::new(&segments.graph, table);
    let sources = Sources {
        fastest: &mapper,
        fastest_points: &table.operating_points,
        powers: &vec![Milliwatts::ZERO; table.soc.processors.len()],
        elsewhere: &[],
        most_labels: usize::MAX,
        longest: Nanoseconds::MAX,
        lean: &[],
        demand: &demand,
    };
    let (cuts, max_stages) = (segments.cuts.len(), both.scope.max_stages);
    let found = pipelines(sources, cuts, allowed, max_stages, options.budget).candidates;
    (found, demand.names())
}

/// What the search finds: (latency, interval, active energy) of what no other candidate dominates.
pub(crate) fn searched(both: &Both) -> Vec<[u64; 3]> {
    undominated_of(both, &candidates(both).0)
}

fn undominated_of(both: &Both, found: &[Candidate]) -> Vec<[u64; 3]> {
    let table = &both.built.costs;
    let values = found.iter().map(|candidate| {
        let cost = &candidate.cost;
        let power = candidate
            .mapping
            .used()
            .iter()
            .map(|processor| table.static_power(processor))
            .sum::<Milliwatts>();
        let energy = cost.energy + power.over(cost.bottleneck);
        [
            cost.latency.count(),
            cost.bottleneck.count(),
            energy.count(),
        ]
    });
    undominated(values.collect())
}

/// The case with some processors made equal to the first in everything: place, fusion, power, costs and contention.
pub(crate) fn with_twins(case: &Case, twins: u16) -> Case {
    let mut case = case.clone();
    let first = case.soc.processors[0].clone();
    let names: Vec<String> = case
        .soc
        .processors
        .iter()
        .enumerate()
        .filter(|(index, _)| *index > 0 && twins & (1 << index) != 0)
        .map(|(_, processor)| processor.name.clone())
        .collect();
    for processor in &mut case.soc.processors {
        if names.contains(&processor.name) {
            *processor = Processor {
                name: processor.name.clone(),
                ..first.clone()
            };
        }
    }
    for operator in &mut case.graph.operators {
        for costs in [&mut operator.time_ns, &mut operator.energy_nj] {
            let of_first = costs.get(&first.name).copied();
            for name in &names {
                match of_first {
                    Some(cost) => costs.insert(name.clone(), cost),
                    None => costs.remove(name),
                };
            }
        }
        // Whatever ran on a twin alone runs everywhere now.
        if operator.time_ns.is_empty() && operator.free.is_none() {
            for processor in &case.soc.processors {
                operator.time_ns.insert(processor.name.clone(), 3);
            }
        }
    }
    // One factor for each number of processors in use is symmetric in all of them.
    let all: Vec<String> = case.soc.processors.iter().map(|p| p.name.clone()).collect();
    case.soc.contention.clear();
    for size in 2..=all.len() {
        for bits in (0..1_u32 << all.len()).filter(|bits| bits.count_ones() as usize == size) {
            let set: Vec<String> = (0..all.len())
                .filter(|index| bits & (1 << index) != 0)
                .map(|index| all[index].clone())
                .collect();
            let factor = 850 + 150 * bits.count_ones();
            case.soc.contention.push(Contention {
                factor: set.iter().map(|name| (name.clone(), factor)).collect(),
                set,
            });
        }
    }
    case
}

/// The values that no other one is nowhere worse than, ascending.
pub(crate) fn undominated(mut values: Vec<[u64; 3]>) -> Vec<[u64; 3]> {
    values.sort_unstable();
    values.dedup();
    let all = values.clone();
    values.retain(|value| {
        !all.iter()
            .any(|other| other != value && other.iter().zip(value).all(|(a, b)| a <= b))
    });
    values
}

/// Gates alone, as in all small networks, or inner cuts wherever two operators lie between gates.
pub(crate) fn rules() -> impl Strategy<Value = CutRule> {
    let everywhere = CutRule {
        block: 2,
        apart: 1,
        ..CutRule::default()
    };
    prop_oneof![Just(CutRule::default()), Just(everywhere)]
}

/// Estimate, plan and checker of every point of the enumerated front, held against the enumeration.
pub(crate) fn plans_say_what_enumeration_says(
    case: &Case,
    both: &Both,
) -> Result<(), TestCaseError> {
    let (model, costs) = (
        case.model_facts().expect("the case has built"),
        case.cost_facts().expect("the case has built"),
    );
    for point in both.front() {
        let mapping = mapping(&point);
        let estimate = both.estimate(&mapping);
        let plan = both.plan(&mapping, &estimate);
        let violations = check(&plan, &model, &costs);
        prop_assert!(violations.is_empty(), "{}\n{violations:?}", case.to_json());
        let found = Figures::of_plan(&plan, &case.graph);
        let time_alone: Vec<_> = point.stages.iter().map(|stage| stage.time_alone).collect();
        let times: Vec<_> = point.stages.iter().map(|stage| stage.timed.time).collect();
        let mut copies: Vec<_> = point
            .crossings
            .iter()
            .map(|crossing| crossing.copies)
            .collect();
        copies.sort_unstable();
        let moves = point
            .stages
            .iter()
            .map(|stage| stage.timed.transfers.len())
            .sum();
        prop_assert_eq!(found.time_alone_ns, Some(time_alone), "{}", case.to_json());
        prop_assert_eq!(found.time_ns, Some(times), "{}", case.to_json());
        prop_assert_eq!(found.latency_ns, Some(point.latency));
        prop_assert_eq!(found.interval_ns, Some(point.interval));
        prop_assert_eq!(found.interval_bound_ns, Some(point.interval_bound));
        prop_assert_eq!(
            found.saturated_latency_ns,
            Some(point.saturated_latency),
            "{}",
            case.to_json()
        );
        prop_assert_eq!(found.paced_latency_ns, Some(point.paced_latency));
        prop_assert_eq!(found.crossing_copies, Some(copies), "{}", case.to_json());
        prop_assert_eq!(found.transfers, Some(moves), "{}", case.to_json());
        let energy = found.energy.expect("a plan has energies");
        prop_assert_eq!(energy.dynamic_nj, point.energy_dynamic);
        prop_assert_eq!(energy.active_nj, point.energy_active);
        prop_assert_eq!(energy.board_nj, point.energy_board);
        for (memory, peak) in case.soc.memories.iter().zip(&point.peaks) {
            let found = found.peak_bytes.get(&memory.name).copied().unwrap_or(0);
            prop_assert_eq!(found, *peak, "{}: {}", &memory.name, case.to_json());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn estimates_and_plans_say_what_enumeration_says(case in cases(SIZES, Classes::Mixed), rule in rules()) {
        plans_say_what_enumeration_says(&case, &Both::new(&case, rule))?;
    }

    /// Without contention a stage takes the same time under every plan, so ties of order (M9) cannot be seen.
    #[test]
    fn the_search_finds_the_enumerated_front(case in cases(SIZES, Classes::Mixed), rule in rules()) {
        let mut case = case;
        case.soc.contention.clear();
        let both = Both::new(&case, rule);
        let expected: Vec<_> = both.front().iter().map(Point::objectives).collect();
        let found = searched(&both);
        prop_assert_eq!(found, expected, "{}", case.to_json());
    }

    /// Every processor has a memory of its own and `io` another one, so that no stage reads where another one moved to (see `pipeline::memory`).
    #[test]
    fn labels_of_memory_are_what_the_estimator_finds(
        case in cases(SIZES, Classes::Mixed),
        rule in rules(),
        room in 1u64..100,
    ) {
        let mut case = case;
        let names: Vec<String> = case.soc.memories.iter().map(|memory| memory.name.clone()).collect();
        for (processor, name) in case.soc.processors.iter_mut().zip(&names) {
            processor.memory.clone_from(name);
        }
        case.soc.io.clone_from(&names[case.soc.processors.len()]);
        let unlimited = Both::new(&case, rule).front();
        // Between nothing and what the hungriest plan of the front needs.
        for (index, memory) in case.soc.memories.iter_mut().enumerate() {
            let most = unlimited.iter().map(|point| point.peaks[index]).max().unwrap_or(0);
            memory.bytes = (most > 1).then(|| 1 + (most - 1) * room / 100);
        }
        let both = Both::new(&case, rule);
        let soc = &both.built.costs.soc;
        let (found, names) = candidates(&both);
        for candidate in found {
            let estimate = both.estimate(&candidate.mapping);
            prop_assert!(estimate.exceeded(soc).next().is_none(), "{}", case.to_json());
            for (name, labelled) in names.iter().zip(&candidate.cost.memory) {
                let figures = estimate
                    .memory
                    .iter()
                    .find(|figures| soc.memories[figures.memory].name == *name);
                let peak = figures.map_or(Bytes::ZERO, |figures| figures.peak);
                prop_assert_eq!(peak, *labelled, "{}: {}", name, case.to_json());
            }
        }
    }

    #[test]
    fn interchangeable_processors_leave_the_front_as_it_is(
        case in cases(SIZES, Classes::Mixed),
        rule in rules(),
        twins in prop_oneof![Just(0b111_u16), Just(0b010), Just(0b100)],
        room in prop::option::of(1u64..100),
    ) {
        let mut case = with_twins(&case, twins);
        if let Some(room) = room {
            let unlimited = Both::new(&case, rule).front();
            for (index, memory) in case.soc.memories.iter_mut().enumerate() {
                let most = unlimited.iter().map(|point| point.peaks[index]).max().unwrap_or(0);
                memory.bytes = (most > 1).then(|| 1 + (most - 1) * room / 100);
            }
        }
        let both = Both::new(&case, rule);
        let symmetry = symmetry(sameness(&both, &[&both.built.costs]));
        let count = case.soc.processors.len();
        let is_twin = (1..count).any(|index| twins & (1 << index) != 0);
        prop_assert!(!symmetry.orbits().is_empty() || !is_twin, "{}", case.to_json());
        let (reduced, _) = candidates_up_to(&both, symmetry.clone());
        let (full, _) = candidates_up_to(&both, Symmetry::NONE);
        prop_assert!(reduced.len() <= full.len());
        for candidate in &reduced {
            let used = candidate.mapping.used();
            prop_assert_eq!(used, symmetry.representative(used));
            let estimate = both.estimate(&candidate.mapping);
            let found = (estimate.latency, estimate.interval, estimate.energy_dynamic);
            let cost = &candidate.cost;
            prop_assert_eq!((cost.latency, cost.bottleneck, cost.energy), found);
        }
        let front = undominated_of(&both, &reduced);
        prop_assert_eq!(front, undominated_of(&both, &full), "{}", case.to_json());
    }

    #[test]
    fn the_least_latency_is_that_of_enumeration(case in cases(SIZES, Classes::Mixed), rule in rules()) {
        let both = Both::new(&case, rule);
        let expected = both.front().iter().map(|point| point.latency).min();
        let found = searched(&both);
        let found = found.iter().map(|value| value[0]).min();
        prop_assert_eq!(found, expected, "{}", case.to_json());
    }
}
