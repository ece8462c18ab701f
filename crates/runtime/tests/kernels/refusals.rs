//! What is wrong between a specification, its sources and the device is told with its place, before anything runs.

use std::path::Path;

use paracompile_frontend::import::kernels::KernelOptions;
use paracompile_runtime::execute::{Options, RunError, prepare_kernels, try_kernels};
use paracompile_runtime::users::{Fault, KernelProgram};

use crate::devices::parts;
use crate::graphs::{SOURCE, load, text};
use crate::plans::{Lanes, plan};

const ONE: &[Lanes] = &[Lanes {
    name: "a",
    memory: "dram",
    queues: 1,
}];

/// A graph of one launch of one kernel with these work sizes and arguments.
fn one(function: &str, sizes: &str, arguments: &str) -> String {
    format!(
        r#"{{"schema": 1, "kernels": [{{"name": "k", "source": "k.cl", "function": "{function}", {sizes}, "arguments": [{arguments}]}}],
            "launches": [{{"name": "only", "kernel": "k"}}, {{"name": "other", "kernel": "k"}}]}}"#
    )
}

fn faults(text: &str, source: &str) -> (Vec<Fault>, String) {
    let program = load(text, Some(source)).unwrap();
    let plan = plan(&program, ONE, &|_| 0);
    let parts = parts(&plan);
    let error =
        prepare_kernels(&plan, &program, &parts.bound, Options::for_plan(&plan)).unwrap_err();
    let message = error.to_string();
    // Who only tries is told the same.
    let tried = try_kernels(&plan, &program, &parts.bound, Options::for_plan(&plan));
    assert_eq!(tried.unwrap_err().to_string(), message);
    let RunError::Kernels(problems) = error else {
        panic!("another error: {message}");
    };
    let faults = problems.0.into_iter().map(|problem| {
        assert_eq!((problem.kernel.as_str(), problem.others), ("only", 1));
        assert!(!problem.fault.remedy().is_empty());
        problem.fault
    });
    (faults.collect(), message)
}

const TWO: &str = r#"{"in": "float", "size": 64}, {"out": "float", "size": 64}"#;
const GLOBAL: &str = r#""global": [64]"#;

#[test]
fn a_source_that_no_folder_has_is_named() {
    let text = text(&[("a", "twice")], &[]);
    let error = load(&text, None).unwrap_err().to_string();
    assert_eq!(error, "kernel a: there is no source `k.cl`");
}

#[test]
fn a_source_that_does_not_build_shows_file_and_line() {
    let broken = "\n\n__kernel void twice(__global const float *a, __global float *b)\n{\n    b[0] = missing;\n}\n";
    let (faults, message) = faults(&one("twice", GLOBAL, TWO), broken);
    assert!(matches!(faults[..], [Fault::Build { .. }]), "{message}");
    assert!(message.contains("k.cl:5"), "{message}");
    assert!(message.contains("missing"), "{message}");
}

#[test]
fn a_function_that_is_not_there_is_told_with_those_that_are() {
    let (faults, message) = faults(&one("thrice", GLOBAL, TWO), SOURCE);
    let [Fault::NoFunction { known }] = &faults[..] else {
        panic!("{message}");
    };
    let mut known = known.clone();
    known.sort();
    assert_eq!(known, ["add", "mirror", "shift", "slow", "twice"]);
    assert!(
        message.starts_with("kernel only (`thrice` of k.cl, and 1 more): "),
        "{message}"
    );
}

