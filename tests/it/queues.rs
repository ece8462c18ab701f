//! Several compute queues a processor (rule M10) against enumeration, and against chips whose lanes are spelled out as processors.

use std::collections::BTreeMap;

use paracompile::OpClass;
use paracompile::compile::{Compiled, Options, Progress, compile};
use paracompile::constraints::Constraints;
use paracompile::emit::Goal;
use paracompile::front::{EnergyAxis, Front};
use paracompile::mapping::decompose::{Ends, MapperOptions, StageGraph, StageMapper};
use paracompile::mapping::{Budget, Effort, Granularity};
use paracompile::partition::CutRule;
use paracompile_frontend::soc::ProcessorSet;
use paracompile_plan::check;
use paracompile_plan::plan::Layout;
use paracompile_testkit::brute_force::pipelines::Point;
use paracompile_testkit::case::{
    Case, Expectation, Limits, Memory, Network, Operator, Origin, Processor, Soc, Status, Tensor,
};
use paracompile_testkit::random::{Classes, Sizes, cases};
use proptest::prelude::*;

use crate::command::{Desk, Run};
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
            operator.class = OpClass::Other;
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

/// Sixteen branches of eight operators between a fork and a join, on two processors of up to five queues each.
fn sixteen_branches() -> Case {
    let operator = |name: String, reads: Vec<String>, time: u64| Operator {
        name: name.clone(),
        class: OpClass::Other,
        reads,
        writes: vec![Tensor { name, bytes: 64 }],
        weights: 0,
        workspace: 0,
        time_ns: BTreeMap::from([("gpu".to_owned(), time), ("cpu".to_owned(), 3 * time)]),
        energy_nj: BTreeMap::new(),
        free: None,
    };
    let mut operators = vec![operator("fork".to_owned(), vec!["in".to_owned()], 10_000)];
    for branch in 0..16 {
        let mut before = "fork".to_owned();
        for (place, time) in [40, 25, 90, 15, 60, 30, 75, 20].into_iter().enumerate() {
            let name = format!("b{branch}-{place}");
            operators.push(operator(name.clone(), vec![before], 1000 * time));
            before = name;
        }
    }
    let ends = (0..16).map(|branch| format!("b{branch}-7")).collect();
    operators.push(operator("join".to_owned(), ends, 10_000));
    let processor = |name: &str, sharing: [u32; 5]| Processor {
        name: name.to_owned(),
        memory: "m".to_owned(),
        layout: Layout::Any,
        static_mw: 0,
        fuses: Vec::new(),
        sharing: sharing.to_vec(),
    };
    Case {
        why: "large".to_owned(),
        source: Origin::Hand,
        graph: Network {
            inputs: vec![Tensor {
                name: "in".to_owned(),
                bytes: 64,
            }],
            operators,
            outputs: vec!["join".to_owned()],
        },
        soc: Soc {
            io: "m".to_owned(),
            memories: vec![Memory {
                name: "m".to_owned(),
                bytes: None,
            }],
            processors: vec![
                processor("gpu", [1000, 1300, 1800, 2300, 2900]),
                processor("cpu", [1000, 1150, 1600, 2200, 2600]),
            ],
            ..Soc::default()
        },
        limits: Limits::default(),
        expect: Expectation {
            status: Status::Optimal,
            error: Vec::new(),
            latency_ns: None,
            interval_ns: None,
            energy_active_nj: None,
            front: None,
            plans: Vec::new(),
            streams: Vec::new(),
        },
    }
}

