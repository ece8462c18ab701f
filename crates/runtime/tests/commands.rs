//! What `pararun run`, `validate`, `profile`, `bench` and `test` tell people: pace and units, unwritable files, wrong files, hints.
//!
//! The tests need an OpenCL device, which PoCL makes of any processor; a GPU is not needed.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use paracompile_testkit::onnx::{Dim, Graph, Message, dtype, fixed, node, value, zeros};
use serde_json::Value;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// A folder to run in, removed at the end.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        for name in ["tiny.onnx", "single.json"] {
            fs::copy(data(name), desk.path(name)).unwrap();
        }
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn pararun(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pararun"));
        command
            .current_dir(self.0.path())
            .env("POCL_MAX_PTHREAD_COUNT", "4");
        command.args(arguments).output().unwrap()
    }

    /// What a command prints that has to succeed.
    fn printed(&self, arguments: &[&str]) -> String {
        let done = self.pararun(arguments);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(0), "{arguments:?}: {said}");
        String::from_utf8(done.stdout).unwrap()
    }

    /// What a command prints and says that has to fail with exit code 2.
    fn refused(&self, arguments: &[&str]) -> (String, String) {
        let done = self.pararun(arguments);
        let [out, said] = [done.stdout, done.stderr].map(|text| String::from_utf8(text).unwrap());
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {said}");
        (out, said)
    }
}

const RUN: [&str; 8] = [
    "run",
    "single.json",
    "--model",
    "tiny.onnx",
    "--map",
    "big=0",
    "--frames",
    "4",
];

fn run_with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&RUN[..], more].concat()
}

#[test]
fn the_pace_of_a_stream_is_told_and_kept() {
    let desk = Desk::new();
    let free = desk.printed(&run_with(&["--measured", "free.json"]));
    assert!(
        free.contains(", 4 frames as fast as the first stage takes them"),
        "{free}"
    );
    let paced = desk.printed(&run_with(&["--pace", "plan", "--measured", "paced.json"]));
    assert!(paced.contains(", 4 frames admitted every "), "{paced}");
    let read = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(desk.path(name)).unwrap()).unwrap()
    };
    assert_eq!(read("free.json")["admission_interval_ns"], Value::Null);
    assert!(read("paced.json")["admission_interval_ns"].as_u64() > Some(0));
}

#[test]
fn a_single_frame_has_no_interval() {
    let desk = Desk::new();
    let one: Vec<&str> = RUN
        .iter()
        .map(|&word| if word == "4" { "1" } else { word })
        .collect();
    let text = desk.printed(&one);
    assert!(text.contains(", 1 frame as fast"), "{text}");
    assert!(!text.contains("inf") && !text.contains("NaN"), "{text}");
    let interval = text.lines().find(|line| line.starts_with("interval"));
    assert!(interval.unwrap().ends_with('–'), "{text}");
    let json = desk.printed(&[&one[..], &["--json"]].concat());
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["interval_ns"], Value::Null);
}

/// Whoever measured for an hour should not learn at its end that there is no place for the result.
#[test]
fn files_that_cannot_be_written_are_refused_before_the_work() {
    let desk = Desk::new();
    fs::write(desk.path("file"), "").unwrap();
    let validate = ["validate", ".", "--model", "tiny.onnx"];
    let profile = ["profile", "tiny.onnx", "--device", "a=0"];
    let commands: [Vec<&str>; 7] = [
        run_with(&["--measured", "file/m.json"]),
        run_with(&["--trace", "file/t.json"]),
        run_with(&["--output", "file"]),
        [&validate[..], &["--fidelity", "file/f.json"]].concat(),
        [&validate[..], &["-o", "file/v.json"]].concat(),
        [&profile[..], &["-o", "file/soc.json"]].concat(),
        [&profile[..], &["-o", "soc.json", "--costs-dir", "file"]].concat(),
    ];
    for command in commands {
        let (out, said) = desk.refused(&command);
        assert_eq!(out, "", "{command:?}");
        assert!(
            said.contains("file") && said.contains("cannot write"),
            "{said}"
        );
        assert!(!said.contains(".paracompile-"), "{said}");
    }
    desk.printed(&run_with(&[
        "-q",
        "--measured",
        "new/m.json",
        "--trace",
        "newer/t.json",
    ]));
    assert!(desk.path("new/m.json").exists() && desk.path("newer/t.json").exists());
}

#[test]
fn files_of_other_kinds_are_told_what_they_are() {
    let desk = Desk::new();
    desk.printed(&run_with(&["-q", "--measured", "m.json"]));
    fs::create_dir(desk.path("made")).unwrap();
    fs::write(desk.path("made/front.json"), "{}").unwrap();
    for (file, kind, remedy) in [
        ("tiny.onnx", "a model", "paracompile MODEL --soc"),
        (
            "made",
            "a directory that paracompile wrote",
            "pararun validate",
        ),
        (
            "m.json",
            "what pararun run measured of a plan",
            "--measured FILE",
        ),
    ] {
        let (_, said) = desk.refused(&["run", file, "--model", "tiny.onnx"]);
        assert!(
            said.contains(&format!("this is {kind}, not a plan")),
            "{said}"
        );
        assert!(said.contains(remedy), "{said}");
    }
    let (_, said) = desk.refused(&["validate", "single.json", "--model", "tiny.onnx"]);
    assert!(said.contains("this is a plan, not a directory"), "{said}");
}

