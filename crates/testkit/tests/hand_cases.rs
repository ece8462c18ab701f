//! The expectations of the committed cases, confirmed by enumeration and built into what the compiler takes.

use std::path::{Path, PathBuf};

use paracompile_frontend::cost::cost_facts;
use paracompile_frontend::facts::model_facts;
use paracompile_plan::facts::CostFacts;
use paracompile_testkit::brute_force;
use paracompile_testkit::case::{self, Answer, Case};

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
        match case.build() {
            Ok(built) => {
                assert_eq!(built.graph.ops.len(), case.graph.operators.len());
                // Two ways from a case to what the checker knows, one of them the compiler's own.
                assert_eq!(case.model_facts().unwrap(), model_facts(&built.graph));
                if case.limits.processors.is_none() {
                    assert_alike(&case, &cost_facts(&built.graph, &built.costs));
                }
            }
            Err(error) => {
                let answer = Answer::Refused {
                    message: Some(error.to_string()),
                };
                assert_eq!(
                    case.judge(&answer),
                    Vec::<String>::new(),
                    "{}",
                    path.display()
                );
            }
        }
    }
}

/// Bandwidths are rounded on the way through a profile; everything else is the same.
fn assert_alike(case: &Case, compiled: &CostFacts) {
    let mut own = case.cost_facts().expect("the case has built");
    for (own, compiled) in own.links.iter_mut().zip(&compiled.links) {
        let difference = own.seconds_per_byte.value() - compiled.seconds_per_byte.value();
        assert!(difference.abs() < 1e-20);
        own.seconds_per_byte = compiled.seconds_per_byte;
    }
    assert_eq!(own, *compiled);
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
