//! `--energy`, `--dvfs` and `--points` as users meet them.

use serde_json::Value;

use crate::command::{Desk, Run};

const MODEL: &str = "squeezenet1_1.onnx";

fn map(desk: &Desk, out: &str, more: &[&str]) -> Run {
    let mut arguments = vec![
        MODEL,
        "--soc",
        "vim3",
        "--no-plots",
        "--no-report",
        "-q",
        "-o",
        out,
    ];
    arguments.extend(more);
    desk.run(&arguments)
}

fn front(desk: &Desk, out: &str) -> Value {
    serde_json::from_slice(&desk.read(&format!("{out}/front.json"))).expect("front.json is JSON")
}

fn least_energy(plans: &Value) -> f64 {
    let plans = plans.as_array().expect("plans are a list");
    let energies = plans
        .iter()
        .filter_map(|plan| plan["energy_active_j"].as_f64());
    energies.fold(f64::INFINITY, f64::min)
}

#[test]
fn unknown_points_and_processors_are_refused_with_what_exists() {
    let desk = Desk::new().with_model(MODEL);
    let point = map(&desk, "out", &["--points", "big=1801MHz"]);
    assert_eq!(point.code, 2);
    assert!(
        point.err.contains("`big` has no operating point `1801MHz`"),
        "{}",
        point.err
    );
    assert!(point.err.contains("1800MHz"), "{}", point.err);
    let processor = map(&desk, "out", &["--points", "npu=1800MHz"]);
    assert_eq!(processor.code, 2);
    assert!(
        processor.err.contains("no processor `npu`"),
        "{}",
        processor.err
    );
    assert!(
        processor.err.contains("big, little, gpu"),
        "{}",
        processor.err
    );
}

#[test]
fn plans_at_chosen_points_are_correct_and_no_processor_alone_takes_less_energy() {
    let desk = Desk::new().with_model(MODEL);
    let chosen = [
        "--processors",
        "big,little",
        "--dvfs",
        "--objective",
        "energy",
    ];
    assert_eq!(
        map(&desk, "one", &[&chosen[..], &["--threads", "1"]].concat()).code,
        0
    );
    assert_eq!(
        map(&desk, "two", &[&chosen[..], &["--threads", "2"]].concat()).code,
        0
    );
    assert_eq!(desk.read("one/front.json"), desk.read("two/front.json"));
    let found = front(&desk, "one");
    assert_eq!(found["energy"], "objective");
    let checked = desk.run(&["check", "one", "--model", MODEL, "--soc", "vim3"]);
    assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    let twin = found["baselines"]
        .as_array()
        .expect("baselines are a list")
        .iter()
        .any(|baseline| {
            baseline["name"]
                .as_str()
                .is_some_and(|name| name.starts_with("twin:"))
        });
    assert!(twin, "a plan below the top frequency has a twin");
    let least = least_energy(&found["plans"]);
    for (processor, point) in [
        ("big", "2208MHz"),
        ("big", "1200MHz"),
        ("little", "1800MHz"),
        ("little", "1200MHz"),
        ("little", "1000MHz"),
    ] {
        let points = format!("{processor}={point}");
        let run = map(
            &desk,
            "alone",
            &["--processors", processor, "--points", &points],
        );
        assert_eq!(run.code, 0, "{}", run.err);
        let alone = front(&desk, "alone");
        assert!(
            least <= least_energy(&alone["plans"]),
            "{points} alone takes less"
        );
        let checked = desk.run(&["check", "alone", "--model", MODEL, "--soc", "vim3"]);
        assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    }
}

/// vim3 with the slowest and the fastest point of each processor, the slowest first: a bound from the first points alone would be wrong.
fn two_points(desk: &Desk) {
    let text = std::fs::read_to_string("profiles/vim3.json").expect("the profile is committed");
    let mut profile: Value = serde_json::from_str(&text).expect("the profile is JSON");
    for processor in profile["processors"].as_array_mut().expect("a list") {
        let points = processor["operating_points"]
            .as_array_mut()
            .expect("a list");
        points.reverse();
        points.drain(1..points.len() - 1);
    }
    desk.put("two.json", profile.to_string());
}

#[test]
fn what_is_said_to_be_impossible_is_possible_at_no_operating_point() {
    const SMALL: &str = "pyschedcl_mha_h2.onnx";
    let desk = Desk::new().with_model(SMALL);
    two_points(&desk);
    let base = [
        SMALL,
        "--soc",
        "two.json",
        "--processors",
        "big,gpu",
        "--no-plots",
        "--no-report",
        "--energy",
        "objective",
        "-o",
        "out",
    ];
    let figures = [
        ("latency<=1ns", "latency_s"),
        ("interval<=1ns", "interval_s"),
        ("energy<=1nJ", "energy_active_j"),
        ("board-energy<=1nJ", "energy_board_j"),
    ];
    let mut least = [f64::INFINITY; 4];
    for big in ["1000MHz", "2208MHz"] {
        for gpu in ["125MHz", "800MHz"] {
            let points = format!("big={big},gpu={gpu}");
            let run = desk.run(&[&base[..], &["-q", "--points", &points]].concat());
            assert_eq!(run.code, 0, "{}", run.err);
            let found = front(&desk, "out");
            for plan in found["plans"].as_array().expect("a list") {
                for (least, (_, figure)) in least.iter_mut().zip(figures) {
                    *least = least.min(plan[figure].as_f64().expect("a figure"));
                }
            }
        }
    }
    for ((demand, figure), least) in figures.iter().zip(least) {
        let run = desk.run(&[&base[..], &["--json", "--dvfs", "--require", demand]].concat());
        assert_eq!(run.code, 1, "{demand}: {}", run.err);
        let told: Value = serde_json::from_str(&run.out).expect("it is JSON");
        let told = &told["demands"][0];
        let (best, bound) = (told["best"].as_f64(), told["bound"].as_f64());
        let (best, bound) = (best.expect("a value"), bound.expect("a bound"));
        assert!(bound > 0.0, "{figure}");
        assert!(bound <= least * 1e9 + 0.5, "{figure}: {bound} > {least}");
        assert!(bound <= best, "{figure}");
        assert!(
            best <= least * 1e9 * 1.02,
            "{figure}: {best} beside {least}"
        );
    }
}