#[test]
fn an_input_without_a_file_is_told_once() {
    let desk = Desk::new();
    let (_, said) = desk.refused(&run_with(&["--input", "x="]));
    assert!(said.contains("input `x`: no file behind the `=`"), "{said}");
    assert!(!said.contains("input `x`: not given"), "{said}");
}

#[test]
fn the_next_command_repeats_what_the_costs_depend_on() {
    let desk = Desk::new();
    let shape = [Dim::Symbol("my batch"), Dim::Value(64)];
    let graph = Graph {
        nodes: vec![node("MatMul", &["x", "w"], &["y"], &[])],
        constants: vec![zeros("w", &[64, 64])],
        inputs: vec![value("x", dtype::FLOAT, &shape)],
        outputs: vec![value("y", dtype::FLOAT, &shape)],
        ..Graph::default()
    };
    fs::write(desk.path("open.onnx"), graph.model(17)).unwrap();
    let text = desk.printed(&[
        "profile",
        "open.onnx",
        "--dim",
        "my batch=2",
        "--expose-heads=4",
        "--device",
        "a=0",
        "--budget",
        "1",
        "-o",
        "deep/soc.json",
    ]);
    assert!(
        text.contains("paracompile open.onnx --soc deep/soc.json --costs deep/soc.costs/open.json --dim 'my batch=2' --expose-heads=4"),
        "{text}"
    );
    let costs: Value =
        serde_json::from_slice(&fs::read(desk.path("deep/soc.costs/open.json")).unwrap()).unwrap();
    assert_eq!(costs["dims"]["my batch"], 2);
}

#[test]
fn benchmarks_are_found_by_small_letters_and_named_where_none_is() {
    let desk = Desk::new();
    let (_, said) = desk.refused(&["bench", "convolutions", "--only", "no such one"]);
    assert!(said.contains("--only no such one"), "{said}");
    assert!(
        said.contains("MobileNet-v2 960>960") && !said.contains("classifier"),
        "{said}"
    );
    let table = desk.printed(&["bench", "products", "--only", "CLASSIFIER"]);
    assert!(table.contains("classifier"), "{table}");
}

#[test]
fn a_test_that_cannot_be_read_names_its_file_once() {
    let desk = Desk::new();
    let done = desk.pararun(&["test", "nowhere"]);
    let line: Value = serde_json::from_slice(&done.stdout).unwrap();
    let why = line["why"].as_str().unwrap();
    assert_eq!(why.matches("nowhere/model.onnx").count(), 1, "{why}");
}

/// The network of `tiny.onnx`, whose filter lies in a file beside it.
fn with_external_filter(file: &str) -> Vec<u8> {
    let entry = Message::new().text(1, "location").text(2, file);
    let filter = Message::new()
        .int(1, 32)
        .int(1, 64)
        .int(2, i64::from(dtype::FLOAT))
        .text(8, "filter")
        .message(13, &entry)
        .int(14, 1);
    let graph = Graph {
        nodes: vec![
            node("Gather", &["table", "ids"], &["rows"], &[]),
            node("MatMul", &["rows", "filter"], &["left"], &[]),
            node("MatMul", &["x", "filter"], &["right"], &[]),
            node("Add", &["left", "right"], &["y"], &[]),
        ],
        constants: vec![zeros("table", &[3, 32]), filter],
        inputs: vec![
            fixed("ids", dtype::INT64, &[4]),
            fixed("x", dtype::FLOAT, &[4, 32]),
        ],
        outputs: vec![fixed("y", dtype::FLOAT, &[4, 64])],
        ..Graph::default()
    };
    graph.model(17)
}

#[test]
fn external_data_that_is_absent_is_named() {
    let desk = Desk::new();
    fs::write(desk.path("tiny.onnx"), with_external_filter("gone.bin")).unwrap();
    let (_, said) = desk.refused(&RUN);
    let (_, digest) = said.rsplit_once("digest ").unwrap();
    let digest: String = digest.chars().take_while(char::is_ascii_hexdigit).collect();
    let mut plan: Value =
        serde_json::from_slice(&fs::read(desk.path("single.json")).unwrap()).unwrap();
    plan["model"]["graph_digest"] = digest.into();
    fs::write(desk.path("single.json"), plan.to_string()).unwrap();
    let (_, said) = desk.refused(&RUN);
    assert!(
        said.contains("`filter` needs 8192 bytes of external data"),
        "{said}"
    );
    assert!(
        said.contains("gone.bin: cannot be read: No such file"),
        "{said}"
    );
}
