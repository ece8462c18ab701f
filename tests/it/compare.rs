//! `paracompile compare` as users meet it, and what must hold of every comparison.

use insta::assert_snapshot;
use serde_json::Value;

use crate::command::Desk;

const GOOGLENET: &str = "googlenet.onnx";
const SQUEEZENET: &str = "squeezenet1_1.onnx";

fn desk() -> Desk {
    Desk::new().with_model(GOOGLENET).with_model(SQUEEZENET)
}

fn json(desk: &Desk, arguments: &[&str]) -> Value {
    let out = desk.run(&[&["compare"], arguments, &["--json"]].concat());
    serde_json::from_str(&out.done()).expect("--json prints JSON")
}

/// A figure of a contender.
fn figure(comparison: &Value, name: &str, key: &str) -> f64 {
    let contenders = comparison["contenders"].as_array().expect("it is a list");
    let found = contenders
        .iter()
        .find(|contender| contender["name"] == name);
    found
        .and_then(|contender| contender[key].as_f64())
        .expect("the contender is there")
}

/// How many processors a contender of one stage uses.
fn processors(comparison: &Value, name: &str) -> usize {
    let contenders = comparison["contenders"].as_array().expect("it is a list");
    let found = contenders
        .iter()
        .find(|contender| contender["name"] == name)
        .expect("the contender is there");
    assert_eq!(found["stages"].as_array().map(Vec::len), Some(1));
    found["stages"][0]["processors"]
        .as_array()
        .expect("it is a list")
        .len()
}

#[test]
fn the_comparison_of_googlenet() {
    let run = desk().run(&["compare", GOOGLENET, "--soc", "vim3"]);
    assert_eq!(run.err, "");
    assert_snapshot!(run.done());
}

#[test]
fn two_models_end_with_their_means() {
    let desk = desk();
    let out = desk.run(&["compare", GOOGLENET, SQUEEZENET, "--soc", "vim3"]);
    let out = out.done();
    assert!(out.contains("Means over 2 models on vim3"), "{out}");
    let comparisons = json(&desk, &[GOOGLENET, SQUEEZENET, "--soc", "vim3"]);
    let changes: Vec<f64> = comparisons["comparisons"]
        .as_array()
        .expect("it is a list")
        .iter()
        .map(|it| {
            let relation = &it["relations"][0];
            assert_eq!(relation["pair"], "para-only-over-list");
            relation["verdict"]["changed"]["latency"]
                .as_f64()
                .expect("both plans are there")
        })
        .collect();
    let mean = &comparisons["surveys"][0]["means"][0];
    assert_eq!(mean["models"], 2);
    assert_eq!(mean["published_models"], 1);
    let of_all = mean["all"]["latency"].as_f64().expect("there is a mean");
    assert!((of_all - f64::midpoint(changes[0], changes[1])).abs() < 1e-9);
    assert_eq!(comparisons["failures"], Value::Array(Vec::new()));
}

#[test]
fn ours_are_best_at_what_they_are_chosen_for() {
    let all = json(&desk(), &[GOOGLENET, SQUEEZENET, "--soc", "vim3"]);
    for comparison in all["comparisons"].as_array().expect("it is a list") {
        let of = |name, key| figure(comparison, name, key);
        for baseline in [
            "single:big",
            "single:little",
            "single:gpu",
            "layer-switched",
            "heft",
            "cpop",
            "peft",
            "lookahead-heft",
            "big+little:coarse",
            "big+little:fine",
        ] {
            if processors(comparison, baseline) > 1 {
                assert!(of("para-only", "latency_s") <= of(baseline, "latency_s"));
            }
            assert!(of("min-energy", "energy_active_j") <= of(baseline, "energy_active_j"));
        }
        assert!(of("hybrid-T", "interval_s") <= of("hybrid-L", "interval_s"));
        // Its sum is the least of all, and on one processor nothing overlaps but what enters.
        for single in ["single:big", "single:little", "single:gpu"] {
            assert!(of("layer-switched", "latency_s") <= of(single, "latency_s"));
        }
    }
}

