//! The command line as users meet it: help, tables, pictures of errors, exit codes, and what is written when.

use std::io::Read;
use std::process::Stdio;

use insta::assert_snapshot;
use paracompile_testkit::onnx::{Dim, Graph, dtype, node, value, zeros};
use serde_json::Value;

use crate::command::{Desk, Run};

const GOOGLENET: &str = "googlenet.onnx";

fn profile() -> Value {
    let text = std::fs::read_to_string("profiles/vim3.json").expect("the profile is committed");
    serde_json::from_str(&text).expect("the profile is JSON")
}

/// The built-in profile after a change.
fn changed(change: impl FnOnce(&mut Value)) -> String {
    let mut profile = profile();
    change(&mut profile);
    profile.to_string()
}

#[test]
fn help_of_every_command() {
    let desk = Desk::new();
    for (name, arguments) in [
        ("help", &["--help"][..]),
        ("help_short", &["-h"]),
        ("help_inspect", &["inspect", "--help"]),
        ("help_soc", &["soc", "--help"]),
        ("help_costs", &["costs", "--help"]),
        ("help_calibrate", &["calibrate", "--help"]),
        ("help_simulate", &["simulate", "--help"]),
        ("help_plot", &["plot", "--help"]),
        ("help_check", &["check", "--help"]),
        ("help_compare", &["compare", "--help"]),
        ("help_report", &["report", "--help"]),
        ("help_solve", &["solve", "--help"]),
        ("help_soc_new", &["soc", "new", "--help"]),
        ("help_soc_show", &["soc", "show", "--help"]),
    ] {
        assert_snapshot!(name, desk.run(arguments).done());
    }
}

#[test]
fn the_table_of_googlenet() {
    let desk = Desk::new().with_model(GOOGLENET);
    let run = desk.run(&[GOOGLENET, "--soc", "vim3"]);
    assert_eq!(run.err, "");
    assert_snapshot!(run.done());
    let written = desk.files("output/googlenet-vim3");
    for name in [
        "front.json",
        "pareto.svg",
        "gantt-recommended.svg",
        "report.html",
    ] {
        assert!(written.iter().any(|(file, _)| file == name), "{name}");
    }
}

#[test]
fn what_is_within_the_gap_that_is_allowed_is_not_proven_further() {
    const BERT: &str = "bert_base.onnx";
    let desk = Desk::new().with_model(BERT);
    let arguments = [BERT, "--soc", "vim3", "--no-plots", "--no-report"];
    let run = desk.run(&[&arguments[..], &["--gap", "5%", "-o", "o"]].concat());
    let told = run.done();
    assert!(
        told.contains("Every plan is within the gap of 5% that is allowed; the worst has "),
        "{told}"
    );
    let mut plans = desk.files("o/plans");
    assert!(plans.len() > 10, "{}", plans.len());
    for (file, bytes) in plans.drain(..) {
        let plan: Value = serde_json::from_slice(&bytes).expect("plans are JSON");
        let proof = &plan["proof"];
        let (value, bound) = (&proof["value_ns"], &proof["bound_ns"]);
        let (value, bound) = (value.as_f64(), bound.as_f64());
        assert!(bound >= value.map(|value| value * 0.95), "{file}");
        for stage in plan["stages"].as_array().expect("stages are a list") {
            let method = stage["proof"]["method"].as_str().expect("a text");
            assert!(!method.contains("bound by"), "{file}: {method}");
        }
    }
}

#[test]
fn an_inspection_of_googlenet() {
    let desk = Desk::new().with_model(GOOGLENET);
    assert_snapshot!(desk.run(&["inspect", GOOGLENET]).done());
    let json = desk.run(&["inspect", GOOGLENET, "--json"]).done();
    let json: Value = serde_json::from_str(&json).expect("--json prints JSON");
    assert_eq!(json["operators"], 139);
    assert_eq!(json["folded"]["constants"], 64);
    let dot = desk.run(&["inspect", GOOGLENET, "--dot"]).done();
    assert!(dot.starts_with("digraph"), "{dot}");
}

#[test]
fn json_alone_goes_to_standard_output_and_quiet_prints_nothing() {
    let desk = Desk::new().with_model(GOOGLENET);
    let arguments = [GOOGLENET, "--soc", "vim3", "--no-plots", "--out", "o"];
    let json = desk.run(&[&arguments[..], &["--json"]].concat());
    assert_eq!(json.err, "");
    let front: Value = serde_json::from_str(&json.done()).expect("--json prints JSON");
    let written = std::fs::read(desk.path("o/front.json")).expect("the front is written");
    assert_eq!(
        front,
        serde_json::from_slice::<Value>(&written).expect("it is JSON")
    );
    let quiet = desk.run(&[&arguments[..], &["--quiet"]].concat());
    assert_eq!(
        (quiet.code, quiet.out.as_str(), quiet.err.as_str()),
        (0, "", "")
    );
}

