//! `pararun` as a person meets it: what it prints, what it refuses, and its exit codes.
//!
//! The tests need an OpenCL device, which PoCL makes of any processor; a GPU is not needed.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use paracompile_frontend::import::onnx::{ImportOptions, load};
use paracompile_runtime::input::gather;
use paracompile_testkit::onnx::{Dim, Graph, Message, dtype, fixed, node, value};
use serde_json::Value;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

fn pararun(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pararun"));
    // So that a processor with few cores can be split too.
    command.env("POCL_MAX_PTHREAD_COUNT", "4");
    command.args(arguments).output().unwrap()
}

/// What a command prints that has to succeed.
fn printed(arguments: &[&str]) -> String {
    let done = pararun(arguments);
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{arguments:?}: {said}");
    String::from_utf8(done.stdout).unwrap()
}

/// What a command says that has to fail with exit code 2 and print nothing.
fn refused(arguments: &[&str]) -> String {
    let done = pararun(arguments);
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(2), "{arguments:?}: {said}");
    assert_eq!(String::from_utf8_lossy(&done.stdout), "", "{arguments:?}");
    said
}

fn check(plan: &Path, more: &[&str]) -> Vec<String> {
    let model = data("tiny.onnx");
    let fixed = [
        "check",
        plan.to_str().unwrap(),
        "--model",
        model.to_str().unwrap(),
    ];
    let all = fixed.iter().chain(more);
    all.map(|&argument| argument.to_owned()).collect()
}

