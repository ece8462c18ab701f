//! The guide to kernel graphs keeps up with its example: what it shows is what the files say, and what it types is what the program takes.

use std::path::{Path, PathBuf};

use crate::command::Desk;

const GUIDE: &str = include_str!("../../docs/kernel-guide.md");

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/kernels/guide")
}

fn file(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).expect("the example is committed")
}

/// Fenced blocks of a language.
fn blocks(language: &str) -> Vec<String> {
    let blocks = GUIDE.split("\n```").skip(1).step_by(2);
    blocks
        .filter_map(|block| block.split_once('\n'))
        .filter(|(known, _)| *known == language)
        .map(|(_, text)| format!("{text}\n"))
        .collect()
}

#[test]
fn the_specification_in_the_guide_is_the_example() {
    assert_eq!(blocks("json"), [file("edges.json")]);
    let sources = blocks("c");
    assert_eq!(sources, [file("gradient.cl")]);
}

#[test]
fn the_guide_counts_lines_as_they_are() {
    let count = |name: &str| file(name).lines().count();
    let (specification, host) = (count("edges.json"), count("host.c"));
    assert!(specification < 25 && specification * 5 < host);
    let counted = format!("{specification:4} edges.json\n {host:3} host.c\n");
    assert!(GUIDE.contains(&counted), "{counted}");
}

#[test]
fn the_example_is_a_kernel_graph_of_three_functions_whose_sources_are_there() {
    let desk = Desk::new();
    let path = folder().join("edges.json");
    let text = desk.run(&["inspect", &path.to_string_lossy()]).done();
    for (function, times) in [("blur", 1), ("gradient", 2), ("magnitude", 1)] {
        let line = format!("{times} times  {function} of {function}.cl");
        assert!(text.contains(&line), "{text}");
        assert!(file(&format!("{function}.cl")).contains(&format!("__kernel void {function}(")));
    }
}

#[test]
fn options_of_paracompile_in_the_guide_exist() {
    let desk = Desk::new();
    let blocks = blocks("console");
    let lines = blocks.iter().flat_map(|block| block.lines());
    let mut commands = 0;
    for line in lines.filter_map(|line| line.strip_prefix("$ paracompile ")) {
        let mut words = line.split_whitespace();
        let first = words.next().expect("a command has words");
        let asked = if Path::new(first).extension().is_some() {
            vec!["--help"]
        } else {
            vec![first, "--help"]
        };
        let help = desk.run(&asked).done();
        for option in words.filter(|word| word.starts_with('-')) {
            assert!(help.contains(option), "{line}: {option}");
        }
        commands += 1;
    }
    assert!(commands >= 3, "{commands}");
}
