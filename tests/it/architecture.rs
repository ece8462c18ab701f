//! Who may import whom, read off the sources.
//!
//! The table of `ARCHITECTURE.md` stands here as a constant and is compared with every path in the code, not only with `use` lines.
//! Comments, strings and code for tests do not count.
//! It reads text: a path that a macro makes up is not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::source::{self, Source};

/// A module, the folder or file that holds it, and what it may name; every module may name `plan` and itself.
///
/// Modules of the packages `paracompile-frontend` and `paracompile` have one name space here.
const MAY_IMPORT: &[(&str, &str, &[&str])] = &[
    ("plan", "crates/plan/src", &[]),
    ("arena", "crates/frontend/src/arena.rs", &[]),
    ("ir", "crates/frontend/src/ir", &["arena"]),
    ("soc", "crates/frontend/src/soc", &["arena"]),
    ("import", "crates/frontend/src/import", &["arena", "ir"]),
    (
        "components",
        "crates/frontend/src/components",
        &["arena", "import"],
    ),
    ("facts", "crates/frontend/src/facts.rs", &["arena", "ir"]),
    ("fusion", "crates/frontend/src/fusion", &["arena", "ir"]),
    ("cost", "crates/frontend/src/cost", &["arena", "ir", "soc"]),
    (
        "calibrate",
        "crates/frontend/src/calibrate",
        &["ir", "soc", "cost"],
    ),
    ("milp", "src/milp", &[]),
    (
        "partition",
        "src/partition",
        &["arena", "ir", "fusion", "cost"],
    ),
    (
        "constraints",
        "src/constraints",
        &["arena", "ir", "partition", "cost", "soc"],
    ),
    (
        "mapping",
        "src/mapping",
        &["arena", "partition", "cost", "soc", "milp"],
    ),
    (
        "cluster",
        "src/cluster",
        &[
            "arena",
            "import",
            "components",
            "ir",
            "soc",
            "cost",
            "partition",
            "mapping",
        ],
    ),
    (
        "pipeline",
        "src/pipeline",
        &["arena", "mapping", "partition", "cost", "soc"],
    ),
    // The estimator is a second opinion: it sees results of the search and never the solver.
    (
        "estimate",
        "src/estimate",
        &[
            "arena",
            "ir",
            "mapping",
            "pipeline",
            "partition",
            "cost",
            "soc",
        ],
    ),
    // The simulator runs from a plan file alone.
    ("simulate", "src/simulate", &[]),
    ("pareto", "src/pareto.rs", &[]),
    (
        "emit",
        "src/emit",
        &[
            "arena",
            "ir",
            "soc",
            "cost",
            "partition",
            "mapping",
            "pipeline",
            "estimate",
            "simulate",
            "pareto",
        ],
    ),
    // It rewrites the model's own bytes, and needs of the graph only names, types and where operators stand, and the nodes that the importer rewrote.
    ("export", "src/export", &["arena", "import", "ir"]),
    (
        "explain",
        "src/explain.rs",
        &[
            "constraints",
            "arena",
            "ir",
            "soc",
            "cost",
            "partition",
            "mapping",
            "pipeline",
            "estimate",
            "pareto",
        ],
    ),
    ("solve", "src/solve", &["cost", "mapping", "milp"]),
    (
        "compile",
        "src/compile",
        &[
            "constraints",
            "import",
            "components",
            "arena",
            "ir",
            "facts",
            "soc",
            "cost",
            "partition",
            "mapping",
            "pipeline",
            "estimate",
            "simulate",
            "pareto",
            "emit",
            "explain",
            "cluster",
        ],
    ),
    (
        "plot",
        "src/plot",
        &[
            "arena",
            "ir",
            "soc",
            "cost",
            "partition",
            "estimate",
            "simulate",
            "pareto",
            "emit",
            "compile",
        ],
    ),
    // It judges what a compile run wrote and searches nothing itself.
    (
        "compare",
        "src/compare",
        &["ir", "soc", "cost", "mapping", "emit", "compile"],
    ),
    // The page is made from files: what a plan does not say is not on it, but for the facts of model and chip.
    ("report", "src/report", &["simulate"]),
    // An oracle must not share the code that it judges.
    (
        "testkit",
        "crates/testkit/src",
        &["arena", "ir", "soc", "cost", "facts", "import"],
    ),
];

/// Edges that are there and should not be: the type is in the wrong place.
/// An edge that goes must go from here too.
const KNOWN_FAULTS: &[(&str, &str)] = &[];