fn checked(plan: &str, more: &[&str]) -> String {
    let arguments = check(&data(plan), more);
    printed(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

fn check_refused(plan: &Path, more: &[&str]) -> String {
    let arguments = check(plan, more);
    refused(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The index of a device that can be split, and how many compute units it has.
fn split_device() -> (usize, u64) {
    let devices: Value = serde_json::from_str(&printed(&["devices", "--json"])).unwrap();
    let devices = devices["devices"].as_array().unwrap();
    let index = devices
        .iter()
        .position(|device| device["splits"] == true)
        .expect("PoCL splits its device");
    (index, devices[index]["compute_units"].as_u64().unwrap())
}

/// A `.npy` file of version 1.
fn npy(folder: &Path, name: &str, descr: &str, shape: &str, bytes: usize) -> String {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    file.extend(header.bytes());
    file.extend(vec![0; bytes]);
    let path = folder.join(name);
    fs::write(&path, file).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn help_shows_examples_and_exit_codes() {
    let help = printed(&["--help"]);
    assert!(
        help.contains("Examples:") && help.contains("Exit codes:"),
        "{help}"
    );
    assert!(!help.contains("weights"), "{help}");
    assert!(printed(&["check", "--help"]).contains("--map big=0/12 --map little=0/4"));
    assert!(refused(&[]).contains("Usage"));
    assert!(refused(&["fly"]).contains("unrecognized"));
}

#[test]
fn devices_are_listed_for_people_and_for_programs() {
    let text = printed(&["devices"]);
    assert!(text.starts_with("index  device"), "{text}");
    assert!(
        text.contains("--map NAME=0\n") && text.contains("energy: "),
        "{text}"
    );
    let read: Value = serde_json::from_str(&printed(&["devices", "--json"])).unwrap();
    assert_eq!(read["schema"], 1);
    for (index, device) in read["devices"].as_array().unwrap().iter().enumerate() {
        assert_eq!(device["index"], index);
        assert!(device["compute_units"].as_u64() > Some(0));
        assert!(text.contains(device["name"].as_str().unwrap()), "{text}");
    }
}

#[test]
fn a_machine_without_opencl_is_told_what_to_install() {
    let nothing = tempfile::tempdir().unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_pararun"))
        .arg("devices")
        .env("OCL_ICD_VENDORS", nothing.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(
        said.contains("offers no device") && said.contains("pocl-opencl-icd"),
        "{said}"
    );
}

#[test]
fn a_plan_runs_on_a_whole_device_or_on_parts_of_one() {
    let (device, units) = split_device();
    let whole = checked("single.json", &["--map", &format!("big={device}")]);
    assert!(
        whole.contains("big") && whole.contains("input `x`: float [4, 32]"),
        "{whole}"
    );
    let big = format!("big={device}/{}", units - 1);
    let little = format!("little={device}/1");
    let parts = checked(
        "two.json",
        &["--map", &little, "--map", &big, "--weights", "random:7"],
    );
    let line = |name: &str| {
        parts
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap()
            .to_owned()
    };
    assert!(
        line("big").contains(&format!("a part  {}", units - 1)),
        "{parts}"
    );
    assert!(line("little").contains("a part  1"), "{parts}");
    assert!(
        parts.contains("random weights: 2, of 2144 elements"),
        "{parts}"
    );
}

#[test]
fn all_that_is_wrong_with_maps_comes_in_one_message() {
    let (device, units) = split_device();
    let maps = [
        format!("big={device}/{units}"),
        format!("little={device}/1"),
        "big=1".to_owned(),
    ];
    let maps: Vec<&str> = maps.iter().flat_map(|map| ["--map", map]).collect();
    let said = check_refused(&data("two.json"), &maps);
    for expected in [
        "--map big=…: mapped twice".to_owned(),
        format!(
            "device {device} has {units} compute units, but the maps ask for {}",
            units + 1
        ),
        "processors of the plan: big, little".to_owned(),
        "devices of this machine:".to_owned(),
        "--map little=".to_owned(),
    ] {
        assert!(said.contains(&expected), "{expected}: {said}");
    }
    let said = check_refused(&data("two.json"), &[]);
    assert!(
        said.contains("processor `big` is mapped to no device"),
        "{said}"
    );
    assert!(
        said.contains("processor `little` is mapped to no device"),
        "{said}"
    );
    assert!(
        check_refused(&data("single.json"), &["--map", "big=no such one"])
            .contains("there is no such device")
    );
    assert!(check_refused(&data("single.json"), &["--map", "big"]).contains("NAME=DEVICE"));
}

/// A plan uses fewer processors than its chip has, and its own ones are to lie on the same compute units as in every other plan.
#[test]
fn maps_of_processors_that_the_plan_does_not_use_keep_their_parts() {
    let (device, units) = split_device();
    let maps = [
        format!("little={device}/1"),
        format!("big={device}/{}", units - 1),
    ];
    let plan = data("single.json");
    let more: Vec<&str> = maps.iter().flat_map(|map| ["--map", map]).collect();
    let arguments = check(&plan, &more);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = pararun(&arguments);
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(
        said.contains("note: the plan does not use little"),
        "{said}"
    );
    let table = String::from_utf8_lossy(&done.stdout);
    assert!(table.contains(&format!("a part  {}", units - 1)), "{table}");
    let too_many = [format!("little={device}/2"), maps[1].clone()];
    let more: Vec<&str> = too_many.iter().flat_map(|map| ["--map", map]).collect();
    assert!(check_refused(&plan, &more).contains("the maps ask for"));
    let said = check_refused(&data("two.json"), &["--map", "big=0", "--map", "litle=0"]);
    assert!(said.contains("is it `litle` of --map litle=…?"), "{said}");
}

#[test]
fn messages_name_the_option_that_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let (model, out) = (data("tiny.onnx"), folder.path().join("soc.json"));
    let [model, out] = [&model, &out].map(|path| path.to_str().unwrap());
    let said = refused(&["profile", model, "-o", out, "--device", "a=no such one"]);
    assert!(
        said.contains("--device a=no such one: there is no such device"),
        "{said}"
    );
    assert!(said.contains("for example --device a="), "{said}");
    assert!(
        !said.contains("--map") && !said.contains("the plan"),
        "{said}"
    );
    for command in ["tune", "bench"] {
        let said = refused(&[command, "--device", "no such one"]);
        assert!(
            said.contains("--device no such one: there is no such device"),
            "{said}"
        );
        assert!(
            !said.contains("--map") && !said.contains("the plan"),
            "{said}"
        );
    }
}

/// What the plan does not bind of another model is no advice for a command without `--dim`.
#[test]
fn a_plan_of_another_model_with_symbols_is_refused_for_that() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("open.onnx");
    let shape = [Dim::Symbol("batch"), Dim::Value(4)];
    let graph = Graph {
        nodes: vec![node("Relu", &["x"], &["y"], &[])],
        inputs: vec![value("x", dtype::FLOAT, &shape)],
        outputs: vec![value("y", dtype::FLOAT, &shape)],
        ..Graph::default()
    };
    fs::write(&model, graph.model(17)).unwrap();
    let (plan, model) = (data("single.json"), model.to_str().unwrap());
    let said = refused(&["check", plan.to_str().unwrap(), "--model", model]);
    assert!(said.contains("this plan is for another model"), "{said}");
    assert!(!said.contains("--dim"), "{said}");
}

#[test]
fn a_model_may_be_renamed() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("renamed.onnx");
    fs::copy(data("tiny.onnx"), &model).unwrap();
    let plan = data("single.json");
    let [plan, model] = [&plan, &model].map(|path| path.to_str().unwrap());
    printed(&["check", plan, "--model", model, "--map", "big=0"]);
}

#[test]
fn a_plan_of_another_model_is_refused() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/squeezenet1_1.onnx");
    let plan = data("single.json");
    let said = refused(&[
        "check",
        plan.to_str().unwrap(),
        "--model",
        model.to_str().unwrap(),
    ]);
    assert!(said.contains("this plan is for another model"), "{said}");
    assert!(
        said.contains("`tiny`") && said.contains("`squeezenet1_1`"),
        "{said}"
    );
}

#[test]
fn a_plan_that_the_checker_refuses_is_refused_with_its_reasons() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.json");
    let mut plan: Value = serde_json::from_slice(&fs::read(data("two.json")).unwrap()).unwrap();
    // The last command waits no longer for what it needs.
    let frame = plan["frame"].as_array_mut().unwrap();
    frame.last_mut().unwrap()["wait"] = Value::Array(Vec::new());
    fs::write(&path, plan.to_string()).unwrap();
    let said = check_refused(&path, &["--map", "big=0", "--map", "little=0"]);
    assert!(said.contains("the plan is wrong:"), "{said}");
}

#[test]
fn files_that_are_no_plan_or_no_model_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "{").unwrap();
    assert!(check_refused(&file, &[]).contains("pararun::plan"));
    assert!(check_refused(&folder.path().join("missing"), &[]).contains("missing"));
    let plan = data("single.json");
    let said = refused(&[
        "check",
        plan.to_str().unwrap(),
        "--model",
        file.to_str().unwrap(),
    ]);
    assert!(said.contains("pararun::model"), "{said}");
}

