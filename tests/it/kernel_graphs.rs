//! Kernel graphs by command line: reading, converting, mapping, checking and drawing an example with a cost table, and every refusal.

use insta::assert_snapshot;

use crate::command::Desk;

const GRAPH: &str = include_str!("../../examples/kernels/irregular.json");
const SOC: &str = include_str!("../../profiles/examples/cpu-gpu-pcie.json");
const COSTS: &str = r#"{
    "vsin": {"exec_gpu": 2e-4, "exec_cpu": 9e-4}, "scale": {"exec_gpu": 1e-4, "exec_cpu": 3e-4},
    "vadd": {"exec_gpu": 1e-4, "exec_cpu": 2e-4}, "group_sums": {"exec_gpu": 2e-4, "exec_cpu": 5e-4},
    "add_group": {"exec_gpu": 1e-4, "exec_cpu": 2e-4}
}"#;
/// Graph, chip and costs, as options.
const MAP: [&str; 7] = [
    "irregular.json",
    "--soc",
    "board.json",
    "--costs",
    "costs.json",
    "--out",
    "out",
];

fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("irregular.json", GRAPH);
    desk.put("board.json", SOC);
    desk.put("costs.json", COSTS);
    desk
}

/// The plan that a run into this folder recommends.
fn recommended(desk: &Desk, out: &str) -> serde_json::Value {
    let front = desk.read(&format!("{out}/front.json"));
    let front: serde_json::Value = serde_json::from_slice(&front).expect("fronts are JSON");
    let plan = front["recommended"]
        .as_str()
        .expect("a front has a best plan");
    serde_json::from_slice(&desk.read(&format!("{out}/{plan}"))).expect("plans are JSON")
}

#[test]
fn a_kernel_graph_is_inspected() {
    let desk = desk();
    assert_snapshot!(desk.run(&["inspect", "irregular.json"]).done());
    let json = desk.run(&["inspect", "irregular.json", "--json"]).done();
    let value: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(value["complete"], true);
    let dot = desk.run(&["inspect", "irregular.json", "--dot"]).done();
    assert!(dot.starts_with("digraph"), "{dot}");
}