#[test]
fn a_chip_without_the_two_clusters_says_so_in_json_and_has_no_published_figures() {
    let desk = desk();
    let profile = std::fs::read_to_string("profiles/vim3.json").expect("it is committed");
    let renamed = profile
        .replace("\"vim3\"", "\"board\"")
        .replace("\"little\"", "\"small\"");
    desk.put("board.json", renamed);
    let out = desk.run(&["compare", SQUEEZENET, "--soc", "board.json"]);
    let out = out.done();
    // Nothing is published about it, so nobody expects these comparisons.
    assert!(!out.contains("published"), "{out}");
    assert!(!out.contains("clusters"), "{out}");
    let json = desk.run(&["compare", SQUEEZENET, "--soc", "board.json", "--json"]);
    let json = json.done();
    assert!(json.contains("`board` has no processor `little`"), "{json}");
    assert!(!out.contains("latency -"), "{out}");
}

#[test]
fn a_model_that_fails_costs_its_own_comparison_alone() {
    let desk = desk();
    desk.put("text.onnx", "hello world, this is no model\n");
    let models = ["missing.onnx", SQUEEZENET, "text.onnx"];
    let run = desk.run(&[&["compare"], &models[..], &["--soc", "vim3", "-q"]].concat());
    assert_eq!(run.code, 2);
    assert!(run.out.starts_with("squeezenet1_1 on vim3"), "{}", run.out);
    assert_snapshot!(run.err);
    let both = ["compare", SQUEEZENET, "--soc", "vim3", "--soc", "vim4"];
    let run = desk.run(&both);
    assert_eq!(run.code, 2);
    assert!(run.out.starts_with("squeezenet1_1 on vim3"), "{}", run.out);
    assert!(run.err.contains("did you mean vim3"), "{}", run.err);
}

#[test]
fn bad_usage_is_refused() {
    let desk = desk();
    desk.put("plain.md", "# Results\n");
    let mut pictures = String::new();
    for arguments in [
        &["compare"][..],
        &["compare", GOOGLENET],
        &["compare", GOOGLENET, GOOGLENET, "--soc", "vim3"],
        &["compare", GOOGLENET, "--soc", "vim3", "--soc", "vim3"],
        &[
            "compare",
            GOOGLENET,
            "--soc",
            "vim3",
            "--json",
            "--markdown",
        ],
        &["compare", GOOGLENET, "--soc", "vim3", "--processors", "npu"],
        &["compare", GOOGLENET, "--soc", "vim3", "--update", "none.md"],
        &[
            "compare", GOOGLENET, "--soc", "vim3", "--update", "plain.md",
        ],
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

#[test]
fn an_update_changes_what_is_marked_and_nothing_else() {
    let desk = desk();
    let before = "# Results\n\nWords.\n\n<!-- compare:vim3 -->\nold\n<!-- /compare:vim3 -->\n\nMore words.\n";
    desk.put("results.md", before);
    let update = |models: &[&str]| {
        let rest = ["--soc", "vim3", "--update", "results.md"];
        let run = desk.run(&[&["compare"], models, &rest].concat());
        let text = std::fs::read_to_string(desk.path("results.md")).expect("it is there");
        (run, text)
    };
    let (run, text) = update(&[SQUEEZENET]);
    assert_eq!(run.done(), "");
    let (head, rest) = text.split_once("<!-- compare:vim3 -->").expect("marked");
    let (tables, tail) = rest.split_once("<!-- /compare:vim3 -->").expect("marked");
    assert_eq!(head, "# Results\n\nWords.\n\n");
    assert_eq!(tail, "\n\nMore words.\n");
    assert!(!tables.contains("old"), "{tables}");
    assert_snapshot!(tables);
    assert_eq!(
        update(&[SQUEEZENET]).1,
        text,
        "a second run changes nothing"
    );
    let (run, kept) = update(&[SQUEEZENET, "missing.onnx"]);
    assert_eq!((run.code, kept), (2, text));
}
