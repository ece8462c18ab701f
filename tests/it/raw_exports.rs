//! Exports as torch wrote them against the same networks after a simplifier: `docs/raw-exports.md` claims one front for both.

use serde_json::Value;

use crate::command::{Desk, model};

/// The front of a committed model, under a name that does not depend on its folder.
fn front(file: &str, more: &[&str]) -> Value {
    let desk = Desk::new();
    desk.put(
        "network.onnx",
        std::fs::read(model(file)).expect("the model is committed"),
    );
    let arguments = ["network.onnx", "--soc", "vim3", "--no-plots", "--json"];
    let run = desk.run(&[&arguments[..], more].concat());
    serde_json::from_str(&run.done()).expect("--json prints JSON")
}

#[test]
fn a_raw_export_has_the_front_of_its_simplified_twin() {
    for name in [
        "resnet50",
        "mobilenet_v2",
        "squeezenet1_1",
        "pyschedcl_mha_h2",
    ] {
        let raw = front(&format!("raw/{name}.onnx"), &[]);
        let simplified = front(&format!("{name}.onnx"), &[]);
        assert!(
            raw["plans"]
                .as_array()
                .is_some_and(|plans| !plans.is_empty())
        );
        assert_eq!(raw, simplified, "{name}");
    }
}

#[test]
fn as_written_keeps_batch_normalisation_apart() {
    let desk = Desk::new();
    desk.put(
        "raw.onnx",
        std::fs::read(model("raw/resnet50.onnx")).expect("the model is committed"),
    );
    let operators = |more: &[&str]| {
        let text = desk.run(&[&["inspect", "raw.onnx", "--json"][..], more].concat());
        let json: Value = serde_json::from_str(&text.done()).expect("--json prints JSON");
        let folded = json["folded"]["batch_normalisations"].as_u64();
        (json["operators"].as_u64(), folded)
    };
    assert_eq!(operators(&[]), (Some(122), Some(53)));
    assert_eq!(operators(&["--as-written"]), (Some(175), Some(0)));
    // On a chip that runs them as operators of their own they take time.
    let latency = |front: &Value| front["baselines"][0]["latency_s"].as_f64();
    let apart = latency(&front("raw/resnet50.onnx", &["--as-written"]));
    assert!(apart > latency(&front("raw/resnet50.onnx", &[])));
}

#[test]
fn a_plan_for_the_file_as_written_is_checked_as_written() {
    let desk = Desk::new();
    desk.put(
        "raw.onnx",
        std::fs::read(model("raw/mobilenet_v2.onnx")).expect("the model is committed"),
    );
    let chip = ["--soc", "vim3"];
    let map = [
        "raw.onnx",
        "--as-written",
        "--quiet",
        "--no-plots",
        "--out",
        "o",
    ];
    desk.run(&[&map[..], &chip].concat()).done();
    let check = ["check", "o", "--model", "raw.onnx"];
    desk.run(&[&check[..], &chip, &["--as-written"]].concat())
        .done();
    let run = desk.run(&[&check[..], &chip].concat());
    assert_ne!(run.code, 0, "folding changes the operators: {}", run.out);
}
