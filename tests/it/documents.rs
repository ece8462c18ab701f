//! Documents keep up with the repository: links lead somewhere, and commands that they name exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Markdown files at the root, in `docs`, and one folder down where a folder has its own README.
fn documents() -> Vec<PathBuf> {
    let mut documents = Vec::new();
    let folders = [
        "",
        "docs",
        "models",
        "profiles",
        "solver_tests",
        "output",
        "benches",
        "conformance",
        "fuzz",
    ];
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(root().join(folder)) else {
            continue;
        };
        for entry in entries {
            let path = entry.expect("the folder can be read").path();
            if path.extension().is_some_and(|extension| extension == "md") {
                documents.push(path);
            }
        }
    }
    documents.sort();
    documents
}

/// Targets of `[text](target)`, without anchors.
fn links(text: &str) -> Vec<String> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .map(|target| target.split('#').next().unwrap_or_default().to_owned())
        .filter(|target| !target.is_empty() && !target.contains("://"))
        .collect()
}

/// Targets of `make` that a document names, in code blocks or in code spans.
fn make_targets(text: &str) -> BTreeSet<String> {
    let mut targets = BTreeSet::new();
    let mut is_block = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_block = !is_block;
            continue;
        }
        let spans: Vec<&str> = if is_block {
            vec![line.trim_start().trim_start_matches("$ ")]
        } else {
            line.split('`').skip(1).step_by(2).collect()
        };
        for span in spans {
            let mut words = span.split_whitespace();
            if words.next() == Some("make") {
                // `make X=1 target # comment`
                let named = words.take_while(|word| !word.starts_with('#'));
                targets.extend(named.filter(|word| !word.contains('=')).map(str::to_owned));
            }
        }
    }
    targets
}

#[test]
fn links_lead_somewhere() {
    let mut dead = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).expect("documents are text");
        let folder = document.parent().expect("files lie in folders");
        for link in links(&text) {
            if !folder.join(&link).exists() {
                dead.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

#[test]
fn make_targets_that_documents_name_exist() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap_or_default();
    let known: BTreeSet<&str> = makefile
        .lines()
        .filter(|line| !line.starts_with(['\t', ' ', '#', '.']))
        .filter_map(|line| line.split_once(':'))
        .flat_map(|(targets, _)| targets.split_whitespace())
        .collect();
    let mut missing = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).expect("documents are text");
        for target in make_targets(&text) {
            if !known.contains(target.as_str()) {
                missing.push(format!("{}: make {target}", document.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn links_and_targets_are_found() {
    let text = "See [x](docs/x.md#a), [y](https://y) and `make test`.\n```sh\n$ make demo V=1 # fast\n```\n";
    assert_eq!(links(text), ["docs/x.md"]);
    let targets: Vec<_> = make_targets(text).into_iter().collect();
    assert_eq!(targets, ["demo", "test"]);
}
