//! The commands on kernel graphs: what they print, what they write, and what they refuse with exit code 2.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use paracompile_frontend::cost::CostsFile;
use paracompile_plan::read_schedule;
use paracompile_plan::scheduled::CommandKind;
use serde_json::Value;
use tempfile::TempDir;

use crate::graphs::{SOURCE, text};

fn pararun(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pararun"));
    // So that a processor with few cores can be split too.
    command
        .env("POCL_MAX_PTHREAD_COUNT", "4")
        .current_dir(folder);
    command.args(arguments).output().unwrap()
}

/// A folder with a graph, and its source if it has one.
fn folder(graph: &str, source: Option<&str>) -> TempDir {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("graph.json"), graph).unwrap();
    if let Some(source) = source {
        std::fs::write(folder.path().join("k.cl"), source).unwrap();
    }
    folder
}

fn chain() -> String {
    text(
        &[("a", "twice"), ("b", "slow"), ("c", "add")],
        &[("a.b", "b.a"), ("a.b", "c.a"), ("b.b", "c.b")],
    )
}

const SCHEDULE: [&str; 6] = [
    "schedule",
    "graph.json",
    "--policy",
    "eager",
    "--device",
    "gpu=cpu/2",
];

fn refused(folder: &TempDir, arguments: &[&str]) -> String {
    let done = pararun(folder.path(), arguments);
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(2), "{said}");
    said
}

#[test]
fn a_schedule_reports_total_span_and_host_apart() {
    let folder = folder(&chain(), Some(SOURCE));
    let more = [
        "--device",
        "cpu=cpu/1",
        "--frames",
        "2",
        "--json",
        "--trace",
        "trace.json",
        "--output",
        "out",
        "--measured",
        "schedule.json",
    ];
    let done = pararun(folder.path(), &[&SCHEDULE[..], &more[..]].concat());
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{said}");
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    let time = |key: &str| report[key].as_i64().unwrap();
    assert!(time("total_ns") >= time("device_span_ns") && time("device_span_ns") > 0);
    assert!(time("host_ns") > 0 && time("overhead_ns") >= 0);
    assert_eq!(
        (report["kernels"].as_u64(), report["components"].as_u64()),
        (Some(3), Some(3))
    );
    assert!(folder.path().join("trace.json").is_file());
    assert!(folder.path().join("out/c.add_2_.npy").is_file());
    // The file is what was printed, and says of each command what pictures need.
    let kept = read_schedule(&folder.path().join("schedule.json")).unwrap();
    assert_eq!(serde_json::to_value(&kept).unwrap(), report);
    let launched: BTreeSet<(&str, &str, u32)> = kept
        .commands
        .iter()
        .filter(|command| command.what == CommandKind::Launch)
        .map(|command| (&*command.kernel, &*command.function, command.component))
        .collect();
    let expected = [("a", "twice", 0), ("b", "slow", 1), ("c", "add", 2)];
    assert_eq!(launched, BTreeSet::from(expected));
}

#[test]
fn what_is_wrong_with_a_graph_is_refused_with_a_remedy() {
    let said = refused(&folder(&chain(), None), &SCHEDULE);
    assert!(
        said.contains("there is no source `k.cl`") && said.contains("--kernel-dir"),
        "{said}"
    );
    let broken = SOURCE.replacen("c[i] = a[i] + b[i];", "c[i] = nothing;", 1);
    let said = refused(&folder(&chain(), Some(&broken)), &SCHEDULE);
    assert!(
        said.contains("k.cl:5") && said.contains("correct the source"),
        "{said}"
    );
    let good = folder(&chain(), Some(SOURCE));
    let said = refused(&good, &[&SCHEDULE[..], &["--queues", "tpu=2"]].concat());
    assert!(said.contains("tpu") && said.contains("gpu"), "{said}");
    let said = refused(&good, &[&SCHEDULE[..], &["--cpu-heads", "1"]].concat());
    assert!(said.contains("clustering"), "{said}");
    let said = refused(
        &good,
        &[&SCHEDULE[..], &["--input", "nobody=x.npy"]].concat(),
    );
    assert!(
        said.contains("nobody") && said.contains("a.twice[0]"),
        "{said}"
    );
}

#[test]
fn a_profile_has_the_costs_of_every_kernel() {
    let folder = folder(&chain(), Some(SOURCE));
    let arguments = [
        "profile",
        "graph.json",
        "--device",
        "gpu=cpu/2",
        "--device",
        "cpu=cpu/1",
        "--budget",
        "1",
        "-o",
        "soc.json",
    ];
    let done = pararun(folder.path(), &arguments);
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{said}");
    let soc: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("soc.json")).unwrap()).unwrap();
    assert_eq!(
        soc["processors"][0]["operating_points"][0]["models"],
        Value::Array(Vec::new())
    );
    let costs = std::fs::read(folder.path().join("soc.costs/graph.json")).unwrap();
    let costs: CostsFile = serde_json::from_slice(&costs).unwrap();
    let found: Vec<(u32, &str)> = costs
        .entries
        .iter()
        .map(|entry| (entry.node, entry.processor.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (0, "gpu"),
            (0, "cpu"),
            (1, "gpu"),
            (1, "cpu"),
            (2, "gpu"),
            (2, "cpu")
        ]
    );
    assert!(costs.entries.iter().all(|entry| entry.time_s > 0.0));
}