#[test]
fn a_kernel_graph_is_mapped_and_its_plans_are_accepted() {
    let desk = desk();
    let run = desk.run(&[&MAP[..], &["--no-report"]].concat());
    assert_snapshot!(run.done());
    let checked = desk.run(&[
        "check",
        "out",
        "--model",
        "irregular.json",
        "--soc",
        "board.json",
        "--costs",
        "costs.json",
    ]);
    let text = checked.done();
    assert!(!text.contains("violation"), "{text}");
    // A kernel is a launch with its arguments in the plan.
    let plan = recommended(&desk, "out");
    assert_eq!(plan["model"]["kind"], "kernels");
    let tasks = plan["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 9);
    assert!(
        tasks
            .iter()
            .all(|task| task["kernel"]["function"].is_string())
    );
}

#[test]
fn a_plan_whose_kernel_is_another_one_is_found_out() {
    let desk = desk();
    desk.run(&[&MAP[..], &["--no-report", "--no-plots", "-q"]].concat())
        .done();
    let mut value = recommended(&desk, "out");
    value["tasks"][0]["kernel"]["global"] = serde_json::json!([0]);
    desk.put("edited.json", value.to_string());
    let run = desk.run(&[
        "check",
        "edited.json",
        "--model",
        "irregular.json",
        "--soc",
        "board.json",
        "--costs",
        "costs.json",
    ]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    let said = run.out + &run.err;
    assert!(said.contains("tasks[0]: kernel.global names [0]"), "{said}");
}

/// Graph, chip and costs where dispatching takes longer than kernels, at a granularity, into a folder of its name.
fn granular(desk: &Desk, level: &str, more: &[&str]) -> crate::command::Run {
    let mut soc: serde_json::Value = serde_json::from_str(SOC).expect("it is JSON");
    for processor in soc["processors"].as_array_mut().expect("it is a list") {
        processor["dispatch_s"] = serde_json::json!(2e-3);
    }
    desk.put("far.json", soc.to_string());
    let asked = [
        "irregular.json",
        "--soc",
        "far.json",
        "--costs",
        "costs.json",
        "--granularity",
        level,
        "--out",
        level,
        "--no-report",
        "--no-plots",
    ];
    desk.run(&[&asked, more].concat())
}

/// What the checker says of a file made from the recommended plan of [`granular`].
fn judged(desk: &Desk, plan: &serde_json::Value) -> (i32, String) {
    desk.put("edited.json", plan.to_string());
    let run = desk.run(&[
        "check",
        "edited.json",
        "--model",
        "irregular.json",
        "--soc",
        "far.json",
        "--costs",
        "costs.json",
    ]);
    (run.code, run.out + &run.err)
}

#[test]
fn tasks_of_several_kernels_name_all_launches_and_why_they_are_one() {
    let desk = desk();
    for (level, tasks) in [("operator", 9), ("branch", 9), ("stage", 1)] {
        granular(&desk, level, &["-q"]).done();
        let plan = recommended(&desk, level);
        assert_eq!(
            plan["granularity"],
            serde_json::json!({"asked": level, "rule": level})
        );
        assert_eq!(
            plan["tasks"].as_array().map(Vec::len),
            Some(tasks),
            "{level}"
        );
        let (code, said) = judged(&desk, &plan);
        assert_eq!(code, 0, "{said}");
    }
    let task = &recommended(&desk, "stage")["tasks"][0];
    let launches = task["kernels_behind"].as_array().expect("it is a list");
    assert_eq!(launches.len(), 8);
    assert_eq!(task["fused"]["beside"], 1);
    assert_eq!(task["fused"]["time_ns"], task["work_ns"]);
}

#[test]
fn a_granularity_is_chosen_by_what_a_host_takes() {
    let desk = desk();
    assert_snapshot!(granular(&desk, "auto", &[]).done());
    let front: serde_json::Value =
        serde_json::from_slice(&desk.read("auto/front.json")).expect("fronts are JSON");
    let tried = front["granularity"]["candidates"]
        .as_array()
        .expect("it is a list");
    let least = tried
        .iter()
        .filter_map(|one| one["latency_ns"].as_u64())
        .min();
    let chosen = tried
        .iter()
        .find(|one| one["rules"][0] == front["granularity"]["rule"]);
    assert_eq!(chosen.and_then(|one| one["latency_ns"].as_u64()), least);
    // Where dispatching costs nothing, single kernels are as good as any.
    desk.put("far.json", SOC);
    desk.run(
        &[
            &MAP[..],
            &["--granularity", "auto", "--no-report", "--no-plots", "-q"],
        ]
        .concat(),
    )
    .done();
    assert_eq!(recommended(&desk, "out")["granularity"]["rule"], "operator");
}

#[test]
fn the_choice_of_a_granularity_does_not_depend_on_threads() {
    let desk = desk();
    let mut seen = Vec::new();
    for threads in ["1", "3"] {
        granular(&desk, "auto", &["-q", "--threads", threads]).done();
        seen.push(desk.read("auto/front.json"));
        seen.push(recommended(&desk, "auto").to_string().into_bytes());
    }
    assert_eq!(seen[..2], seen[2..]);
}

#[test]
fn edits_of_tasks_of_several_kernels_are_found_out() {
    type Edit = fn(&mut serde_json::Value);
    let desk = desk();
    granular(&desk, "stage", &["-q"]).done();
    let plan = recommended(&desk, "stage");
    let edits: [(Edit, &str); 8] = [
        (
            |plan| {
                drop(
                    plan["tasks"][0]["kernels_behind"]
                        .as_array_mut()
                        .unwrap()
                        .pop(),
                );
            },
            "tasks[0]: kernels is 8, but 9 follows",
        ),
        (
            |plan| {
                plan["tasks"][0]["operators"]
                    .as_array_mut()
                    .unwrap()
                    .swap(0, 1);
            },
            "it reads what a later operator of the task writes",
        ),
        (
            |plan| {
                plan["tasks"][0]["kernels_behind"]
                    .as_array_mut()
                    .unwrap()
                    .swap(0, 7);
            },
            "kernel.arguments, read",
        ),
        (
            |plan| drop(plan["tasks"][0].as_object_mut().unwrap().remove("fused")),
            "tasks[0]: fused is empty",
        ),
        (
            |plan| drop(plan.as_object_mut().unwrap().remove("granularity")),
            "tasks[0]: fused names",
        ),
        (
            |plan| plan["tasks"][0]["fused"]["beside"] = 2.into(),
            "tasks[0]: fused.beside is 2, but 1 follows",
        ),
        (
            |plan| plan["tasks"][0]["fused"]["dispatch_ns"] = 2.into(),
            "tasks[0]: fused.dispatch_ns",
        ),
        (
            |plan| plan["granularity"]["rule"] = "".into(),
            "granularity.rule is empty",
        ),
    ];
    for (edit, expected) in edits {
        let mut edited = plan.clone();
        edit(&mut edited);
        let (code, said) = judged(&desk, &edited);
        assert_eq!(code, 1, "{said}");
        assert!(said.contains(expected), "{expected}\n{said}");
    }
}

#[test]
fn kernels_that_no_processor_runs_all_of_stay_apart() {
    let desk = desk();
    desk.put(
        "costs.json",
        COSTS
            .replace(
                "\"exec_gpu\": 2e-4, \"exec_cpu\": 5e-4",
                "\"exec_cpu\": 5e-4",
            )
            .replace(
                "\"exec_gpu\": 2e-4, \"exec_cpu\": 9e-4",
                "\"exec_gpu\": 2e-4",
            ),
    );
    let text = granular(&desk, "stage", &[]).done();
    assert!(
        text.contains("Tasks by stage; 1 group left apart"),
        "{text}"
    );
    let plan = recommended(&desk, "stage");
    assert_eq!(plan["tasks"].as_array().map(Vec::len), Some(9));
}

#[test]
fn networks_have_no_granularity() {
    let desk = desk();
    desk.put(
        "net.onnx",
        include_bytes!("../../models/squeezenet1_1.onnx"),
    );
    let run = desk.run(&["net.onnx", "--soc", "vim3", "--granularity", "stage"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("--granularity"), "{}", run.err);
    assert!(run.err.contains("rule M12"), "{}", run.err);
}

#[test]
fn formats_are_converted_and_stay_the_same_graph() {
    let desk = Desk::new();
    desk.put(
        "sines.json",
        include_str!("../../examples/kernels/vadd_vsin.json"),
    );
    desk.put("board.json", SOC);
    desk.put("costs.json", COSTS);
    let digest = |file: &str| {
        let out = format!("{file}.out");
        let asked = [file, "--soc", "board.json", "--costs", "costs.json", "-q"];
        let more = ["--no-report", "--no-plots", "--out", &out];
        desk.run(&[&asked[..], &more[..]].concat()).done();
        recommended(&desk, &out)["model"]["graph_digest"].to_string()
    };
    desk.run(&["convert", "sines.json", "-o", "sines.graph"])
        .done();
    assert_snapshot!(String::from_utf8(desk.read("sines.graph")).unwrap());
    desk.run(&["convert", "sines.graph", "-o", "back.json"])
        .done();
    let expanded = [
        "convert",
        "sines.json",
        "--format",
        "expanded",
        "-o",
        "e.json",
    ];
    desk.run(&expanded).done();
    let first = digest("sines.json");
    assert_eq!(first.len(), 66, "64 digits in quotes: {first}");
    for file in ["sines.graph", "back.json", "e.json"] {
        assert_eq!(digest(file), first, "{file}");
    }
    // Conversion of the same file gives the same bytes.
    desk.run(&["convert", "back.json", "-o", "again.json"])
        .done();
    assert_eq!(desk.read("again.json"), desk.read("back.json"));
    // What a format cannot say is refused by name.
    desk.put("irregular.json", GRAPH);
    let told = desk
        .run(&["convert", "irregular.json", "-o", "irregular.graph"])
        .refused(2);
    assert!(told.contains("initial"), "{told}");
}

/// Our own form with one kernel `k` of one input and one output; `rest` follows the kernels.
fn own(size: &str, rest: &str) -> String {
    format!(
        r#"{{"schema": 1, "kernels": [{{"name": "k", "source": "k.cl", "function": "k", "global": [16],
  "arguments": [{{"name": "a", "in": "float", "size": {size}}}, {{"name": "b", "out": "float", "size": {size}}},
                {{"name": "h", "out": "int", "size": 16}}]}}],
 {rest}}}"#
    )
}

