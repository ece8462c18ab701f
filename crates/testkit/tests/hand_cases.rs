//! The expectations of the committed cases, confirmed by enumeration and built into what the compiler takes.

use std::path::{Path, PathBuf};

use paracompile_testkit::brute_force;
use paracompile_testkit::case::{self, Case};

fn files() -> Vec<PathBuf> {
    case::files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../solver_tests/cases"))
        .expect("the folder of cases is committed")
}

#[test]
fn every_case_agrees_with_enumeration() {
    let files = files();
    assert!(files.len() >= 18, "only {} cases found", files.len());
    let mut faults = Vec::new();
    for path in &files {
        let case = Case::read(path).unwrap();
        let answer = brute_force::answer(&case).unwrap();
        for fault in case.judge(&answer).into_iter().chain(case.judge_streams()) {
            faults.push(format!("{}: {fault}", path.display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_case_builds_what_the_compiler_takes() {
    for path in files() {
        let case = Case::read(&path).unwrap();
        let built = case.build().unwrap();
        assert_eq!(
            built.graph.ops.len(),
            case.graph.operators.len(),
            "{}",
            path.display()
        );
        assert_eq!(built.costs.soc.links.len(), case.soc.links.len());
    }
}

#[test]
fn every_case_says_why() {
    for path in files() {
        let case = Case::read(&path).unwrap();
        assert!(
            case.why.len() > 20,
            "{}: `why` explains nothing",
            path.display()
        );
    }
}
