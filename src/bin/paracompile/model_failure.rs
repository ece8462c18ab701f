//! Models that cannot be imported, as a person sees it: each problem with what the node reads and what to do.

use std::path::Path;

use paracompile::import::{ImportError, Problem};

use crate::failure::{Failure, Kind};
use crate::input::counted;

/// The picture of a model that cannot be imported.
pub(crate) fn picture(error: &ImportError, path: &Path) -> Failure {
    let ImportError::Invalid(problems) = error else {
        return Failure::from_error(Kind::Model, error).at(path);
    };
    let details = problems.iter().flat_map(|problem| {
        let lines = problem.to_string();
        let lines: Vec<String> = lines.lines().map(str::to_owned).collect();
        lines.into_iter().chain(more(problem, ""))
    });
    let what = match problems.as_slice() {
        [_] => "a problem".to_owned(),
        _ => counted(problems.len(), "problem"),
    };
    let failure = Failure::new(Kind::Model, format!("{}: {what}", path.display()));
    let failure = failure.with_details(details);
    let mut remedies: Vec<&str> = Vec::new();
    for remedy in problems.iter().filter_map(Problem::remedy) {
        if !remedies.contains(&remedy) {
            remedies.push(remedy);
        }
    }
    if remedies.is_empty() {
        failure
    } else {
        failure.with_help(remedies.join("\n"))
    }
}

/// What a node reads that has a problem, one line an operand.
pub(crate) fn more(problem: &Problem, indent: &str) -> Vec<String> {
    let Problem::Node { operands, .. } = problem else {
        return Vec::new();
    };
    let width = operands.iter().map(|operand| operand.tensor.len() + 2);
    let width = width.max().unwrap_or(0).min(40);
    let lines = operands.iter().enumerate().map(|(position, operand)| {
        let tensor = if operand.tensor.is_empty() {
            "-".to_owned()
        } else {
            format!("`{}`", operand.tensor)
        };
        format!(
            "{indent}  operand {position}  {tensor:<width$}  {}",
            operand.found
        )
    });
    lines.collect()
}