/// Packages and names of the standard library that only some places may use.
const OWNED: &[(&str, &[&str])] = &[
    ("petgraph", &["crates/frontend/src/ir/antichain.rs"]),
    (
        "prost",
        &[
            "crates/frontend/src/import/onnx/wire.rs",
            "crates/frontend/src/import/onnx/decode.rs",
            // Tensors in files of their own, and constants spliced into models.
            "crates/frontend/src/import/onnx/stored_bytes.rs",
            "crates/frontend/src/import/onnx/supplement.rs",
            // Names the error of the decoder as its source.
            "crates/frontend/src/import/onnx/error.rs",
        ],
    ),
    ("memmap2", &["crates/frontend/src/import/onnx/file.rs"]),
    ("good_lp", &["src/milp/"]),
    ("highs", &["src/milp/"]),
    ("csv", &["crates/frontend/src/calibrate/sheet.rs"]),
    ("nnls", &["crates/frontend/src/calibrate/regression.rs"]),
    ("ndarray", &["crates/frontend/src/calibrate/regression.rs"]),
    ("plotters", &["src/plot/"]),
    ("resvg", &["src/plot/"]),
    ("skrifa", &["src/plot/"]),
    ("opencl3", &["crates/runtime/"]),
    ("clap", &["src/bin/"]),
    ("miette", &["src/bin/"]),
    ("ctrlc", &["src/bin/"]),
    ("proptest", &["crates/testkit/"]),
    (
        "fs",
        &[
            "src/bin/",
            "crates/plan/src/kind.rs",
            "crates/plan/src/read.rs",
            "crates/plan/src/write.rs",
            "crates/frontend/src/soc/document.rs",
            "crates/frontend/src/cost/costs_file.rs",
            "crates/frontend/src/import/onnx/file.rs",
            "crates/frontend/src/import/kernels/library.rs",
            "crates/testkit/src/case/format.rs",
            "crates/testkit/src/instances.rs",
            "crates/testkit/src/fuzz/corpus.rs",
        ],
    ),
    ("Instant", &["src/bin/", "src/compile/"]),
    ("SystemTime", &[]),
    ("println", &["src/bin/"]),
    ("eprintln", &["src/bin/"]),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every source file of the packages but the binaries', without code for tests.
fn sources() -> Vec<Source> {
    let folders = [
        "crates/plan/src",
        "crates/frontend/src",
        "crates/testkit/src",
        "src",
    ];
    let folders: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    source::read_all(root(), &folders)
}

fn is_binary(source: &Source) -> bool {
    source.path.starts_with("src/bin/")
}

/// The row that a file belongs to.
fn module_of(path: &str) -> Option<&'static str> {
    MAY_IMPORT
        .iter()
        .find(|(_, place, _)| path == *place || path.starts_with(&format!("{place}/")))
        .map(|(module, _, _)| *module)
}

/// The module that a path of a file names, if it is one of the table's.
fn target(path: &[String], file: &str) -> Option<String> {
    match path.first()?.as_str() {
        "paracompile_plan" => Some("plan".to_owned()),
        "paracompile_testkit" => Some("testkit".to_owned()),
        "crate" if file.starts_with("crates/plan/") => Some("plan".to_owned()),
        "crate" if file.starts_with("crates/testkit/") => Some("testkit".to_owned()),
        "crate" | "paracompile_frontend" | "paracompile" => path.get(1).cloned(),
        _ => None,
    }
}

#[test]
fn modules_import_what_the_table_allows() {
    let mut faults = BTreeMap::new();
    let known: BTreeSet<_> = MAY_IMPORT.iter().map(|(module, _, _)| *module).collect();
    for source in sources().iter().filter(|source| !is_binary(source)) {
        let Some(module) = module_of(&source.path) else {
            continue;
        };
        let allowed = MAY_IMPORT
            .iter()
            .find(|(name, _, _)| *name == module)
            .map(|(_, _, allowed)| *allowed)
            .unwrap_or_default();
        for path in &source.paths {
            let Some(target) = target(path, &source.path) else {
                continue;
            };
            let is_free = target == module || target == "plan" || !known.contains(target.as_str());
            if !is_free && !allowed.contains(&target.as_str()) {
                faults
                    .entry((module.to_owned(), target))
                    .or_insert_with(Vec::new)
                    .push(format!("{}: {}", source.path, path.join("::")));
            }
        }
    }
    let expected: BTreeSet<(String, String)> = KNOWN_FAULTS
        .iter()
        .map(|(from, to)| ((*from).to_owned(), (*to).to_owned()))
        .collect();
    let found: BTreeSet<_> = faults.keys().cloned().collect();
    let new: Vec<_> = faults
        .iter()
        .filter(|(edge, _)| !expected.contains(*edge))
        .map(|((from, to), places)| {
            format!("{from} must not import {to}:\n  {}", places.join("\n  "))
        })
        .collect();
    assert!(new.is_empty(), "{}", new.join("\n"));
    let gone: Vec<_> = expected.difference(&found).collect();
    assert!(
        gone.is_empty(),
        "no longer there, strike them out: {gone:?}"
    );
}

#[test]
fn every_source_file_belongs_to_a_row() {
    // Facades declare and re-export; they belong to no step.
    let facades = ["src/lib.rs", "crates/frontend/src/lib.rs"];
    let homeless: Vec<_> = sources()
        .into_iter()
        .filter(|source| !is_binary(source) && !facades.contains(&source.path.as_str()))
        .filter(|source| module_of(&source.path).is_none())
        .map(|source| source.path)
        .collect();
    assert!(homeless.is_empty(), "no row for {homeless:?}");
}

#[test]
fn the_binary_names_nothing_deeper_than_the_facade() {
    let mut deep = Vec::new();
    for source in sources().iter().filter(|source| is_binary(source)) {
        for path in &source.paths {
            let is_inner = match path.first().map(String::as_str) {
                // A module of the facade and a name in it.
                Some("paracompile") => path.len() > 3,
                Some(name) => name.starts_with("paracompile_"),
                None => false,
            };
            if is_inner
                && !path
                    .last()
                    .is_some_and(|name| name.starts_with(char::is_uppercase))
            {
                deep.push(format!("{}: {}", source.path, path.join("::")));
            }
        }
    }
    assert!(deep.is_empty(), "{}", deep.join("\n"));
}

#[test]
fn owned_names_stay_where_they_belong() {
    let mut faults = Vec::new();
    for source in sources() {
        for (name, places) in OWNED {
            let is_home = places.iter().any(|place| {
                source.path == *place || (place.ends_with('/') && source.path.starts_with(place))
            });
            if !is_home && source.names(name) {
                faults.push(format!("{} names {name}", source.path));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