#[test]
fn a_second_run_leaves_nothing_of_the_first() {
    let desk = Desk::new().with_model(GOOGLENET);
    let run = |out: &str, more: &[&str]| {
        let base = [GOOGLENET, "--soc", "vim3", "--quiet", "--out", out];
        desk.run(&[&base[..], more].concat()).done();
        desk.files(out)
    };
    run("o", &[]);
    let smaller = ["--processors", "big,gpu", "--no-plots"];
    assert_eq!(run("o", &smaller), run("fresh", &smaller));
}

#[test]
fn bad_models_are_refused() {
    let desk = Desk::new().with_model(GOOGLENET);
    let whole = std::fs::read(desk.path(GOOGLENET)).expect("it was put there");
    desk.put("truncated.onnx", &whole[..30_000]);
    desk.put("empty.onnx", "");
    desk.put("text.onnx", "hello world, this is no model\n");
    std::fs::create_dir(desk.path("folder.onnx")).expect("folders can be made");
    let before = desk.names();
    let mut pictures = String::new();
    for name in [
        "truncated.onnx",
        "empty.onnx",
        "text.onnx",
        "folder.onnx",
        "missing.onnx",
    ] {
        pictures.push_str(&desk.run(&[name, "--soc", "vim3"]).refused(2));
        let inspected = desk.run(&["inspect", name]).refused(2);
        assert!(pictures.ends_with(&inspected), "{inspected}");
    }
    assert_snapshot!(pictures);
    assert_eq!(desk.names(), before, "a refused model leaves no output");
}

#[cfg(unix)]
#[test]
fn a_model_that_is_no_file_is_refused() {
    let desk = Desk::new();
    let made = std::process::Command::new("mkfifo")
        .arg(desk.path("pipe.onnx"))
        .status();
    for name in ["/dev/null", "pipe.onnx"] {
        if name == "pipe.onnx" && !made.as_ref().is_ok_and(std::process::ExitStatus::success) {
            continue;
        }
        let picture = desk.run(&[name, "--soc", "vim3"]).refused(2);
        assert!(picture.contains("is not a regular file"), "{picture}");
    }
}

#[test]
fn bad_usage_is_refused() {
    let desk = Desk::new().with_model(GOOGLENET);
    desk.put("a-file", "");
    let mut pictures = String::new();
    for arguments in [
        &[][..],
        &["--soc", "vim3"],
        &[GOOGLENET],
        &["inspct", GOOGLENET],
        &[GOOGLENET, "inspect"],
        &[GOOGLENET, "--soc", "vim4"],
        &[GOOGLENET, "--soc", "vim3", "--out", "a-file"],
        &[GOOGLENET, "--soc", "vim3", "--processors", "big,bgi"],
        &[GOOGLENET, "--soc", "vim3", "--processors", ""],
        &[GOOGLENET, "--soc", "vim3", "--dim", "n=1"],
        &[GOOGLENET, "--soc", "vim3", "--dim", "n=1", "--dim", "n=2"],
        &[GOOGLENET, "--soc", "vim3", "--dim", "n"],
        &[GOOGLENET, "--soc", "vim3", "--gap", "nan"],
        &[GOOGLENET, "--soc", "vim3", "--time-limit", "-1"],
        &[GOOGLENET, "--soc", "vim3", "--max-stages", "0"],
        &[GOOGLENET, "--soc", "vim3", "--objective", "speed"],
        &[GOOGLENET, "--soc", "vim3", "--explain", "nowhere"],
        &[
            GOOGLENET,
            "--soc",
            "vim3",
            "--explain",
            "inception3a/branch2",
        ],
        &[GOOGLENET, "--soc", "vim3", "--costs", "a-file"],
        &["soc", "show", "a-file"],
        &["check", ".", "--model", GOOGLENET, "--soc", "vim3"],
        &["simulate", GOOGLENET],
    ] {
        let picture = desk.run(arguments).refused(2);
        pictures.push_str("$ paracompile ");
        pictures.push_str(&arguments.join(" "));
        pictures.push('\n');
        pictures.push_str(&picture);
        pictures.push('\n');
    }
    assert_snapshot!(pictures);
    assert_eq!(desk.names(), ["a-file", GOOGLENET]);
}