/// The front of a case with every number of queues, on so many threads.
fn compiled(case: &Case, threads: usize) -> Compiled {
    let built = case.build().expect("small cases compile");
    let allowed = every_number_of_queues(&built.costs);
    let options = Options {
        goal: Goal::Latency,
        granularity: Granularity::Auto,
        cuts: CutRule::default(),
        max_stages: None,
        gap_millionths: 0,
        effort: Effort::Normal,
        energy: EnergyAxis::ByProduct,
        points: None,
        queues: &allowed.counts,
        tasks: None,
        clustering: None,
        budget: Budget::UNLIMITED,
        constraints: &Constraints::NONE,
        progress: Progress(&|_| {}),
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("small cases compile");
    pool.install(|| compile(&built.graph, &built.costs, &options))
        .expect("small cases compile")
}

#[test]
fn many_lanes_of_many_branches_have_a_plan_with_a_gap_whatever_the_threads() {
    let case = sixteen_branches();
    let one = compiled(&case, 1);
    let two = compiled(&case, 2);
    let plans = |compiled: &Compiled| -> Vec<_> {
        compiled
            .files
            .iter()
            .map(|file| file.plan.clone())
            .collect()
    };
    assert!(plans(&one) == plans(&two));
    let (model, costs) = (case.model_facts().unwrap(), case.cost_facts().unwrap());
    for plan in plans(&one) {
        assert_eq!(check(&plan, &model, &costs), []);
    }
    let best = &one.front.plans[0];
    // 16 · 355 µs at the best rates, 4 / 2.3 and 5 / 2.6 / 3, take 2388 µs, and fork and join 10 µs each at least.
    let latency = best.figures.latency_s;
    assert!((2.408e-3..2.5e-3).contains(&latency), "{latency}");
    assert!(best.figures.gap < 0.03, "{}", best.figures.gap);
    assert!(
        best.figures.stages[0].queues.iter().all(|&count| count > 2),
        "{best:?}"
    );
    assert_eq!(one.front.queues["gpu"], [1, 2, 3, 4, 5]);
}

fn map(desk: &Desk, out: &str, more: &[&str]) -> Run {
    let mut arguments = vec![
        "squeezenet1_1.onnx",
        "--soc",
        "board.json",
        "--no-plots",
        "--no-report",
        "-q",
        "-o",
        out,
    ];
    arguments.extend(more);
    desk.run(&arguments)
}

#[test]
fn more_queues_than_are_searched_at_once_are_refused() {
    let desk = desk();
    let text = String::from_utf8(desk.read("board.json")).unwrap();
    let mut soc: serde_json::Value = serde_json::from_str(&text).unwrap();
    for processor in soc["processors"].as_array_mut().unwrap() {
        processor["compute_queues_max"] = 6.into();
        processor["sharing"] = serde_json::json!([1, 1, 1, 1, 1, 1]);
    }
    desk.put("board.json", soc.to_string());
    let run = map(&desk, "out", &["--queues", "6"]);
    assert_eq!(run.code, 2);
    assert!(
        run.err.contains("18 queues are more than the 16"),
        "{}",
        run.err
    );
    assert!(run.err.contains("--processors"), "{}", run.err);
}

/// A board with a GPU of two queues, beside the built-in chip.
fn desk() -> Desk {
    let desk = Desk::new().with_model("squeezenet1_1.onnx");
    let text = paracompile::soc::Soc::builtin_text("vim3").expect("the profile is built in");
    let mut soc: serde_json::Value = serde_json::from_str(text).expect("the profile is built in");
    let gpu = &mut soc["processors"][2];
    assert_eq!(gpu["name"], "gpu");
    gpu["compute_queues_max"] = 2.into();
    gpu["sharing"] = serde_json::json!([1, 1.1]);
    desk.put("board.json", soc.to_string());
    desk
}

#[test]
fn one_queue_is_what_a_chip_without_more_has() {
    let desk = desk();
    assert_eq!(map(&desk, "one", &["--queues", "1"]).code, 0);
    assert_eq!(map(&desk, "both", &[]).code, 0);
    let front = |out: &str| -> Front {
        serde_json::from_slice(&desk.read(&format!("{out}/front.json"))).unwrap()
    };
    let (one, both) = (front("one"), front("both"));
    assert!(one.queues.is_empty());
    assert!(
        one.plans
            .iter()
            .flat_map(|plan| &plan.figures.stages)
            .all(|stage| stage.queues.is_empty())
    );
    assert_eq!(both.queues["gpu"], [1, 2]);
    let least = |front: &Front| {
        front
            .plans
            .iter()
            .map(|plan| plan.figures.latency_s)
            .fold(f64::MAX, f64::min)
    };
    assert!(least(&both) <= least(&one));
    let chosen = desk.run(&[
        "check",
        "both",
        "--model",
        "squeezenet1_1.onnx",
        "--soc",
        "board.json",
    ]);
    assert_eq!(chosen.code, 0, "{}", chosen.err);
}

#[test]
fn no_queue_leaves_a_processor_out() {
    let desk = desk();
    assert_eq!(
        map(&desk, "without", &["--queues", "little=0,gpu=2"]).code,
        0
    );
    let front: Front = serde_json::from_slice(&desk.read("without/front.json")).unwrap();
    let stages = || front.plans.iter().flat_map(|plan| &plan.figures.stages);
    assert!(stages().all(|stage| !stage.processors.contains(&"little".to_owned())));
    let on_gpu = || stages().filter(|stage| stage.processors.contains(&"gpu".to_owned()));
    assert!(on_gpu().count() > 0);
    assert!(on_gpu().all(|stage| stage.place().contains("gpu×2")));
}

#[test]
fn numbers_of_queues_that_cannot_be_are_refused_with_what_can() {
    let desk = desk();
    for (asked, expected) in [
        ("gpu=3", "`gpu` may have 2 queues at most"),
        ("big=2", "`big` may have 1 queue at most"),
        ("npu=1", "no processor `npu`"),
        ("gpu=1,gpu=2", "`gpu` is given two numbers"),
        ("big=0,little=0,gpu=0", "no processor is left"),
        ("gpu=17", "`gpu` may have 2 queues at most"),
        ("0", "expected auto"),
        ("gpu=many", "expected auto"),
        ("", "expected auto"),
    ] {
        let run = map(&desk, "out", &["--queues", asked]);
        assert_eq!(run.code, 2, "{asked}");
        assert!(run.err.contains(expected), "{asked}: {}", run.err);
    }
}
