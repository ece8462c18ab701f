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
    // The file is part of what was printed, and says of each command what pictures need.
    let kept = read_schedule(&folder.path().join("schedule.json")).unwrap();
    let mut printed = report.as_object().unwrap().clone();
    assert!(printed.remove("executing").unwrap().as_f64().unwrap() > 0.0);
    assert_eq!(
        printed.remove("holes").unwrap().as_array().unwrap().len(),
        2
    );
    assert_eq!(serde_json::to_value(&kept).unwrap(), Value::Object(printed));
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
fn a_sweep_has_a_row_for_each_way_and_none_twice() {
    let graph = text(&[("a", "twice"), ("b", "twice"), ("c", "twice")], &[]);
    let folder = folder(&graph, Some(SOURCE));
    let fixed = ["sweep", "graph.json", "--device", "gpu=cpu/2", "--device"];
    let more = ["cpu=cpu/1", "--queues", "gpu=3,cpu=2", "--frames", "1"];
    let all = [&fixed[..], &more[..]].concat();
    let done = pararun(folder.path(), &all);
    assert_eq!(done.status.code(), Some(0));
    let text = String::from_utf8(done.stdout).unwrap();
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("q_gpu,q_cpu,h_cpu,policy,frames,total_ms,device_span_ms,host_ms")
    );
    let mut ways: Vec<String> = lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let time = |cell: usize| cells[cell].parse::<f64>().unwrap();
            assert!(time(5) >= time(6) && time(6) > 0.0, "{line}");
            cells[..4].join(",")
        })
        .collect();
    // Three alone on the GPU, six of each kind of both, two alone on the CPU, and the two policies.
    assert_eq!(ways.len(), 3 + 2 * 6 + 2 + 2);
    for way in ["3,0,0,clustering", "0,2,3,clustering", "1,1,,heft"] {
        assert!(ways.iter().any(|other| other == way), "{way}");
    }
    ways.sort();
    ways.dedup();
    assert_eq!(ways.len(), 19);
    let fewer = pararun(folder.path(), &[&all[..], &["--cpu-heads", "0"]].concat());
    assert_eq!(String::from_utf8_lossy(&fewer.stdout).lines().count(), 6);
    let said = refused(&folder, &[&all[..], &["--cpu-heads", "4"]].concat());
    assert!(said.contains("3 components"), "{said}");
    let said = refused(&folder, &["sweep", "graph.json", "--device", "gpu=cpu/1"]);
    assert!(said.contains("--device cpu"), "{said}");
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
    let clustering = ["schedule", "graph.json", "--policy", "clustering"];
    let asked = ["--device", "gpu=cpu/2", "--granularity", "auto"];
    let said = refused(&good, &[&clustering[..], &asked[..]].concat());
    assert!(
        said.contains("components of the specification") && said.contains("eager or heft"),
        "{said}"
    );
    let said = refused(&good, &[&SCHEDULE[..], &["--granularity", "fine"]].concat());
    assert!(said.contains("fine") && said.contains("branch"), "{said}");
    let said = refused(&good, &[&SCHEDULE[..], &["--compare-levels"]].concat());
    assert!(said.contains("--granularity"), "{said}");
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
fn tasks_of_every_granularity_compute_the_same() {
    // Two chains that join, and a kernel apart: 6 kernels, 4 branches, 2 segments.
    let graph = text(
        &[
            ("a", "twice"),
            ("b", "twice"),
            ("c", "slow"),
            ("d", "add"),
            ("e", "shift"),
            ("f", "twice"),
        ],
        &[
            ("a.b", "b.a"),
            ("b.b", "d.a"),
            ("c.b", "d.b"),
            ("d.c", "e.x"),
        ],
    );
    let folder = folder(&graph, Some(SOURCE));
    let mut contents = Vec::new();
    for policy in ["eager", "heft"] {
        for (level, tasks) in [
            ("operator", Some(6)),
            ("branch", Some(4)),
            ("segment", Some(2)),
            ("stage", Some(1)),
            ("auto", None),
        ] {
            let arguments = [
                "schedule",
                "graph.json",
                "--policy",
                policy,
                "--device",
                "gpu=cpu/2",
                "--device",
                "cpu=cpu/1",
                "--frames",
                "2",
                "--granularity",
                level,
                "--output",
                "out",
                "--json",
            ];
            let done = pararun(folder.path(), &arguments);
            let said = String::from_utf8_lossy(&done.stderr);
            assert_eq!(done.status.code(), Some(0), "{said}");
            let report: Value = serde_json::from_slice(&done.stdout).unwrap();
            let found = &report["granularity"];
            assert_eq!(found["asked"], level);
            assert_eq!(found["tasks"], report["components"]);
            assert_eq!(found["chosen"], report["rule"]);
            if let Some(tasks) = tasks {
                assert_eq!(
                    (&found["chosen"], &found["tasks"]),
                    (&level.into(), &tasks.into())
                );
            }
            // The kernels of a task say so, and are those that it lists.
            let commands = report["commands"].as_array().unwrap();
            for fused in found["fused"].as_array().unwrap() {
                let own = commands
                    .iter()
                    .filter(|one| one["component"] == fused["component"]);
                let mut launched: Vec<&str> = own
                    .filter(|one| one["what"] == "launch")
                    .map(|one| one["kernel"].as_str().unwrap())
                    .collect();
                launched.sort_unstable();
                let listed = fused["kernels"].as_array().unwrap().iter();
                let listed: Vec<&str> = listed.map(|name| name.as_str().unwrap()).collect();
                assert_eq!(launched, listed);
                assert!(fused["why"].as_str().unwrap().contains("dispatching"));
            }
            let candidates = found["candidates"].as_array().unwrap();
            let is_timed = |one: &Value| one["simulated_ns"].as_i64().is_some_and(|time| time > 0);
            assert!(candidates.iter().all(is_timed), "{candidates:?}");
            let measured = candidates.iter().filter(|one| one["measured_ns"].is_i64());
            assert_eq!(measured.count(), 1);
            let names = ["e.shift_0_.npy", "f.twice_1_.npy"];
            contents.push(
                names.map(|name| std::fs::read(folder.path().join("out").join(name)).unwrap()),
            );
        }
    }
    assert!(contents.iter().all(|one| *one == contents[0]));
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