#[test]
fn bad_profiles_are_refused() {
    let desk = Desk::new().with_model(GOOGLENET);
    let point = |profile: &mut Value, key: &str, value: Value| {
        profile["processors"][0]["operating_points"][0][key] = value;
    };
    desk.put(
        "negative.json",
        changed(|it| point(it, "static_w", (-1).into())),
    );
    desk.put(
        "missing.json",
        changed(|it| point(it, "static_w", Value::Null)),
    );
    desk.put(
        "infinite.json",
        changed(|it| point(it, "static_w", "x".into())).replace("\"x\"", "1e999"),
    );
    desk.put("schema.json", changed(|it| it["schema"] = 7.into()));
    desk.put(
        "unreachable.json",
        changed(|it| {
            let links = it["links"].as_array_mut().expect("links are a list");
            links.retain(|link| link["to"] != "gpu");
        }),
    );
    desk.put("truncated.json", &profile().to_string()[..500]);
    let mut pictures = String::new();
    for name in [
        "negative",
        "missing",
        "infinite",
        "schema",
        "unreachable",
        "truncated",
        "absent",
    ] {
        let name = format!("{name}.json");
        let picture = desk.run(&["soc", "check", &name]).refused(2);
        pictures.push_str(&picture);
        if name != "absent.json" {
            assert_eq!(desk.run(&[GOOGLENET, "--soc", &name]).refused(2), picture);
        }
    }
    desk.put(
        "poor.json",
        changed(|it| {
            for processor in it["processors"]
                .as_array_mut()
                .expect("processors are a list")
            {
                let models = &mut processor["operating_points"][0]["models"];
                models
                    .as_array_mut()
                    .expect("models are a list")
                    .retain(|model| model["class"] != "gemm");
            }
        }),
    );
    pictures.push_str(&desk.run(&[GOOGLENET, "--soc", "poor.json"]).refused(2));
    assert_snapshot!(pictures);
    assert!(!desk.path("output").exists());
}

#[test]
fn a_network_that_does_not_fit_is_a_no_and_leaves_no_directory() {
    let desk = Desk::new().with_model(GOOGLENET);
    desk.put(
        "small.json",
        changed(|it| {
            for memory in it["memories"].as_array_mut().expect("memories are a list") {
                memory["bytes"] = 1000.into();
            }
        }),
    );
    assert_snapshot!(
        desk.run(&[GOOGLENET, "--soc", "small.json", "--out", "a/b"])
            .refused(1)
    );
    assert!(!desk.path("a").exists());
}

#[test]
fn an_explanation_has_no_json() {
    let desk = Desk::new().with_model(GOOGLENET);
    let told = desk
        .run(&[GOOGLENET, "--soc", "vim3", "--explain", "#0", "--json"])
        .refused(2);
    assert!(told.contains("--explain answers in words"), "{told}");
}

#[test]
fn more_processors_than_can_be_searched_are_refused_before_the_search() {
    let desk = Desk::new().with_model(GOOGLENET);
    desk.put(
        "seven.json",
        changed(|it| {
            let little = it["processors"][1].clone();
            let processors = it["processors"]
                .as_array_mut()
                .expect("processors are a list");
            for index in 0..4 {
                let mut one = little.clone();
                one["name"] = format!("little{index}").into();
                processors.push(one);
            }
        }),
    );
    let told = desk
        .run(&[GOOGLENET, "--soc", "seven.json", "--out", "o"])
        .refused(2);
    assert!(
        told.contains("7 processors") && told.contains("--processors"),
        "{told}"
    );
    assert!(!desk.path("o").exists());
}

#[test]
fn plans_are_checked_and_strangers_refused() {
    let desk = Desk::new()
        .with_model(GOOGLENET)
        .with_model("squeezenet1_1.onnx");
    desk.run(&[GOOGLENET, "--soc", "vim3", "-q", "--no-plots", "--out", "o"])
        .done();
    let (good, plan) = desk
        .files("o")
        .into_iter()
        .find(|(file, _)| file.starts_with("plans"))
        .expect("there is a plan");
    let good = format!("o/{good}");
    let mut plan: Value = serde_json::from_slice(&plan).expect("plans are JSON");
    plan["schema"] = 2.into();
    desk.put("newer.json", plan.to_string());
    plan["schema"] = 1.into();
    plan["soc"]["name"] = "board".into();
    desk.put("stranger.json", plan.to_string());
    plan["soc"]["name"] = "vim3".into();
    let begin = plan["tasks"][3]["start_ns"]
        .as_u64()
        .expect("starts are numbers");
    plan["tasks"][3]["start_ns"] = (begin + 5).into();
    desk.put("wrong.json", plan.to_string());
    let check =
        |path: &str, model: &str| desk.run(&["check", path, "--model", model, "--soc", "vim3"]);

    let correct = check("o", GOOGLENET).done();
    assert!(correct.ends_with(" plans correct\n"), "{correct}");
    assert!(correct.lines().count() <= 13, "{correct}");
    let one = check(&good, GOOGLENET).done();
    assert_eq!(one, format!("{good}: correct\n"));
    let wrong = check("wrong.json", GOOGLENET);
    assert_eq!(wrong.code, 1);
    assert_snapshot!("violations", format!("{}{}", wrong.out, wrong.err));
    let mut pictures = check(&good, "squeezenet1_1.onnx").refused(2);
    for path in [
        "newer.json",
        "stranger.json",
        "o/front.json",
        "missing.json",
    ] {
        pictures.push_str(&check(path, GOOGLENET).refused(2));
    }
    assert_snapshot!("strangers", pictures);
}