/// The refusal of a graph, beside its description of `k` if there is one.
fn inspected(text: &str, description: Option<String>) -> String {
    let desk = Desk::new();
    let file = if text.starts_with('{') {
        "app.json"
    } else {
        "app.graph"
    };
    desk.put(file, text);
    if let Some(description) = description {
        desk.put("k.json", description);
    }
    desk.run(&["inspect", file]).refused(2)
}

#[test]
fn wrong_graphs_are_refused_with_place_and_remedy() {
    let two = r#""launches": [{"name": "p", "kernel": "k"}, {"name": "q", "kernel": "k"}]"#;
    let edge = |from: &str, to: &str| {
        own(
            "16",
            &format!(r#"{two}, "edges": [{{"from": "{from}", "to": "{to}"}}]"#),
        )
    };
    let info = |positions: [u32; 2]| {
        format!(
            r#"{{"src": "k.cl", "name": "k", "workDimension": 1, "globalWorkSize": "[16]",
"inputBuffers": [{{"type": "float", "size": "n", "pos": {}}}], "outputBuffers": [{{"type": "float", "size": "n", "pos": {}}}]}}"#,
            positions[0], positions[1]
        )
    };
    let graph = |n: &str| format!("0 k.json {{\"n\": {n}}}\n---\n---\n");
    let cases = [
        (
            "an unknown kernel",
            own("16", r#""launches": [{"name": "p", "kernel": "z"}]"#),
            None,
        ),
        ("a description that is not there", graph("16"), None),
        ("positions that clash", graph("16"), Some(info([0, 0]))),
        (
            "a position that is missing",
            graph("16"),
            Some(info([0, 2])),
        ),
        (
            "a size without a value",
            own("\"m*16\"", r#""launches": [{"name": "p", "kernel": "k"}]"#),
            None,
        ),
        (
            "a size that is no expression",
            own("\"16*\"", r#""launches": [{"name": "p", "kernel": "k"}]"#),
            None,
        ),
        (
            "a size that overflows",
            own(
                "\"999999999999*999999999999*999999999999*999999999999\"",
                r#""launches": [{"name": "p", "kernel": "k"}]"#,
            ),
            None,
        ),
        (
            "a size beyond all memory",
            own(
                "\"9999999999999\"",
                r#""launches": [{"name": "p", "kernel": "k"}]"#,
            ),
            None,
        ),
        (
            "a division by zero",
            own(
                "\"16/(4-4)\"",
                r#""launches": [{"name": "p", "kernel": "k"}]"#,
            ),
            None,
        ),
        ("an edge from nowhere", edge("z.b", "q.a"), None),
        ("an edge between types", edge("p.h", "q.a"), None),
        ("an edge from what is read", edge("p.a", "q.a"), None),
        (
            "an edge between sizes",
            own(
                "\"n\"",
                r#""launches": [{"name": "p", "kernel": "k", "symbols": {"n": 16}}, {"name": "q", "kernel": "k", "symbols": {"n": 32}}], "edges": [{"from": "p.b", "to": "q.a"}]"#,
            ),
            None,
        ),
        (
            "a circle",
            own(
                "16",
                &format!(
                    r#"{two}, "edges": [{{"from": "p.b", "to": "q.a"}}, {{"from": "q.b", "to": "p.a"}}]"#
                ),
            ),
            None,
        ),
        ("what is no graph", "{\"schema\": 2}".to_owned(), None),
    ];
    let mut told = String::new();
    for (what, text, description) in cases {
        let picture = inspected(&text, description);
        told.extend(["## ", what, "\n\n", &picture, "\n"]);
    }
    assert_snapshot!(told);
}

#[test]
fn costs_that_do_not_fit_are_refused() {
    let desk = desk().with_model("squeezenet1_1.onnx");
    desk.put("few.json", r#"{"vsin": {"exec_gpu": 1e-4}}"#);
    desk.put("wrong.json", r#"{"vsin": {"exec_gpu": -1}}"#);
    let mut told = String::new();
    for costs in ["few.json", "wrong.json", "nowhere.json"] {
        told += &desk.run(&[&MAP[..4], &[costs]].concat()).refused(2);
    }
    told += &desk
        .run(&["irregular.json", "--soc", "board.json"])
        .refused(2);
    let network = [
        "squeezenet1_1.onnx",
        "--soc",
        "vim3",
        "--costs",
        "costs.json",
    ];
    told += &desk.run(&network).refused(2);
    assert_snapshot!(told);
}

/// A schedule of two kernels on two queues.
const SCHEDULE: &str = r#"{
    "schema": 1, "kind": "schedule", "graph": "g", "policy": "clustering",
    "devices": [{"name": "gpu", "device": "d", "queues": 2, "kernels": 2}],
    "kernels": 2, "components": 1, "frames": 5,
    "total_ns": 3000000, "device_span_ns": 2500000, "overhead_ns": 500000, "host_ns": 100000,
    "commands": [
        {"kernel": "one", "function": "f", "component": 0, "what": "launch", "device": "gpu", "queue": 0, "start_ns": 200000, "end_ns": 1200000},
        {"kernel": "two", "function": "g", "component": 0, "what": "launch", "device": "gpu", "queue": 1, "start_ns": 1300000, "end_ns": 2700000}
    ]
}"#;

#[test]
fn a_measured_schedule_is_drawn() {
    let desk = Desk::new();
    desk.put("s.json", SCHEDULE);
    assert_eq!(desk.run(&["plot", "s.json"]).done(), "s-schedule.svg\n");
    let picture = String::from_utf8(desk.read("s-schedule.svg")).expect("pictures are text");
    assert!(
        picture.contains("total time 3.00 ms, device span 2.50 ms"),
        "{picture}"
    );
    desk.run(&["plot", "s.json", "-o", "s.png"]).done();
    assert_eq!(desk.read("s.png")[1..4], *b"PNG");
    let other = SCHEDULE.replace("clustering\"", "heft\", \"rule\": \"branch\"");
    desk.put("heft.json", &other);
    let several = ["plot", "s.json", "heft.json", "-o", "several.svg"];
    desk.run(&several).done();
    let picture = String::from_utf8(desk.read("several.svg")).expect("pictures are text");
    for title in ["g by clustering", "g by heft, tasks by branch"] {
        assert!(picture.contains(title), "{picture}");
    }
    desk.put(
        "front.json",
        r#"{"schema":1,"kind":"fidelity","points":[]}"#,
    );
    desk.put(
        "torn.json",
        SCHEDULE
            .replace("\"queue\": 1", "\"queue\": 7")
            .replace("\"end_ns\": 1200000", "\"end_ns\": 1"),
    );
    let mut told = String::new();
    for arguments in [
        &["plot", "torn.json"][..],
        &["plot", "s.json", "--kind", "gantt"],
        &["plot", "s.json", "--measured", "s.json"],
        &["plot", "s.json", "front.json"],
        &["check", "s.json", "--model", "s.json", "--soc", "vim3"],
    ] {
        told += &desk.run(arguments).refused(2);
    }
    assert_snapshot!(told);
}