#[test]
fn inputs_are_taken_in_order_or_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let ids = npy(folder.path(), "ids.npy", "<i8", "(4,)", 32);
    let x = npy(folder.path(), "a=b.npy", "<f4", "(4, 32)", 512);
    for inputs in [
        vec![ids.clone(), x.clone()],
        vec![format!("x={x}"), ids.clone()],
        vec![format!("x={x}"), format!("ids={ids}")],
    ] {
        let mut more = vec!["--map", "big=0"];
        more.extend(inputs.iter().flat_map(|input| ["--input", input]));
        checked("single.json", &more);
    }
}

#[test]
fn inputs_that_do_not_fit_are_refused_all_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let real = npy(folder.path(), "real.npy", "<f4", "(4,)", 16);
    let flat = npy(folder.path(), "flat.npy", "<f4", "(128,)", 512);
    let short = npy(folder.path(), "short.npy", "<i8", "(4,)", 31);
    let text = folder.path().join("input.txt");
    let text = text.to_str().unwrap();
    let refused = |inputs: &[&str]| {
        let mut more = vec!["--map", "big=0"];
        more.extend(inputs.iter().flat_map(|input| ["--input", input]));
        check_refused(&data("single.json"), &more)
    };
    let said = refused(&[&real, &flat]);
    assert!(
        said.contains("input `ids`: expected int64 [4], but "),
        "{said}"
    );
    assert!(said.contains("holds float [4]"), "{said}");
    assert!(
        said.contains("input `x`: expected float [4, 32], but "),
        "{said}"
    );
    assert!(said.contains("holds float [128]"), "{said}");
    let said = refused(&[&short, text]);
    assert!(
        said.contains("int64 [4] needs 32 bytes, but 31 follow"),
        "{said}"
    );
    assert!(said.contains("expected a file named .npy or .pb"), "{said}");
    let said = refused(&[
        &format!("z={real}"),
        &format!("ids={real}"),
        &format!("ids={real}"),
    ]);
    assert!(
        said.contains("input `z`: the model has no such input"),
        "{said}"
    );
    assert!(said.contains("input `ids`: given twice"), "{said}");
    assert!(
        said.contains("input `x`: not given, though others are"),
        "{said}"
    );
    let said = refused(&[&real, &flat, &flat]);
    assert!(said.contains("the model has no further input"), "{said}");
}