#[test]
fn a_simulation_says_what_the_plan_says() {
    let desk = Desk::new().with_model(GOOGLENET);
    desk.run(&[GOOGLENET, "--soc", "vim3", "-q", "--no-plots", "--out", "o"])
        .done();
    let plan = "o/plans/04-hybrid-gpu_big+little.json";
    assert_snapshot!(
        desk.run(&["simulate", plan, "--trace", "trace.json"])
            .done()
    );
    let trace = std::fs::read(desk.path("trace.json")).expect("the trace is written");
    serde_json::from_slice::<Value>(&trace).expect("a trace is JSON");
    let json = desk.run(&["simulate", plan, "--json", "--host"]).done();
    serde_json::from_str::<Value>(&json).expect("--json prints JSON");
}

#[test]
fn costs_that_are_written_and_read_back_change_nothing_but_the_digest() {
    let desk = Desk::new().with_model(GOOGLENET);
    let run = |out: &str, more: &[&str]| {
        let base = [
            GOOGLENET,
            "--soc",
            "vim3",
            "-q",
            "--no-plots",
            "--no-report",
        ];
        let base = [&base[..], &["--out", out]].concat();
        desk.run(&[&base[..], more].concat()).done();
        desk.files(out)
    };
    desk.run(&["costs", GOOGLENET, "--soc", "vim3", "-o", "costs.json"])
        .done();
    let without_digest = |files: Vec<(String, Vec<u8>)>| -> Vec<(String, Value)> {
        let parsed = files.into_iter().map(|(file, bytes)| {
            let mut value: Value = serde_json::from_slice(&bytes).expect("all files are JSON");
            if value["soc"].is_object() {
                value["soc"]["digest"] = Value::Null;
            }
            (file, value)
        });
        parsed.collect()
    };
    let modelled = without_digest(run("modelled", &[]));
    let read_back = without_digest(run("read-back", &["--costs", "costs.json"]));
    assert_eq!(modelled, read_back);
    let check = ["check", "read-back", "--model", GOOGLENET, "--soc", "vim3"];
    desk.run(&[&check[..], &["--costs", "costs.json"]].concat())
        .done();
    let forgotten = desk.run(&check);
    assert_eq!(forgotten.code, 1);
    assert!(forgotten.err.contains("--costs"), "{}", forgotten.err);
    let told = forgotten.out.matches("digest is").count();
    assert_eq!(told, 1, "{}", forgotten.out);
    // Figures that follow from other costs would bury the one line that says why.
    assert!(forgotten.out.lines().count() <= 2, "{}", forgotten.out);
}

/// A product whose rows are a symbolic dimension.
fn of_any_batch() -> Vec<u8> {
    let graph = Graph {
        nodes: vec![node("MatMul", &["x", "w"], &["y"], &[])],
        constants: vec![zeros("w", &[64, 64])],
        inputs: vec![value(
            "x",
            dtype::FLOAT,
            &[Dim::Symbol("batch"), Dim::Value(64)],
        )],
        outputs: vec![value(
            "y",
            dtype::FLOAT,
            &[Dim::Symbol("batch"), Dim::Value(64)],
        )],
        ..Graph::default()
    };
    graph.model(17)
}

