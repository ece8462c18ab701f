//! Attention split by head: what is found, what is left alone, and what the rewritten nodes are.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

use std::num::NonZeroU64;
use std::path::Path;

use bytes::Bytes;
use paracompile_frontend::import::onnx::{
    Heads, ImportOptions, Imported, Warning, import, import_bytes,
};
use paracompile_plan::OpClass;
use paracompile_testkit::onnx::{Attribute, Graph, Message, dtype, fixed, floats, node};

use Attribute::Int;

fn apart(most: u64) -> ImportOptions {
    ImportOptions {
        heads: Heads::Apart {
            most: NonZeroU64::new(most).unwrap(),
        },
        ..ImportOptions::default()
    }
}

fn read(graph: &Graph, opset: i64, options: &ImportOptions) -> Imported {
    import_bytes("test", &Bytes::from(graph.model(opset)), options).unwrap()
}

/// Scaled and masked attention of `heads` heads over five positions; `between` stands before the softmax.
fn attention(heads: i64, mask: &[i64], softmax_axis: i64) -> Graph {
    let of = |rows, columns| [1, heads, rows, columns];
    Graph {
        nodes: vec![
            node("MatMul", &["q", "k"], &["scores"], &[]),
            node("Div", &["scores", "scale"], &["scaled"], &[]),
            node("Add", &["scaled", "mask"], &["masked"], &[]),
            node(
                "Softmax",
                &["masked"],
                &["weights"],
                &[("axis", Int(softmax_axis))],
            ),
            node("MatMul", &["weights", "v"], &["mixed"], &[]),
            node("Relu", &["mixed"], &["y"], &[]),
        ],
        constants: vec![floats("scale", &[8.0])],
        inputs: vec![
            fixed("q", dtype::FLOAT, &of(5, 16)),
            fixed("k", dtype::FLOAT, &of(16, 5)),
            fixed("v", dtype::FLOAT, &of(5, 16)),
            fixed("mask", dtype::FLOAT, mask),
        ],
        outputs: vec![Message::new().text(1, "y")],
        ..Graph::default()
    }
}

