//! `pararun profile` with the kernels that plans run: what it writes is what the compiler reads.
//!
//! The tests need an OpenCL device that can be split, which PoCL makes of any processor.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use paracompile_frontend::cost::{CostTable, read_overrides};
use paracompile_frontend::import::onnx::{ImportOptions, load};
use paracompile_frontend::soc::Soc;
use paracompile_plan::plan::Source;
use serde_json::Value;

fn model() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tiny.onnx")
}

fn profile(more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pararun"));
    command.env("POCL_MAX_PTHREAD_COUNT", "4");
    command.arg("profile").arg(model()).args(more);
    command.output().unwrap()
}

#[test]
fn a_profile_and_its_costs_give_every_operator_a_measured_cost() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("soc.json");
    let done = profile(&[
        "--device",
        "big=cpu/2",
        "--device",
        "little=cpu/1",
        "--budget",
        "1",
        "--json",
        "-o",
        out.to_str().unwrap(),
    ]);
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{said}");
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(report["interrupted"], false);
    for processor in report["processors"].as_array().unwrap() {
        assert!(processor["launch_s"].as_f64().unwrap() > 0.0);
        assert!(processor["enqueue_s"].as_f64().unwrap() > 0.0);
    }
    assert!(report["hops"][0][2].as_f64().unwrap() > 0.0);

    let soc = Soc::find(out.to_str().unwrap()).unwrap();
    assert_eq!(soc.name, "soc");
    let costs = read_overrides(&folder.path().join("soc.costs/tiny.json")).unwrap();
    let program = load(&model(), &ImportOptions::default()).unwrap();
    let graph = &program.imported.graph;
    let table = CostTable::new(graph, &soc, &costs, None).unwrap();
    for (id, op) in graph.ops.iter().filter(|(_, op)| op.class().is_some()) {
        for cost in &table.operators[id] {
            let cost = cost.unwrap_or_else(|| panic!("`{}` has no cost", op.name));
            assert_eq!(cost.source, Source::Measured, "{}", op.name);
        }
    }
    let text = std::fs::read_to_string(&out).unwrap();
    for device in ["\"device\": \"cpu/2\"", "\"device\": \"cpu/1\""] {
        assert!(text.contains(device), "{device}");
    }
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("soc.json");
    let out = out.to_str().unwrap();
    let unfit = folder.path().join("a profile.json");
    for (arguments, words) in [
        (&["--device", "big=99", "-o", out][..], "99"),
        (&["--device", "io=cpu/1", "-o", out][..], "io"),
        (&["--device", "big core=cpu/1", "-o", out][..], "big core"),
        (&["-o", unfit.to_str().unwrap()][..], "a profile"),
        (&["--expose-heads=0", "-o", out][..], "expose-heads"),
    ] {
        let done = profile(arguments);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
