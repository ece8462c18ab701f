//! Whole runs on real networks, judged by what must hold of every front, whatever the figures are.

use paracompile::compile::{Compiled, Options, Progress, compile};
use paracompile::constraints::Constraints;
use paracompile::cost::{CostOverrides, CostTable};
use paracompile::emit::Goal;
use paracompile::front::EnergyAxis;
use paracompile::front::Figures;
use paracompile::import::{ImportOptions, import};
use paracompile::mapping::{Budget, Effort, Granularity};
use paracompile::partition::CutRule;
use paracompile::plan::{Label, Plan, Strategy};
use paracompile::simulate::{SimulateOptions, simulate};
use paracompile::soc::Soc;

use crate::command::{Desk, model};

fn compiled(name: &str, granularity: Granularity, max_stages: Option<usize>) -> Compiled {
    let soc = Soc::builtin("vim3").expect("vim3 is built in");
    compiled_on(&soc, name, granularity, max_stages)
}

fn compiled_on(
    soc: &Soc,
    name: &str,
    granularity: Granularity,
    max_stages: Option<usize>,
) -> Compiled {
    let imported = import(&model(name), &ImportOptions::default()).expect("the model is committed");
    let table = CostTable::new(&imported.graph, soc, &CostOverrides::default(), None)
        .expect("the chip runs every operator");
    let options = Options {
        goal: Goal::Balanced,
        granularity,
        cuts: CutRule::default(),
        max_stages,
        gap_millionths: 0,
        effort: Effort::Normal,
        energy: EnergyAxis::ByProduct,
        points: None,
        queues: &[],
        tasks: None,
        clustering: None,
        budget: Budget::UNLIMITED,
        constraints: &Constraints::NONE,
        progress: Progress(&|_| ()),
    };
    compile(&imported.graph, &table, &options).expect("there is a front")
}

/// Latency, interval and energy.
fn objectives(figures: &Figures) -> [f64; 3] {
    [
        figures.latency_s,
        figures.interval_s,
        figures.energy_active_j,
    ]
}

/// Least latency of any plan of one stage.
fn one_stage(compiled: &Compiled) -> f64 {
    let front = compiled.front.plans.iter().map(|plan| &plan.figures);
    let best = compiled
        .front
        .best_by_strategy
        .values()
        .map(|best| &best.figures);
    front
        .chain(best)
        .filter(|figures| figures.stages.len() == 1)
        .map(|figures| figures.latency_s)
        .fold(f64::INFINITY, f64::min)
}

#[test]
fn no_plan_of_a_front_dominates_another_and_no_baseline_beats_all() {
    for name in ["googlenet.onnx", "squeezenet1_1.onnx"] {
        let front = compiled(name, Granularity::Auto, None).front;
        let points: Vec<_> = front
            .plans
            .iter()
            .map(|plan| objectives(&plan.figures))
            .collect();
        for (index, point) in points.iter().enumerate() {
            let dominated = points.iter().enumerate().any(|(other, better)| {
                other != index && better.iter().zip(point).all(|(a, b)| a <= b)
            });
            assert!(!dominated, "{name}: {}", front.plans[index].file);
        }
        for objective in 0..3 {
            let least =
                |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
            let on_front = least(&mut points.iter().map(|point| point[objective]));
            let baseline = least(
                &mut front
                    .baselines
                    .iter()
                    .map(|it| objectives(&it.figures)[objective]),
            );
            let by_strategy = least(
                &mut front
                    .best_by_strategy
                    .values()
                    .map(|it| objectives(&it.figures)[objective]),
            );
            assert!(
                on_front <= baseline && on_front <= by_strategy,
                "{name}: {objective}"
            );
        }
    }
}

#[test]
fn the_simulator_agrees_with_every_plan_to_the_nanosecond() {
    for name in ["googlenet.onnx", "mobilenet_v2.onnx"] {
        for file in compiled(name, Granularity::Auto, None).files {
            let run = simulate(&file.plan, &SimulateOptions::default()).expect("plans can be run");
            let predicted = &file.plan.predicted;
            assert_eq!(run.latency, predicted.latency_ns, "{name}: {}", file.file);
            assert_eq!(run.interval, predicted.interval_ns, "{name}: {}", file.file);
            assert_eq!(
                run.saturated_latency, predicted.saturated_latency_ns,
                "{name}: {}",
                file.file
            );
            assert_eq!(
                run.paced_latency, predicted.paced_latency_ns,
                "{name}: {}",
                file.file
            );
        }
    }
}

#[test]
fn auto_is_never_worse_than_coarse_heft_or_one_processor() {
    for name in ["googlenet.onnx", "squeezenet1_1.onnx"] {
        let auto = compiled(name, Granularity::Auto, Some(1));
        let best = one_stage(&auto);
        for other in [Granularity::Coarse, Granularity::Fine] {
            let other = compiled(name, other, Some(1));
            assert!(best <= one_stage(&other), "{name}");
        }
        for baseline in &auto.front.baselines {
            assert!(
                best <= baseline.figures.latency_s,
                "{name}: {}",
                baseline.name
            );
        }
    }
}

#[test]
fn limits_on_stages_and_processors_hold() {
    let one = compiled("googlenet.onnx", Granularity::Auto, Some(1));
    assert!(one.files.iter().all(|file| file.plan.stages.len() == 1));
    let desk = Desk::new().with_model("googlenet.onnx");
    let arguments = ["googlenet.onnx", "--soc", "vim3", "-q", "--out", "o"];
    desk.run(&[&arguments[..], &["--processors", "big,little"]].concat())
        .done();
    for (file, bytes) in desk.files("o") {
        if file.starts_with("plans/") || file.starts_with("baselines/") {
            let plan: Plan = serde_json::from_slice(&bytes).expect("it is a plan");
            assert!(plan.processors.iter().all(|it| it.name != "gpu"), "{file}");
        }
    }
}