/// The digest of a graph does not hold what its dimensions are bound to, so costs say it.
#[test]
fn costs_measured_with_other_dimensions_are_refused() {
    let desk = Desk::new();
    desk.put("odd.onnx", of_any_batch());
    let small = ["costs", "odd.onnx", "--soc", "vim3", "--dim", "batch=2"];
    desk.run(&[&small[..], &["-o", "costs.json"]].concat())
        .done();
    let map = ["odd.onnx", "--soc", "vim3", "-q", "--costs"];
    let with = |batch: &str, costs: &str| desk.run(&[&map[..], &[costs, "--dim", batch]].concat());
    with("batch=2", "costs.json").done();
    let said = with("batch=64", "costs.json").refused(2);
    for part in [
        "costs.json: the measured costs are for batch=2, but the model is read with batch=64",
        "pararun profile … --dim 'batch=64', or map with --dim 'batch=2'",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let mut costs: Value = serde_json::from_slice(&desk.read("costs.json")).expect("it is JSON");
    costs
        .as_object_mut()
        .expect("it is an object")
        .remove("dims");
    desk.put("old.json", costs.to_string());
    let said = with("batch=2", "old.json").refused(2);
    assert!(said.contains("do not say for which dimensions"), "{said}");
}

/// An interrupted measurement leaves operators out.
#[test]
fn operators_without_a_measured_cost_are_counted() {
    let desk = Desk::new();
    desk.put("odd.onnx", of_any_batch());
    let base = ["odd.onnx", "--soc", "vim3", "--dim", "batch=2"];
    let costs = [
        "costs",
        "odd.onnx",
        "--soc",
        "vim3",
        "--dim",
        "batch=2",
        "-o",
        "costs.json",
    ];
    desk.run(&costs).done();
    let with = |costs: &Value| {
        desk.put("costs.json", costs.to_string());
        let run = desk.run(&[&base[..], &["--costs", "costs.json"]].concat());
        assert_eq!(run.code, 0, "{}", run.err);
        run.err
    };
    let mut costs: Value = serde_json::from_slice(&desk.read("costs.json")).expect("it is JSON");
    assert!(!with(&costs).contains("has no cost"));
    let entries = costs["entries"].as_array_mut().expect("it is a list");
    entries.retain(|entry| entry["processor"] == "big");
    entries[0]["source"] = "measured".into();
    let said = with(&costs);
    assert!(
        said.contains("costs.json has no cost of 1 operator on little and 1 operator on gpu: the profile estimates them"),
        "{said}"
    );
}

/// Without a meter all powers are zero, and nothing is known of energy.
#[test]
fn energies_that_nobody_knows_are_no_figures() {
    fn without_power(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if name.ends_with("_w") && !value.is_object() {
                        *value = serde_json::json!({ "value": 0, "source": "assumed", "note": "no meter" });
                    } else if name == "dynamic_w" {
                        for power in value.as_object_mut().expect("powers by class").values_mut() {
                            *power = serde_json::json!({ "value": 0, "source": "assumed", "note": "no meter" });
                        }
                    } else if name.ends_with("_w") {
                        *value = serde_json::json!({ "value": 0, "source": "assumed", "note": "no meter" });
                    } else {
                        without_power(value);
                    }
                }
            }
            Value::Array(values) => values.iter_mut().for_each(without_power),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let desk = Desk::new().with_model("squeezenet1_1.onnx");
    desk.put("unmetered.json", changed(without_power));
    let run = desk.run(&[
        "squeezenet1_1.onnx",
        "--soc",
        "unmetered.json",
        "--out",
        "out",
    ]);
    assert!(run.err.contains("energies are unknown"), "{}", run.err);
    let table = run.done();
    assert!(
        !table.contains("min-energy") && !table.contains("0 mJ"),
        "{table}"
    );
    let picture = String::from_utf8(desk.read("out/pareto.svg")).expect("pictures are text");
    assert!(
        picture.contains("energies are unknown"),
        "no panel of zeros"
    );
    let asked = [
        "squeezenet1_1.onnx",
        "--soc",
        "unmetered.json",
        "--objective",
        "energy",
    ];
    let said = desk.run(&asked).refused(2);
    assert!(said.contains("all powers of"), "{said}");
}

