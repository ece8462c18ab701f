//! Runs every case in `cases/` and reports all that is wrong, not only the first fault.
//!
//! Three judges look at each case: its expectation, the checker, and the estimator, whose figures must be those of the search.
//! The oracle's own agreement with the cases is a test of `paracompile-testkit`.
//! `README.md` says how to add a case; that takes no Rust.

mod compiler;

use std::path::Path;

use paracompile_testkit::case::{self, Answer, Case, Figures};

/// The folder of case files.
fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("solver_tests/cases")
}

/// Everything that is wrong with one case.
fn faults(case: &Case) -> Vec<String> {
    let mut faults = case.judge_streams();
    let answer = match compiler::compile(case) {
        Err(message) => Answer::Refused {
            message: Some(message),
        },
        Ok(compiled) => {
            faults.extend(compiled.faults);
            let figures = compiled
                .plans
                .iter()
                .map(|plan| Figures::of_plan(plan, &case.graph));
            Answer::Front(figures.collect())
        }
    };
    faults.extend(case.judge(&answer));
    faults
}

#[test]
fn every_case_holds() {
    let files = case::files(&folder()).expect("the folder of cases is committed");
    assert!(!files.is_empty(), "no cases found");
    let mut report = Vec::new();
    for path in &files {
        let name = path.strip_prefix(folder()).unwrap_or(path).display();
        match Case::read(path) {
            Err(error) => report.push(error.to_string()),
            Ok(case) => {
                let found = faults(&case).into_iter();
                report.extend(found.map(|fault| format!("{name}: {fault}")));
            }
        }
    }
    assert!(
        report.is_empty(),
        "{} faults in {} cases:\n{}",
        report.len(),
        files.len(),
        report.join("\n")
    );
}