#[test]
fn the_hybrid_for_streams_is_a_pipeline_that_pays() {
    for name in ["googlenet.onnx", "resnet50.onnx"] {
        let compiled = compiled(name, Granularity::Auto, None);
        let hybrid = compiled
            .streaming_hybrid
            .expect("three processors allow it");
        assert_eq!(hybrid.plan.strategy, Strategy::Hybrid, "{name}");
        let of = |plan: &Plan| (plan.predicted.latency_ns, plan.predicted.interval_ns);
        let (latency, interval) = of(&hybrid.plan);
        for file in &compiled.files {
            let (other_latency, other_interval) = of(&file.plan);
            let is_matched = other_latency <= latency && other_interval <= interval;
            assert!(
                file.plan.stages.len() > 1 || !is_matched,
                "{name}: {}",
                file.file
            );
            let is_slower_in_stream = hybrid.plan.predicted.saturated_latency_ns
                <= file.plan.predicted.saturated_latency_ns;
            let competes = file.plan.strategy == Strategy::Hybrid
                && file.plan.labels.contains(&Label::HybridThroughput);
            assert!(!competes || is_slower_in_stream, "{name}: {}", file.file);
        }
    }
}

#[test]
fn equal_cores_are_searched_once_and_the_front_stays() {
    let equal = Soc::builtin("rk3588").expect("rk3588 is built in");
    // Points that nobody goes to tell the cores apart and change no figure.
    let mut apart = equal.clone();
    for (name, more) in [("npu1", 1), ("npu2", 2)] {
        let npu = apart.processor(name).expect("there are three");
        let points = &mut apart.processors[npu].operating_points;
        let point = points[0].clone();
        points.extend(std::iter::repeat_n(point, more));
    }
    let [equal, apart] = [&equal, &apart]
        .map(|soc| compiled_on(soc, "squeezenet1_1.onnx", Granularity::Auto, None).front);
    assert!(equal.candidates * 3 < apart.candidates * 2);
    let plans = |front: &paracompile::front::Front| -> Vec<(String, [f64; 3], f64)> {
        let plans = front.plans.iter();
        plans
            .map(|plan| {
                (
                    plan.file.clone(),
                    objectives(&plan.figures),
                    plan.figures.gap,
                )
            })
            .collect()
    };
    assert_eq!(plans(&equal), plans(&apart));
}

/// As they were when every set of cores was searched by itself.
#[test]
fn googlenet_on_equal_cores_has_the_known_front() {
    let soc = Soc::builtin("rk3588").expect("rk3588 is built in");
    let front = compiled_on(&soc, "googlenet.onnx", Granularity::Auto, None).front;
    assert_eq!(front.plans.len(), 22);
    let of = |label: Label| {
        let plan = front.plans.iter().find(|plan| plan.labels.contains(&label));
        let plan = plan.expect("every goal has its plan");
        // In nanoseconds and nanojoules, so that equality is exact.
        let figures = objectives(&plan.figures).map(|figure| format!("{:.0}", figure * 1e9));
        (plan.file.as_str(), figures, plan.figures.gap.to_string())
    };
    let expected = [
        (
            Label::MinLatency,
            "plans/01-hybrid-npu0_npu1+npu2.json",
            ["3152396", "2288420", "4492780"],
        ),
        (
            Label::Balanced,
            "plans/07-hybrid-npu0_npu1+npu2_big.json",
            ["3286191", "1831441", "5112424"],
        ),
        (
            Label::MinEnergy,
            "plans/18-single-npu0.json",
            ["4222794", "4222794", "3853409"],
        ),
        (
            Label::MaxThroughput,
            "plans/21-hybrid-npu0_npu1_npu2_little+gpu_big.json",
            ["5937004", "1449485", "13383544"],
        ),
    ];
    for (label, file, figures) in expected {
        let figures = figures.map(str::to_owned);
        assert_eq!(of(label), (file, figures, "0".to_owned()));
    }
}

#[test]
fn the_bytes_do_not_depend_on_threads_or_on_the_run() {
    for (model, soc) in [("googlenet.onnx", "vim3"), ("squeezenet1_1.onnx", "rk3588")] {
        let desk = Desk::new().with_model(model);
        let run = |out: &str, threads: &str| {
            let fixed = [model, "--soc", soc, "-q", "--out", out];
            desk.run(&[&fixed[..], &["--threads", threads]].concat())
                .done();
            desk.files(out)
        };
        let one = run("one", "1");
        assert_eq!(one, run("two", "2"));
        assert_eq!(one, run("one", "1"));
    }
}

#[test]
fn a_time_limit_is_said_in_the_files() {
    let desk = Desk::new().with_model("bert_base.onnx");
    let out = desk.run(&[
        "bert_base.onnx",
        "--soc",
        "vim3",
        "--no-plots",
        "--out",
        "o",
        "--time-limit",
        "0.01",
    ]);
    // So little time may end before any mapping is complete; then nothing is written.
    if out.code == 130 {
        assert!(!desk.path("o").exists());
        return;
    }
    assert!(out.done().contains("cut by the time limit"));
    let front = std::fs::read_to_string(desk.path("o/front.json")).expect("it is written");
    assert!(front.contains("\"stopped_by\": \"time\""), "{front}");
}
