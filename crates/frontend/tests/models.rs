//! The models of `models/` against the table in `models/README.md`, whose figures another program computed with another parser.

#![expect(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a test stops at what it does not expect, and printed figures need no 64 bits"
)]

use std::path::{Path, PathBuf};

use paracompile_frontend::facts::model_facts;
use paracompile_frontend::import::onnx::{Convolutions, ImportOptions, Imported, import};
use paracompile_frontend::ir::antichain::Width;
use paracompile_frontend::ir::{OpKind, Summary, TensorRole};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models")
}

/// As written, because the table counts the nodes of the file.
fn read(name: &str) -> Imported {
    let options = ImportOptions {
        convolutions: Convolutions::AsWritten,
        ..ImportOptions::default()
    };
    import(&folder().join(format!("{name}.onnx")), &options).unwrap()
}

/// One line of the table.
#[derive(Debug)]
struct Row {
    model: String,
    nodes: usize,
    parameters: f64,
    gflop: f64,
    depth: usize,
    width: usize,
    level: usize,
    fan_out: usize,
    fan_in: usize,
}

fn table() -> Vec<Row> {
    let readme = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let rows: Vec<Row> = readme
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let count = |index: usize| cells[index].parse::<usize>().unwrap();
            Row {
                model: cells[0].trim_matches('`').to_owned(),
                nodes: count(1),
                parameters: cells[2].parse().unwrap(),
                gflop: cells[3].parse().unwrap(),
                depth: count(4),
                width: count(5),
                level: count(6),
                fan_out: count(7),
                fan_in: count(8),
            }
        })
        .collect();
    assert_eq!(rows.len(), 13, "one row a model");
    rows
}

#[test]
fn structure_and_work_are_those_of_the_table() {
    for row in table() {
        let imported = read(&row.model);
        let summary = Summary::of(&imported.graph);
        assert_eq!(imported.warnings, [], "{}", row.model);
        assert_eq!(summary.operators, row.nodes, "{}", row.model);
        assert_eq!(summary.depth, row.depth, "{}", row.model);
        assert_eq!(summary.width, Width::Exactly(row.width), "{}", row.model);
        assert_eq!(summary.level_width, row.level, "{}", row.model);
        assert_eq!(summary.fan_out, row.fan_out, "{}", row.model);
        assert_eq!(summary.fan_in, row.fan_in, "{}", row.model);
        let gflop = 2.0 * summary.macs as f64 / 1e9;
        assert!(
            (gflop - row.gflop).abs() < 0.005_001,
            "{}: {gflop}",
            row.model
        );
        // The table counts the framework's parameters; folding batch norm into convolutions leaves out up to four a channel.
        // PETR embeds constant positions, and the layers that do so are folded with them.
        let least = if row.model == "petr_r50" { 0.95 } else { 0.985 };
        let millions = summary.parameters as f64 / 1e6;
        assert!(
            millions < row.parameters + 0.005 && millions > row.parameters * least,
            "{}: {millions}",
            row.model
        );
    }
}

#[test]
fn weights_are_referenced_and_never_stored() {
    // 42.7 million parameters in a file of 215 KB.
    let graph = read("inception_v4").graph;
    let generated = graph
        .tensors
        .iter()
        .filter(|(_, tensor)| matches!(tensor.role, TensorRole::Weight(_)));
    assert!(
        generated
            .map(|(_, tensor)| tensor.bytes.count())
            .sum::<u64>()
            > 160_000_000
    );
}

#[test]
fn convolutions_know_their_matrix_product() {
    let graph = read("googlenet").graph;
    let first = &graph.ops.as_slice()[0];
    // 7x7 stride 2 over 3 channels of 224x224 to 64 channels of 112x112.
    assert_eq!(first.op_type, "Conv");
    assert_eq!(first.work.rows, 112 * 112);
    assert_eq!(first.work.columns, 64);
    assert_eq!(first.work.depth, 7 * 7 * 3);
    assert_eq!(first.work.groups, 1);
    assert_eq!(first.work.kernel, [7, 7]);
    assert_eq!(first.work.stride, [2, 2]);
    assert_eq!(first.work.macs, 112 * 112 * 64 * 147);
    assert_eq!(first.work.input_bytes.count(), 3 * 224 * 224 * 4);
    assert_eq!(first.work.weight_bytes.count(), (64 * 147 + 64) * 4);
    assert_eq!(first.work.output_bytes.count(), 64 * 112 * 112 * 4);
}

#[test]
fn the_classifier_of_every_picture_network_has_a_thousand_classes() {
    for model in [
        "googlenet",
        "inception_v3",
        "inception_v4",
        "mobilenet_v2",
        "resnet50",
        "squeezenet1_1",
    ] {
        let graph = read(model).graph;
        let outputs: Vec<_> = graph
            .outputs
            .iter()
            .map(|&id| graph.tensors[id].shape.0.clone())
            .collect();
        assert_eq!(outputs, [vec![1, 1000]], "{model}");
    }
}

#[test]
fn facts_leave_out_free_operators_and_name_their_storage() {
    for row in table() {
        let graph = read(&row.model).graph;
        let facts = model_facts(&graph);
        let views = graph
            .ops
            .as_slice()
            .iter()
            .filter(|op| op.kind == OpKind::View)
            .count();
        assert_eq!(facts.operators.len() + views, row.nodes);
        assert_eq!(
            facts
                .tensors
                .iter()
                .filter(|tensor| !tensor.made_of.is_empty())
                .count(),
            views
        );
        assert_eq!(facts.graph_digest.len(), 64);
        for tensor in &facts.tensors {
            for &source in &tensor.made_of {
                assert_eq!(facts.tensors[source].bytes, tensor.bytes, "{}", tensor.name);
            }
        }
        // The checker walks operators in order and wants every operand written before.
        let mut known: Vec<bool> = facts.tensors.iter().map(|tensor| tensor.weight).collect();
        for &input in &facts.inputs {
            known[input] = true;
        }
        let is_known = |known: &[bool], mut tensor: usize| {
            while let Some(&source) = facts.tensors[tensor].made_of.first() {
                tensor = source;
            }
            known[tensor]
        };
        for operator in &facts.operators {
            assert!(operator.reads.iter().all(|&read| is_known(&known, read)));
            for &written in &operator.writes {
                known[written] = true;
            }
        }
        assert!(facts.outputs.iter().all(|&output| is_known(&known, output)));
    }
}

#[test]
fn names_digests_and_dumps_do_not_depend_on_where_the_file_lies() {
    let copy = tempfile::tempdir().unwrap();
    let moved = copy.path().join("googlenet.onnx");
    std::fs::copy(folder().join("googlenet.onnx"), &moved).unwrap();
    let here = read("googlenet").graph;
    let there = import(&moved, &ImportOptions::default()).unwrap().graph;
    assert_eq!(
        paracompile_frontend::ir::dump(&here),
        paracompile_frontend::ir::dump(&there)
    );
    assert_ne!(here.digest, read("inception_v3").graph.digest);
}
