//! `paracompile solve` as users meet it.

use serde_json::Value;

use crate::command::Desk;

fn desk(name: &str) -> Desk {
    let desk = Desk::new();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("solver_tests/instances");
    let bytes = std::fs::read(folder.join(name)).expect("the instance is committed");
    desk.put(name, bytes);
    desk
}

fn solved(desk: &Desk, arguments: &[&str]) -> Value {
    let run = desk.run(&[&["solve"], arguments, &["--json"]].concat());
    assert_eq!(run.err, "");
    serde_json::from_str(&run.done()).expect("--json prints JSON")
}

#[test]
fn textbook_examples_have_published_values_and_optima() {
    let desk = desk("heft_examples.json");
    for (name, heft, cpop, peft, optimum) in [
        ("topcuoglu2002", 80, 86, 85, 73),
        ("arabnejad2014_peft", 133, 167, 122, 113),
    ] {
        for (method, value) in [("heft", heft), ("cpop", cpop), ("peft", peft)] {
            let arguments = ["heft_examples.json", "--instance", name, "--method", method];
            assert_eq!(solved(&desk, &arguments)["value"], value, "{name} {method}");
        }
        for method in ["auto", "frontier", "milp", "big-m"] {
            let arguments = ["heft_examples.json", "--instance", name, "--method", method];
            let answer = solved(&desk, &arguments);
            assert_eq!(answer["value"], optimum, "{name} {method}");
            if method != "big-m" {
                assert_eq!(answer["bound"], optimum, "{name} {method}");
                assert_eq!(answer["proven_optimal"], true);
                assert_eq!(answer["gap"], 0.0);
            }
        }
    }
}

#[test]
fn a_limit_ends_a_large_problem_with_a_schedule_and_a_bound() {
    let desk = desk("petr1_p3.json");
    let answer = solved(&desk, &["petr1_p3.json", "--time-limit", "1"]);
    assert_eq!(answer["stopped_by"], "time");
    let (value, bound) = (&answer["value"], &answer["bound"]);
    let (value, bound) = (
        value.as_u64().expect("whole"),
        bound.as_u64().expect("whole"),
    );
    // The best value and bound that are known.
    assert!(value >= 84_342 && bound <= 85_762, "{value} {bound}");
    assert_eq!(answer["schedule"].as_array().map(Vec::len), Some(144));
}

#[test]
fn the_same_counted_work_gives_the_same_answer() {
    let desk = desk("lay50_p3.json");
    let answer = || {
        let mut answer = solved(&desk, &["lay50_p3.json", "--effort", "quick"]);
        answer["seconds"] = Value::Null;
        answer
    };
    let first = answer();
    assert_eq!(first["stopped_by"], "work");
    assert_eq!(first, answer());
}

#[test]
fn decimals_and_any_order_of_operators_are_exact() {
    let desk = Desk::new();
    desk.put(
        "small.json",
        r#"{"tasks": [[0.5, null], [0.1, 0.2]], "edges": [[1, 0, 0.25]]}"#,
    );
    let run = desk.run(&["solve", "small.json"]);
    let out = run.done();
    assert!(out.contains("small: 2 operators on 2 processors"), "{out}");
    assert!(out.contains("value 0.6  bound 0.6  optimal"), "{out}");
    let answer = solved(&desk, &["small.json"]);
    assert_eq!(answer["value"], 0.6);
    assert_eq!(answer["schedule"][0]["start"], 0.1);
}

#[test]
fn what_is_no_instance_is_refused_with_its_place_and_a_remedy() {
    let desk = desk("heft_examples.json");
    let refused = |arguments: &[&str], parts: &[&str]| {
        let run = desk.run(&[&["solve"], arguments].concat());
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{}", run.err);
        for part in parts {
            assert!(run.err.contains(part), "{part}: {}", run.err);
        }
    };
    refused(
        &["heft_examples.json"],
        &["2 instances and none chosen", "topcuoglu2002", "--instance"],
    );
    refused(
        &["heft_examples.json", "--instance", "heft"],
        &["no instance `heft`", "arabnejad2014_peft"],
    );
    refused(&["missing.json"], &["missing.json: cannot read"]);
    refused(
        &["heft_examples.json", "--method", "magic"],
        &["big-m", "local-search"],
    );
    desk.put(
        "cycle.json",
        r#"{"tasks": [[1], [1]], "edges": [[0, 1, 0], [1, 0, 0]]}"#,
    );
    refused(
        &["cycle.json"],
        &["cycle.json: cycle: operators wait for each other"],
    );
    desk.put("deep.json", "[".repeat(100_000));
    refused(&["deep.json"], &["deep.json: not JSON: recursion limit"]);
    desk.put(
        "large.json",
        format!("{{\"tasks\": [{}[1]], \"edges\": []}}", "[1],".repeat(40)),
    );
    refused(
        &["large.json", "--method", "frontier"],
        &["41 operators", "--method auto"],
    );
}

#[test]
fn a_name_cannot_speak_to_the_terminal() {
    let desk = Desk::new();
    desk.put(
        "i.json",
        r#"{"name": "\u001b[31mred", "tasks": [[1, 2]], "edges": []}"#,
    );
    let told = desk.run(&["solve", "i.json"]).done();
    assert!(
        told.starts_with("\u{fffd}[31mred: 1 operator on "),
        "{told}"
    );
}