#[test]
fn arguments_are_counted() {
    let three = format!(r#"{TWO}, {{"scalar": "int", "value": 1}}"#);
    let (faults, _) = faults(&one("twice", GLOBAL, &three), SOURCE);
    assert_eq!(
        faults,
        [Fault::ArgumentCount {
            specified: 3,
            declared: 2
        }]
    );
}

#[test]
fn types_of_arguments_are_compared() {
    let wrong = r#"{"in": "int", "size": 64}, {"out": "float", "size": 64}"#;
    let (found, message) = faults(&one("twice", GLOBAL, wrong), SOURCE);
    assert!(
        matches!(found[..], [Fault::Argument { position: 0, .. }]),
        "{message}"
    );
    let wrong = r#"{"inout": "float", "size": 64}, {"scalar": "int", "value": 1}"#;
    let (found, message) = faults(&one("shift", GLOBAL, wrong), SOURCE);
    assert!(
        matches!(found[..], [Fault::Argument { position: 1, .. }]),
        "{message}"
    );
    let wrong = r#"{"inout": "float", "size": 64}, {"scalar": "double", "value": 1}"#;
    let (found, message) = faults(&one("shift", GLOBAL, wrong), SOURCE);
    assert_eq!(found.len(), 1, "{message}");
    let wrong = r#"{"out": "float", "size": 64}, {"local": "float", "size": 64}"#;
    let (found, message) = faults(&one("shift", GLOBAL, wrong), SOURCE);
    assert!(
        matches!(found[..], [Fault::Argument { position: 1, .. }]),
        "{message}"
    );
}

#[test]
fn work_groups_that_the_device_cannot_run_are_refused() {
    let sizes = r#""global": [1048576], "local": [1048576]"#;
    let (found, message) = faults(&one("twice", sizes, TWO), SOURCE);
    assert!(matches!(found[..], [Fault::WorkGroup { .. }]), "{message}");
    let fixed = "__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void twice(__global const float *a, __global float *b) {}";
    let (found, message) = faults(
        &one("twice", r#""global": [64], "local": [16]"#, TWO),
        fixed,
    );
    assert!(matches!(found[..], [Fault::WorkGroup { .. }]), "{message}");
}

#[test]
fn more_local_memory_than_the_device_has_is_refused() {
    let source = "__kernel void k(__global float *x, __local float *part) { part[0] = x[0]; x[1] = part[0]; }";
    let arguments = r#"{"inout": "float", "size": 64}, {"local": "float", "size": 268435456}"#;
    let (found, message) = faults(&one("k", GLOBAL, arguments), source);
    assert!(
        matches!(
            found[..],
            [Fault::LocalMemory { .. } | Fault::Refused { .. }]
        ),
        "{message}"
    );
}

/// A graph in a folder of this name below `at`, with a source that includes a file beside it.
fn including(at: &Path, folder: &str) -> KernelProgram {
    let folder = at.join(folder);
    std::fs::create_dir(&folder).unwrap();
    let source = SOURCE.replacen("2.0f", "FACTOR", 1);
    std::fs::write(folder.join("factor.h"), "#define FACTOR 2.0f\n").unwrap();
    std::fs::write(
        folder.join("k.cl"),
        format!("# include \"factor.h\"\n{source}"),
    )
    .unwrap();
    let graph = folder.join("graph.json");
    std::fs::write(&graph, text(&[("a", "twice")], &[])).unwrap();
    KernelProgram::load(&graph, &KernelOptions::default()).unwrap()
}

#[test]
fn a_source_finds_what_it_includes_beside_itself() {
    let folder = tempfile::tempdir().unwrap();
    let program = including(folder.path(), "plain-folder_1.2");
    let plan = plan(&program, ONE, &|_| 0);
    let parts = parts(&plan);
    try_kernels(&plan, &program, &parts.bound, Options::for_plan(&plan)).unwrap();
}

#[test]
fn a_folder_that_compilers_cannot_be_given_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["with blank", "with\"quote", "with\\backslash"] {
        let program = including(folder.path(), name);
        let plan = plan(&program, ONE, &|_| 0);
        let parts = parts(&plan);
        let tried = try_kernels(&plan, &program, &parts.bound, Options::for_plan(&plan));
        let message = tried.unwrap_err().to_string();
        assert!(message.contains(name), "{message}");
        assert!(
            message.starts_with("kernel a (`twice` of k.cl): the source includes files"),
            "{message}"
        );
    }
}
