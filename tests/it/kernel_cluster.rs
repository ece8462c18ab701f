//! `paracompile cluster`, and clusterings among the baselines of a kernel graph.

use serde_json::{Value, json};

use crate::command::{Desk, Run, model};

/// Three kernels in three components: `left` on the GPU and `right` on the CPU give what `sum` on the GPU reads.
const GRAPH: &str = include_str!("../../examples/kernels/vadd_vsin.json");
const CHIP: &str = include_str!("../../profiles/examples/cpu-gpu-pcie.json");

fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("app.json", GRAPH);
    desk.put("chip.json", CHIP);
    let costs = json!({
        "vsin": { "exec_gpu": 10e-6, "exec_cpu": 50e-6 },
        "vadd": { "exec_gpu": 20e-6, "exec_cpu": 60e-6 },
    });
    desk.put("costs.json", costs.to_string());
    desk
}

fn cluster(desk: &Desk, more: &[&str]) -> Run {
    let fixed = [
        "cluster",
        "app.json",
        "--soc",
        "chip.json",
        "--costs",
        "costs.json",
    ];
    desk.run(&[&fixed, more].concat())
}

fn answer(desk: &Desk, more: &[&str]) -> Value {
    let text = cluster(desk, &[&["--json"], more].concat()).done();
    serde_json::from_str(&text).expect("the answer is JSON")
}

fn check(desk: &Desk, plan: &str) -> Run {
    desk.run(&[
        "check",
        plan,
        "--model",
        "app.json",
        "--soc",
        "chip.json",
        "--costs",
        "costs.json",
    ])
}

#[test]
fn copies_of_dependent_buffers_and_the_host_are_in_the_total() {
    let specified = [
        "--cpu-heads",
        "specified",
        "--queues",
        "gpu=2,cpu=1",
        "--enqueue",
        "1e-6",
    ];
    // Writing 262144 bytes takes 24717 ns and reading them 22605.
    // left: written 1000..25717, launched ..35717; right: on the CPU 2000..52000, whose memory is the host's; sum: what `right` made is written
    // 52000..76717, launched ..96717, and read back ..119322.
    let first = answer(&desk(), &specified);
    let expected = json!({
        "queues": { "gpu": 2, "cpu": 1 }, "cpu_heads": 1, "total_ns": 119_322, "device_span_ns": 118_322,
        "host_ns": 3000, "ends_ns": { "gpu": 119_322, "cpu": 52_000 },
    });
    assert_eq!(first["choice"], expected);
    // Nothing begins before 3000, and then left ends at 37717, right at 53000, and sum 24717 + 20000 + 22605 later.
    let enqueued = answer(
        &desk(),
        &[&specified[..], &["--starts", "enqueued"]].concat(),
    );
    assert_eq!(enqueued["choice"]["total_ns"], 120_322);
    assert_eq!(enqueued["choice"]["device_span_ns"], 117_322);
}

#[test]
fn the_choice_is_the_least_total_of_all_configurations() {
    let desk = desk();
    let all = answer(&desk, &["--enqueue", "1e-6"]);
    let totals = all["configurations"].as_array().unwrap().iter();
    let least = totals.map(|one| one["total_ns"].as_u64().unwrap()).min();
    assert_eq!(all["choice"]["total_ns"].as_u64(), least);
    // Kernels 3, 2, 1 and 0 on the GPU, and at most so many queues on each device: 3, 2 · 1, 1 · 2 and 3.
    assert_eq!(all["configurations"].as_array().unwrap().len(), 10);
    assert_eq!(all, answer(&desk, &["--enqueue", "1e-6"]));
}