#[test]
fn files_without_a_picture_are_told_what_they_are() {
    let desk = Desk::new().with_model("squeezenet1_1.onnx");
    desk.put("m.json", r#"{"schema": 1, "kind": "measured"}"#);
    desk.put(
        "vs.json",
        r#"{"schema": 1, "predictions": "", "plans": []}"#,
    );
    for (file, kind, remedy) in [
        (
            "m.json",
            "what pararun run measured of a plan",
            "plot PLAN --measured FILE",
        ),
        ("vs.json", "what pararun validate found", "--fidelity"),
        ("squeezenet1_1.onnx", "a model", "paracompile MODEL --soc"),
    ] {
        let said = desk.run(&["plot", file]).refused(2);
        assert!(said.contains(&format!("{file}: this is {kind}")), "{said}");
        assert!(said.contains(remedy), "{said}");
    }
    let said = desk
        .run(&["check", "m.json", "--model", "m.json", "--soc", "vim3"])
        .refused(2);
    assert!(
        said.contains("m.json: this is what pararun run measured of a plan"),
        "{said}"
    );
}

#[test]
fn measurements_in_a_file_of_costs_are_not_overwritten_unasked() {
    let desk = Desk::new().with_model(GOOGLENET);
    let costs = ["costs", GOOGLENET, "--soc", "vim3", "-o", "costs.json"];
    desk.run(&costs).done();
    let fresh = desk.read("costs.json");
    desk.run(&costs).done();
    let mut corrected: Value = serde_json::from_slice(&fresh).expect("it is JSON");
    corrected["entries"][0]["time_s"] = 0.5.into();
    corrected["entries"][0]["source"] = "measured".into();
    for (text, told) in [
        (corrected.to_string(), "holds 1 measurement that is not"),
        ("{".to_owned(), "cannot be told"),
    ] {
        desk.put("costs.json", &text);
        let picture = desk.run(&costs).refused(2);
        assert!(picture.contains(told), "{picture}");
        assert!(picture.contains("--force"), "{picture}");
        assert_eq!(desk.read("costs.json"), text.as_bytes());
    }
    desk.run(&[&costs[..], &["--force"]].concat()).done();
    assert_eq!(desk.read("costs.json"), fresh);
}

#[test]
fn a_run_over_another_one_says_what_it_replaces() {
    let desk = Desk::new().with_model("squeezenet1_1.onnx");
    let run = |more: &[&str]| {
        let base = ["squeezenet1_1.onnx", "--soc", "vim3", "--no-report"];
        let run = desk.run(&[&base[..], more].concat());
        assert_eq!(run.code, 0, "{}", run.err);
        run.err
    };
    assert_eq!(run(&[]), "");
    assert_eq!(run(&[]), "", "the same again replaces nothing");
    let told = run(&["--processors", "big,gpu"]);
    assert!(
        told.contains("replaces an earlier run of `squeezenet1_1` on `vim3` in output/squeezenet1_1-vim3, on big, gpu, little;"),
        "{told}"
    );
    desk.run(&[
        "costs",
        "squeezenet1_1.onnx",
        "--soc",
        "vim3",
        "-o",
        "costs.json",
    ])
    .done();
    let told = run(&["--processors", "big,gpu", "--costs", "costs.json"]);
    assert!(
        told.contains("with another profile or other costs;"),
        "{told}"
    );
    assert_eq!(run(&["--quiet"]), "");
}

#[test]
fn a_node_that_is_no_operator_is_explained_as_what_it_is() {
    let desk = Desk::new().with_model(GOOGLENET);
    let picture = desk
        .run(&[GOOGLENET, "--soc", "vim3", "--explain", "#0"])
        .refused(2);
    assert!(
        picture.contains("`#0` (ConstantOfShape) is a constant"),
        "{picture}"
    );
}

#[test]
fn a_bad_name_for_a_sketch_is_told_once() {
    let desk = Desk::new();
    let picture = desk
        .run(&[
            "soc",
            "new",
            "my board",
            "--processor",
            "io=cpu:4x2GHz",
            "--processor",
            "npu=npu:6TOPS",
            "-o",
            "board.json",
        ])
        .refused(2);
    assert_snapshot!(picture);
    assert!(!desk.path("board.json").exists());
}

#[test]
fn a_processor_that_cannot_run_a_network_alone_is_no_baseline_and_says_why() {
    let desk = Desk::new().with_model("squeezenet1_1.onnx");
    let sketch = ["soc", "new", "board", "-o", "board.json"];
    let processors = [
        "--processor",
        "big=cpu:4x2GHz",
        "--processor",
        "npu=npu:6TOPS",
    ];
    desk.run(&[&sketch[..], &processors].concat()).done();
    desk.put("board.json", without_concat(&desk.read("board.json")));
    let table = desk
        .run(&["squeezenet1_1.onnx", "--soc", "board.json"])
        .done();
    assert!(
        table.contains("  npu alone cannot run: concat\n"),
        "{table}"
    );
}

/// A profile whose second processor cannot join tensors.
fn without_concat(profile: &[u8]) -> String {
    let mut profile: Value = serde_json::from_slice(profile).expect("it is JSON");
    let point = &mut profile["processors"][1]["operating_points"][0];
    point["dynamic_w"]
        .as_object_mut()
        .expect("powers are an object")
        .remove("concat");
    point["models"]
        .as_array_mut()
        .expect("models are a list")
        .retain(|model| model["class"] != "concat");
    profile.to_string()
}

#[test]
fn built_in_profiles_are_listed_shown_and_correct() {
    let desk = Desk::new();
    assert_snapshot!(desk.run(&["soc", "list"]).done());
    let shown = desk.run(&["soc", "show", "vim3"]).done();
    desk.put("board.json", shown);
    let checked = desk.run(&["soc", "check", "board.json"]).done();
    assert!(checked.starts_with("board.json: correct\n"), "{checked}");
}

#[test]
fn a_built_in_profile_is_shown_as_under_a_framework_that_fuses() {
    let desk = Desk::new();
    let shown = desk
        .run(&["soc", "show", "vim3", "--fuses", "activation,batch_norm"])
        .done();
    let profile: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(profile["name"], "vim3-fusing");
    for processor in profile["processors"].as_array().unwrap() {
        assert_eq!(
            processor["fuses"],
            serde_json::json!(["activation", "batch_norm"])
        );
    }
    desk.put("board.json", &shown);
    desk.run(&["soc", "check", "board.json"]).done();
}

/// Two networks of activations: 20 µs and a fifth of a nanosecond a byte.
fn measurements() -> String {
    let mut text =
        "graph,processor,op_index,op_type,in_shape_CHW,out_shape_CHW,time_us\n".to_owned();
    for network in ["A", "B"] {
        for (index, channels) in [1_u32, 2, 4, 8, 16, 32].into_iter().enumerate() {
            let shape = format!("{channels}x64x64");
            let time = 20.0 + 2e-4 * f64::from(channels * 64 * 64 * 4);
            let row = [
                network,
                "cores",
                &index.to_string(),
                "relu",
                &shape,
                &shape,
                &time.to_string(),
            ];
            text.push_str(&row.join(","));
            text.push('\n');
        }
    }
    text
}

#[test]
fn a_profile_is_calibrated_and_judged() {
    let desk = Desk::new();
    desk.put("op_times.csv", measurements());
    let arguments = [
        "calibrate",
        "--data",
        ".",
        "--soc",
        "vim3",
        "--rename",
        "cores=big",
    ];
    let more = [
        "-o",
        "board.json",
        "--leave-one-out",
        "--report",
        "fidelity.json",
    ];
    let told = desk.run(&[&arguments[..], &more].concat()).done();
    assert!(told.contains("time of networks"), "{told}");
    assert!(told.contains("covered: neighbours"), "{told}");
    assert!(told.contains("little: nothing was measured"), "{told}");
    desk.run(&["soc", "check", "board.json"]).done();
    let read = |name| std::fs::read_to_string(desk.path(name)).unwrap();
    let profile: Value = serde_json::from_str(&read("board.json")).unwrap();
    let models = &profile["processors"][0]["operating_points"][0]["models"];
    let activation = models
        .as_array()
        .unwrap()
        .iter()
        .find(|model| model["class"] == "activation")
        .unwrap();
    assert_eq!(
        activation["features"],
        serde_json::json!(["output_bytes", "launch"])
    );
    assert_eq!(activation["coefficients"], serde_json::json!([2e-10, 2e-5]));
    let report: Value = serde_json::from_str(&read("fidelity.json")).unwrap();
    assert_eq!(report["kind"], "fidelity");
    assert_eq!(report["points"].as_array().unwrap().len(), 2 * (6 + 1));
    // Both networks are the same, so every neighbour is the operator itself.
    let told = desk.run(&[&arguments[..], &["--leave-one-out", "--json"]].concat());
    let told: Value = serde_json::from_str(&told.done()).unwrap();
    let judged = &told["fidelity"][0];
    assert_eq!(judged["neighbours"], "applicable");
    for level in judged["levels"].as_array().unwrap() {
        let error = level["neighbours"]["covered"].as_f64().unwrap();
        assert!(error < 1e-9, "{level}");
    }
}

#[test]
fn a_quiet_calibration_prints_what_is_asked_for_and_names_its_profile() {
    let desk = Desk::new().with_model(GOOGLENET);
    desk.put("op_times.csv", measurements());
    let arguments = [
        "calibrate",
        "--data",
        ".",
        "--soc",
        "bst-a1000",
        "--rename",
        "cores=dsp0",
        "--quiet",
        "--name",
        "board-1",
        "-o",
        "board.json",
    ];
    let run = desk.run(&arguments);
    assert_eq!(run.err, "");
    assert_eq!(run.done(), "");
    let judged = desk
        .run(&[&arguments[..], &["--leave-one-out"]].concat())
        .done();
    assert!(judged.starts_with("Each network predicted"), "{judged}");
    // The profile is no longer made up altogether, but its powers are.
    let run = desk.run(&[
        "costs",
        GOOGLENET,
        "--soc",
        "board.json",
        "-o",
        "costs.json",
    ]);
    assert!(
        run.err
            .contains("note: powers of `board-1` are assumed: energies are examples"),
        "{}",
        run.err
    );
    run.done();
    let refused = [&arguments[..8], &["--name", "a/b"]].concat();
    let told = desk.run(&refused).refused(2);
    assert!(
        told.contains("`a/b` does not fit into file names"),
        "{told}"
    );
}

#[test]
fn a_calibration_writes_onto_none_of_its_inputs() {
    let desk = Desk::new();
    desk.put("op_times.csv", measurements());
    desk.put("base.json", include_str!("../../profiles/vim3.json"));
    let run = |more: &[&str]| {
        let mut arguments = vec!["calibrate", "--data", ".", "--soc", "base.json"];
        arguments.extend(["--rename", "cores=big"]);
        arguments.extend(more);
        desk.run(&arguments)
    };
    let told = run(&["-o", "./op_times.csv"]).refused(2);
    assert!(told.contains("file of the measurements"), "{told}");
    let told = run(&["--report", "base.json"]).refused(2);
    assert!(told.contains("the base profile"), "{told}");
    let told = run(&["-o", "x.json", "--report", "./x.json"]).refused(2);
    assert!(told.contains("the same file"), "{told}");
    assert!(!desk.path("x.json").exists());
    let told = run(&["--note", &"x".repeat(1001)]).refused(2);
    assert!(told.contains("1001 characters"), "{told}");
    run(&["-o", "base.json"]).done();
    desk.run(&["soc", "check", "base.json"]).done();
}

#[test]
fn measurements_that_cannot_be_used_are_refused() {
    let desk = Desk::new();
    let arguments = ["calibrate", "--data", ".", "--soc", "vim3"];
    desk.put("op_times.csv", "graph,processor,time_ms\nA,big,1\n");
    let told = desk.run(&arguments).refused(2);
    assert!(told.contains("`in_shape_CHW`"), "{told}");
    assert!(told.contains("docs/calibration.md"), "{told}");
    desk.put("op_times.csv", measurements());
    let told = desk.run(&arguments).refused(2);
    assert!(told.contains("cores=big"), "{told}");
}

#[test]
fn an_operator_is_explained() {
    let desk = Desk::new().with_model(GOOGLENET);
    let arguments = [
        GOOGLENET,
        "--soc",
        "vim3",
        "--quiet",
        "--no-plots",
        "--explain",
    ];
    let explained = desk.run(&[&arguments[..], &["/avgpool/GlobalAveragePool"]].concat());
    assert_snapshot!(explained.done());
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let desk = Desk::new().with_model("bert_base.onnx");
    let mut child = desk
        .command(&["inspect", "bert_base.onnx", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut byte = [0];
    let mut out = child.stdout.take().expect("it is piped");
    out.read_exact(&mut byte).expect("something is printed");
    drop(out);
    let run = Run::of(child.wait_with_output().expect("it ends"));
    assert_eq!((run.code, run.err.as_str()), (0, ""));
}

#[test]
fn everything_that_a_run_writes_can_be_drawn() {
    let desk = Desk::new().with_model(GOOGLENET);
    desk.run(&[GOOGLENET, "--soc", "vim3", "--out", "out", "-q"])
        .done();
    let front: Value = serde_json::from_slice(&desk.read("out/front.json")).unwrap();
    let plan = format!("out/{}", front["recommended"].as_str().unwrap());
    let stem = plan.trim_end_matches(".json").replace("out/plans/", "out/");
    // By default beside the front, whose next run replaces `plans`; the run itself has drawn the same.
    assert_eq!(
        desk.run(&["plot", "out/front.json"]).done(),
        "out/front-pareto.svg\n"
    );
    assert_eq!(
        desk.read("out/front-pareto.svg"),
        desk.read("out/pareto.svg")
    );
    assert_eq!(
        desk.run(&["plot", &plan]).done(),
        format!("{stem}-gantt.svg\n")
    );
    assert_eq!(
        desk.read(&format!("{stem}-gantt.svg")),
        desk.read("out/gantt-recommended.svg")
    );
    for kind in ["gantt", "stages", "graph"] {
        desk.run(&["plot", &plan, "--kind", kind, "-o", "a.png"])
            .done();
        assert_eq!(desk.read("a.png")[1..4], *b"PNG", "{kind}");
    }
    desk.run(&["plot", &plan, "--kind", "graph", "-o", "a.dot"])
        .done();
    assert!(desk.read("a.dot").starts_with(b"digraph plan {"));
    let point = r#"{"processor":"big","network":"n","level":"operator","quantity":"time","name":"c","class":"conv","covered":true,"measured":0.1,"predicted":0.12}"#;
    desk.put(
        "report.json",
        format!(r#"{{"schema":1,"kind":"fidelity","points":[{point}]}}"#),
    );
    assert_eq!(
        desk.run(&["plot", "report.json"]).done(),
        "report-fidelity.svg\n"
    );
}

#[test]
fn what_cannot_be_drawn_is_refused_by_name() {
    let desk = Desk::new().with_model("squeezenet1_1.onnx");
    desk.run(&["squeezenet1_1.onnx", "--soc", "vim3", "--out", "out", "-q"])
        .done();
    let front: Value = serde_json::from_slice(&desk.read("out/front.json")).unwrap();
    let plan = desk.read(&format!("out/{}", front["recommended"].as_str().unwrap()));
    desk.put("plan.json", plan);
    desk.put("other.json", "{}");
    desk.put("broken.json", "{\"tasks\": [");
    desk.put(
        "report.json",
        r#"{"schema":1,"kind":"fidelity","points":[{"processor":"big","network":"n","level":"operator","quantity":"time","name":"c","class":null,"covered":true,"measured":0,"predicted":1}]}"#,
    );
    let mut pictures = String::new();
    for arguments in [
        &["plot"][..],
        &["plot", "nowhere.json"],
        &["plot", "other.json"],
        &["plot", "broken.json"],
        &["plot", "report.json"],
        &["plot", "out/front.json", "--kind", "gantt"],
        &["plot", "plan.json", "--kind", "fidelity"],
        &["plot", "plan.json", "--kind", "pie"],
        &["plot", "plan.json", "-o", "a.pdf"],
        &["plot", "plan.json", "-o", "a.dot"],
        &["plot", "plan.json", "--kind", "graph", "-o", "a"],
        &["plot", "plan.json", "-o", "plan.json/a.svg"],
    ] {
        let picture = desk.run(arguments).refused(2);
        pictures.push_str("$ paracompile ");
        pictures.push_str(&arguments.join(" "));
        pictures.push('\n');
        pictures.push_str(&picture);
        pictures.push('\n');
    }
    assert_snapshot!(pictures);
}