#[test]
fn weights_come_from_the_file_or_from_a_seed() {
    let said = check_refused(&data("single.json"), &["--weights", "random"]);
    assert!(said.contains("expected `file` or `random:SEED`"), "{said}");
    let model = data("tiny.onnx");
    let model = model.to_str().unwrap();
    let digests = |seed: &str| printed(&["weights", model, "--weights", seed, "--json"]);
    assert_eq!(digests("random:7"), digests("random:7"));
    assert_ne!(digests("random:7"), digests("random:8"));
    let read: Value = serde_json::from_str(&digests("random:7")).unwrap();
    let names: Vec<&String> = read.as_object().unwrap().keys().collect();
    assert_eq!(names, ["filter", "table"]);
}

/// A model of one operator, in a file of `folder`.
fn model(folder: &Path, nodes: Vec<Message>, inputs: Vec<Message>) -> PathBuf {
    let graph = Graph {
        nodes,
        inputs,
        outputs: vec![Message::new().text(1, "y")],
        ..Graph::default()
    };
    let path = folder.join("model.onnx");
    fs::write(&path, graph.model(17)).unwrap();
    path
}

#[test]
fn inputs_that_nothing_reads_may_be_given_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = vec![
        fixed("u", dtype::FLOAT, &[3]),
        fixed("x", dtype::FLOAT, &[2]),
    ];
    let relu = node("Relu", &["x"], &["y"], &[]);
    let path = model(folder.path(), vec![relu], inputs);
    let program = load(&path, &ImportOptions::default()).unwrap();
    let x = npy(folder.path(), "x.npy", "<f4", "(2,)", 8);
    let u = npy(folder.path(), "u.npy", "<f4", "(3,)", 12);
    let given = |given: &[String]| gather(&program, given, 0).map(|tensors| tensors.len());
    assert_eq!(given(&[format!("u={u}"), format!("x={x}")]).unwrap(), 1);
    assert_eq!(given(std::slice::from_ref(&x)).unwrap(), 1);
    let said = given(&[format!("u={x}"), format!("x={x}")]).unwrap_err();
    assert!(
        said.to_string().contains("expected float [3], but"),
        "{said}"
    );
    assert!(
        said.inputs
            .contains(&"`u`: float [3], whose elements nothing reads".to_owned())
    );
}

#[test]
fn one_file_for_two_results_is_refused_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("same.json");
    let (path, plan, model) = (
        path.to_str().unwrap(),
        data("single.json"),
        data("tiny.onnx"),
    );
    let said = refused(&[
        "run",
        plan.to_str().unwrap(),
        "--model",
        model.to_str().unwrap(),
        "--measured",
        path,
        "--trace",
        path,
    ]);
    assert!(
        said.contains("--measured and --trace name the same file"),
        "{said}"
    );
    let around = folder.path().join(".").join("same.json");
    let said = refused(&[
        "validate",
        folder.path().to_str().unwrap(),
        "--model",
        model.to_str().unwrap(),
        "-o",
        path,
        "--fidelity",
        around.to_str().unwrap(),
    ]);
    assert!(
        said.contains("--out and --fidelity name the same file"),
        "{said}"
    );
    assert!(!Path::new(path).exists());
}

#[test]
fn tensors_that_no_memory_holds_are_refused_by_name_and_size() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = vec![fixed("huge", dtype::FLOAT, &[1 << 23, 1 << 23])];
    let relu = node("Relu", &["huge"], &["y"], &[]);
    let path = model(folder.path(), vec![relu], inputs);
    let program = load(&path, &ImportOptions::default()).unwrap();
    let said = gather(&program, &[], 0).unwrap_err().to_string();
    assert!(said.contains("`huge`: 256.0 TiB"), "{said}");
    let out = folder.path().join("soc.json");
    let said = refused(&[
        "profile",
        path.to_str().unwrap(),
        "--budget",
        "1",
        "-o",
        out.to_str().unwrap(),
    ]);
    assert!(
        said.contains("not measured, node 0 (Relu): allocating"),
        "{said}"
    );
}