#[test]
fn plans_of_clusterings_hold_against_the_checker() {
    let desk = desk();
    let specified = [
        "--cpu-heads",
        "specified",
        "--queues",
        "gpu=2,cpu=1",
        "-o",
        "plan.json",
    ];
    cluster(&desk, &specified).done();
    check(&desk, "plan.json").done();
    let plan: Value = serde_json::from_slice(&desk.read("plan.json")).unwrap();
    let components: Vec<&Value> = plan["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| &task["kernel"]["component"])
        .collect();
    let place = |id: u64| {
        components
            .iter()
            .position(|known| known["id"] == id)
            .unwrap()
    };
    assert_eq!(
        *components[place(0)],
        json!({ "id": 0, "front": true, "end": true })
    );
    assert_eq!(
        *components[place(2)],
        json!({ "id": 2, "front": true, "end": false })
    );
    let broken = |task: usize, field: &str, value: Value, message: &str| {
        let mut broken = plan.clone();
        broken["tasks"][task]["kernel"]["component"][field] = value;
        desk.put("broken.json", broken.to_string());
        let run = check(&desk, "broken.json");
        assert_eq!(run.code, 1, "{}{}", run.out, run.err);
        let told = run.out + &run.err;
        assert!(told.contains(message), "{told}");
    };
    broken(
        place(2),
        "front",
        json!(false),
        "component.front is false, but true follows",
    );
    broken(
        place(2),
        "end",
        json!(true),
        "component.end is true, but false follows",
    );
    broken(
        place(0),
        "end",
        json!(false),
        "component.end is false, but true follows",
    );
    // `left` and `right` are on different processors.
    broken(place(1), "id", json!(0), "processor of component is");
    let mut nameless = plan.clone();
    let kernel = nameless["tasks"][0]["kernel"].as_object_mut().unwrap();
    kernel.remove("component");
    desk.put("broken.json", nameless.to_string());
    let run = check(&desk, "broken.json");
    assert_eq!(run.code, 1);
    assert!((run.out + &run.err).contains("kernel.component is empty"));
}

#[test]
fn what_cannot_be_clustered_is_refused_with_a_remedy() {
    let desk = desk();
    for (arguments, place, remedy) in [
        (
            &["--cpu-heads", "4"][..],
            "4 components are to run on the CPU",
            "0 to 3",
        ),
        (
            &["--queues", "gpu=0"],
            "`gpu` has 1 to 5 queues, and not 0",
            "gpu=1..5",
        ),
        (
            &["--queues", "cpu=6"],
            "`cpu` has 1 to 5 queues, and not 6",
            "cpu=1..5",
        ),
        (&["--queues", "npu=2"], "a processor `npu`", "--processors"),
        (
            &["--queues", "gpu=5", "--cpu-heads", "0"],
            "5 queues of `gpu` for 3 kernels",
            "gpu=3",
        ),
        (
            &["--processors", "gpu"],
            "no processor that is named `cpu` or is one",
            "--cpu-heads 0",
        ),
        (
            &["--processors", "cpu"],
            "no processor that is named `gpu` or is one",
            "--cpu-heads",
        ),
        (&["--cpu-heads", "many"], "many", "auto or specified"),
        (&["--enqueue", "-1"], "-1", ""),
    ] {
        let told = cluster(&desk, arguments).refused(2);
        assert!(told.contains(place), "{arguments:?}: {told}");
        assert!(told.contains(remedy), "{arguments:?}: {told}");
    }
    desk.put(
        "costs.json",
        json!({ "vsin": { "exec_gpu": 1e-5, "exec_cpu": 1e-5 } }).to_string(),
    );
    let told = cluster(&desk, &[]).refused(2);
    assert!(told.contains("vadd") && told.contains("--costs"), "{told}");
    let network = std::fs::read_dir(model("")).expect("models are committed");
    let network = network.filter_map(|entry| Some(entry.ok()?.path()));
    let mut network = network.filter(|path| path.extension().is_some_and(|it| it == "onnx"));
    let network = network.next().expect("one of them is a network");
    let told = desk
        .run(&["cluster", network.to_str().unwrap(), "--soc", "chip.json"])
        .refused(2);
    assert!(told.contains("is no kernel graph"), "{told}");
}

#[test]
fn processors_are_the_gpu_and_the_cpu_by_their_names_and_else_by_their_kinds() {
    let desk = desk();
    let queues = |edit: fn(&mut Value)| {
        let mut chip: Value = serde_json::from_str(CHIP).unwrap();
        edit(&mut chip);
        desk.put("chip.json", chip.to_string());
        let all = answer(&desk, &["--cpu-heads", "1"]);
        let choice = all["choice"]["queues"].as_object().unwrap();
        choice.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(queues(|_| {}), ["gpu", "cpu"]);
    // Two parts of a CPU, named as what they stand for.
    let parts = queues(|chip| chip["processors"][0]["kind"] = "cpu".into());
    assert_eq!(parts, ["gpu", "cpu"]);
    let by_kind = queues(|chip| {
        chip["processors"][0]["name"] = "mali".into();
        chip["processors"][1]["name"] = "big".into();
    });
    assert_eq!(by_kind, ["mali", "big"]);
}

#[test]
fn a_kernel_that_a_device_lacks_keeps_its_component_off_it() {
    let desk = desk();
    let costs =
        json!({ "vsin": { "exec_gpu": 1e-5, "exec_cpu": 1e-5 }, "vadd": { "exec_gpu": 1e-5 } });
    desk.put("costs.json", costs.to_string());
    let all = answer(&desk, &[]);
    let heads = all["configurations"].as_array().unwrap().iter();
    let most = heads.map(|one| one["cpu_heads"].as_u64().unwrap()).max();
    assert_eq!(most, Some(2));
    assert!(
        all["left_out"]
            .to_string()
            .contains("without a time on `cpu`: `sum`")
    );
    let told = cluster(&desk, &["--cpu-heads", "3"]).refused(2);
    assert!(
        told.contains("without a time on `cpu`") && told.contains("--costs"),
        "{told}"
    );
}

#[test]
fn the_clustering_of_a_specification_is_a_baseline_where_the_chip_can_run_it() {
    let desk = desk();
    let mapped = |more: &[&str]| -> Vec<String> {
        let fixed = [
            "app.json",
            "--soc",
            "chip.json",
            "--costs",
            "costs.json",
            "--out",
            "out",
        ];
        let quiet = ["--no-plots", "--no-report", "--quiet"];
        desk.run(&[&fixed[..], &quiet, more].concat()).done();
        let front: Value = serde_json::from_slice(&desk.read("out/front.json")).unwrap();
        let names = front["baselines"].as_array().unwrap().iter();
        names
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(mapped(&[]).contains(&"clustering".to_owned()));
    let plan: Value = serde_json::from_slice(&desk.read("out/baselines/clustering.json")).unwrap();
    assert_eq!(plan["tasks"][0]["kernel"]["component"]["front"], true);
    assert!(!mapped(&["--processors", "gpu"]).contains(&"clustering".to_owned()));
    // The file has `left` on the GPU.
    let pinned = |processor: &str| format!("left.vsin={processor}");
    assert!(mapped(&["--pin", &pinned("gpu")]).contains(&"clustering".to_owned()));
    assert!(!mapped(&["--pin", &pinned("cpu")]).contains(&"clustering".to_owned()));
    assert!(mapped(&["--queues", "1"]).contains(&"clustering".to_owned()));
    let told = [
        "app.json",
        "--soc",
        "chip.json",
        "--costs",
        "costs.json",
        "--forbid",
        "left.vsin=gpu",
    ];
    let told = desk.run(&told).done();
    let why = "the clustering of the file would break --forbid left.vsin=gpu";
    assert!(told.contains(why), "{told}");
}