fn counts(imported: &Imported) -> Vec<(&str, usize)> {
    let mut counts = std::collections::BTreeMap::new();
    for (_, op) in imported.graph.ops.iter() {
        *counts.entry(op.op_type.as_str()).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

fn macs(imported: &Imported) -> u64 {
    imported.graph.ops.iter().map(|(_, op)| op.work.macs).sum()
}

#[test]
fn every_head_is_a_chain_of_its_own() {
    for opset in [13, 17, 18] {
        let graph = attention(3, &[1, 1, 5, 5], -1);
        let whole = read(&graph, opset, &ImportOptions::default());
        let split = read(&graph, opset, &apart(u64::MAX));
        assert_eq!(
            counts(&split),
            [
                ("Add", 3),
                ("Concat", 1),
                ("Div", 3),
                ("MatMul", 6),
                ("Relu", 1),
                ("Softmax", 3),
                ("Split", 3)
            ]
        );
        assert_eq!(macs(&split), macs(&whole));
        assert_eq!(split.graph.digest, whole.graph.digest);
        assert_eq!(split.graph.rewrites, ["expose-heads"]);
        assert!(split.warnings.is_empty(), "{:?}", split.warnings);
        assert!(whole.graph.rewrites.is_empty());
        // Five nodes have the place of the first head's; three splits, ten nodes of heads and a concatenation are new.
        let nodes: Vec<usize> = split.edits.iter().map(|edit| edit.node).collect();
        assert_eq!(nodes, (0..5).chain(6..20).collect::<Vec<_>>());
        // What was not touched is where it was.
        let relu = split.graph.ops.iter().find(|(_, op)| op.op_type == "Relu");
        assert_eq!(relu.unwrap().1.at.node, 5);
    }
}

#[test]
fn a_mask_of_each_head_is_split_too() {
    for mask in [&[1, 4, 5, 5][..], &[4, 1, 5]] {
        let split = read(&attention(4, mask, 3), 17, &apart(u64::MAX));
        let splits = split.graph.ops.iter();
        assert_eq!(splits.filter(|(_, op)| op.op_type == "Split").count(), 4);
    }
}

#[test]
fn layers_share_the_parts_of_a_mask_and_no_name_is_given_twice() {
    let mut graph = attention(3, &[1, 3, 5, 5], -1);
    // The same layer once more on the same operands, under other names; all nodes have one name.
    graph.nodes.truncate(5);
    let again = [
        node("MatMul", &["q", "k"], &["scores2"], &[]),
        node("Add", &["scores2", "mask"], &["masked2"], &[]),
        node("Softmax", &["masked2"], &["weights2"], &[]),
        node("MatMul", &["weights2", "v"], &["mixed2"], &[]),
        node("Add", &["mixed", "mixed2"], &["y"], &[]),
    ];
    graph.nodes.extend(again);
    let nodes = graph.nodes.into_iter().enumerate();
    let nodes = nodes.map(|(index, node)| node.text(3, if index == 0 { "q:heads" } else { "n" }));
    graph.nodes = nodes.collect();
    let split = read(&graph, 17, &apart(u64::MAX));
    // Of queries, keys, values and the mask, for both layers together.
    let splits = split.graph.ops.iter();
    assert_eq!(splits.filter(|(_, op)| op.op_type == "Split").count(), 4);
    let mut names = std::collections::BTreeSet::new();
    for edit in &split.edits {
        // The name is the text with the number 3 of a node.
        let name = field(&edit.proto, 3).unwrap();
        assert!(names.insert(name), "{:?}", String::from_utf8_lossy(name));
    }
    assert!(
        !names.contains(b"q:heads".as_slice()),
        "a node has that name already"
    );
}

/// The last text with this number of a message of texts and messages.
fn field(mut message: &[u8], number: u8) -> Option<&[u8]> {
    let mut found = None;
    while let [key, length, rest @ ..] = message {
        let (payload, behind) = rest.split_at(usize::from(*length));
        if *key == number << 3 | 2 {
            found = Some(payload);
        }
        message = behind;
    }
    found
}

#[test]
fn groups_have_equally_many_heads() {
    let graph = attention(6, &[5, 5], -1);
    for (most, groups) in [(6, 6), (5, 3), (4, 3), (3, 3), (2, 2), (1, 1)] {
        let split = read(&graph, 17, &apart(most));
        let softmax = split.graph.ops.iter();
        let softmax = softmax.filter(|(_, op)| op.class() == Some(OpClass::Softmax));
        assert_eq!(softmax.count(), groups, "{most}");
    }
}

#[test]
fn what_is_no_attention_is_left_alone() {
    // A softmax over positions of another axis mixes what a head would have for itself; one head has nothing to split.
    let across = attention(3, &[1, 1, 5, 5], 1);
    let one = attention(1, &[1, 1, 5, 5], -1);
    // Somebody else looks at the weights.
    let mut shown = attention(3, &[1, 1, 5, 5], -1);
    shown.outputs.push(Message::new().text(1, "weights"));
    for graph in [across, one, shown] {
        let imported = read(&graph, 17, &apart(u64::MAX));
        assert_eq!(imported.warnings, [Warning::NoHeads]);
        assert!(imported.edits.is_empty());
        assert!(imported.graph.rewrites.is_empty());
    }
}

#[test]
fn nodes_that_nothing_needs_do_not_stand_in_the_way() {
    let mut graph = attention(3, &[1, 1, 5, 5], -1);
    graph.nodes[4] = node("MatMul", &["dropped", "v"], &["mixed"], &[]);
    graph
        .nodes
        .insert(4, node("Dropout", &["weights"], &["dropped"], &[]));
    graph.nodes.push(node("Exp", &["scores"], &["dead"], &[]));
    let split = read(&graph, 17, &apart(u64::MAX));
    let softmax = split.graph.ops.iter();
    let softmax = softmax.filter(|(_, op)| op.class() == Some(OpClass::Softmax));
    assert_eq!(softmax.count(), 3);
    // What needs the scores of all heads keeps them together.
    graph.nodes.push(node("Shape", &["scores"], &["s"], &[]));
    graph
        .nodes
        .push(node("Cast", &["s"], &["extents"], &[("to", Int(1))]));
    graph
        .nodes
        .push(node("Add", &["extents", "extents"], &["z"], &[]));
    graph.nodes.push(node("Add", &["mixed", "z"], &["w"], &[]));
    graph.outputs = vec![Message::new().text(1, "y"), Message::new().text(1, "z")];
    let whole = read(&graph, 17, &apart(u64::MAX));
    assert!(whole.edits.is_empty());
}

#[test]
fn real_transformers_show_all_their_heads() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    for (name, layers, heads) in [("bert_base", 12, 12), ("vit_base_patch16_224", 12, 12)] {
        let path = models.join(name).with_extension("onnx");
        let whole = import(&path, &ImportOptions::default()).unwrap();
        let split = import(&path, &apart(u64::MAX)).unwrap();
        let softmax = split.graph.ops.iter();
        let softmax = softmax.filter(|(_, op)| op.class() == Some(OpClass::Softmax));
        assert_eq!(softmax.count(), layers * heads, "{name}");
        assert_eq!(macs(&split), macs(&whole), "{name}");
    }
}
