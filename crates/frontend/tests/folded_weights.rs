//! Which weights convolutions share after batch normalisation is folded into them: those that are the same value, and no others.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use paracompile_frontend::import::onnx::{ImportOptions, Imported, import_bytes};
use paracompile_frontend::ir::{DataType, TensorRole};
use paracompile_testkit::onnx::{
    Attribute, Graph, Message, dtype, fixed, node, tensor, value, zeros,
};
use proptest::prelude::*;

use Attribute::{Float, Int};

/// ONNX's number of half precision.
const HALF: i32 = 10;
const PARAMETERS: [&str; 4] = ["scale", "shift", "mean", "variance"];

/// An image of four channels through `nodes` to `outputs`.
fn network(nodes: Vec<Message>, outputs: &[&str]) -> Graph {
    let vectors = [
        "b", "b2", "scale", "shift", "mean", "variance", "y:bias", "scale2", "mean2",
    ];
    let filters = ["w", "w2"].map(|name| zeros(name, &[4, 4, 1, 1]));
    let vectors = vectors.map(|name| zeros(name, &[4]));
    Graph {
        nodes,
        inputs: vec![fixed("x", dtype::FLOAT, &[1, 4, 8, 8])],
        outputs: outputs
            .iter()
            .map(|name| Message::new().text(1, name))
            .collect(),
        constants: filters.into_iter().chain(vectors).collect(),
        ..Graph::default()
    }
}

fn read(graph: &Graph) -> Imported {
    let bytes = Bytes::from(graph.model(17));
    import_bytes("test", &bytes, &ImportOptions::default()).unwrap()
}

fn conv(operands: &[&str], to: &str) -> Message {
    node("Conv", operands, &[to], &[])
}

fn norm(from: &str, parameters: [&str; 4], to: &str, epsilon: f32) -> Message {
    let [scale, shift, mean, variance] = parameters;
    let operands = [from, scale, shift, mean, variance];
    let attributes = [("epsilon", Float(epsilon))];
    node("BatchNormalization", &operands, &[to], &attributes)
}

/// The names of the weights of each operator, in order.
fn weights(imported: &Imported) -> Vec<Vec<&str>> {
    let tensors = &imported.graph.tensors;
    let ops = imported.graph.ops.as_slice().iter();
    ops.map(|op| {
        op.inputs
            .iter()
            .flatten()
            .filter(|&&id| matches!(tensors[id].role, TensorRole::Weight(_)))
            .map(|&id| tensors[id].name.as_str())
            .collect()
    })
    .collect()
}

#[test]
fn a_filter_scaled_with_two_epsilons_is_two_filters() {
    let twice = |epsilon| {
        let nodes = vec![
            conv(&["x", "w"], "c"),
            norm("c", PARAMETERS, "y", 1e-5),
            conv(&["x", "w"], "d"),
            norm("d", PARAMETERS, "z", epsilon),
        ];
        read(&network(nodes, &["y", "z"]))
    };
    assert_eq!(twice(0.5).graph.ops.len(), 4, "nothing is folded");
    let alike = twice(1e-5);
    assert_eq!(weights(&alike), [["w", "shift"], ["w", "shift"]]);
}

#[test]
fn epsilon_has_its_default_whether_it_is_written_or_not() {
    let operands = ["d", "scale", "shift", "mean", "variance"];
    let nodes = vec![
        conv(&["x", "w"], "c"),
        norm("c", PARAMETERS, "y", 1e-5),
        conv(&["x", "w"], "d"),
        node("BatchNormalization", &operands, &["z"], &[]),
    ];
    assert_eq!(read(&network(nodes, &["y", "z"])).graph.ops.len(), 2);
}

#[test]
fn a_filter_of_both_kinds_of_convolution_is_scaled_along_two_axes() {
    let nodes = vec![
        conv(&["x", "w"], "c"),
        norm("c", PARAMETERS, "y", 1e-5),
        node("ConvTranspose", &["x", "w"], &["d"], &[]),
        norm("d", PARAMETERS, "z", 1e-5),
    ];
    assert_eq!(read(&network(nodes, &["y", "z"])).graph.ops.len(), 4);
}

#[test]
fn normalisations_that_share_their_shift_alone_make_two_biases() {
    let nodes = vec![
        conv(&["x", "w"], "c"),
        norm("c", PARAMETERS, "y", 1e-5),
        conv(&["x", "w2"], "d"),
        norm("d", ["scale2", "shift", "mean2", "variance"], "z", 1e-5),
    ];
    let imported = read(&network(nodes, &["y", "z"]));
    // One name is taken by the file.
    assert_eq!(weights(&imported), [["w", "y:bias'"], ["w2", "z:bias"]]);
    for (_, tensor) in imported.graph.tensors.iter() {
        if tensor.name.contains(":bias") {
            assert_eq!(
                (tensor.bytes.count(), tensor.shape.0.as_slice()),
                (16, &[4][..])
            );
        }
    }
}

#[test]
fn a_shift_or_bias_that_somebody_reads_as_it_is_stays_what_it_is() {
    let with = |first: &[&str], second: &[&str]| {
        let nodes = vec![
            conv(first, "c"),
            norm("c", PARAMETERS, "q", 1e-5),
            conv(second, "z"),
        ];
        let imported = read(&network(nodes, &["q", "z"]));
        let named = weights(&imported);
        named.concat().join(" ")
    };
    assert_eq!(
        with(&["x", "w"], &["x", "w2", "shift"]),
        "w q:bias w2 shift"
    );
    assert_eq!(with(&["x", "w", "b"], &["x", "w2", "b"]), "w q:bias w2 b");
    assert_eq!(with(&["x", "w", "b"], &["x", "w2", "b2"]), "w b w2 b2");
    assert_eq!(with(&["x", "w"], &["x", "w2", "scale"]), "w shift w2 scale");
    let nodes = vec![
        conv(&["x", "w"], "c"),
        norm("c", PARAMETERS, "n", 1e-5),
        node("Relu", &["n"], &["r"], &[]),
        norm("r", ["scale", "shift", "mean", "variance"], "q", 1e-5),
    ];
    let named = read(&network(nodes, &["q"]));
    assert_eq!(weights(&named)[0], ["w", "n:bias"]);
}

#[test]
fn a_bias_has_the_type_of_its_convolution() {
    let graph = Graph {
        inputs: vec![value(
            "x",
            HALF,
            &[1, 4, 8, 8].map(paracompile_testkit::onnx::Dim::Value),
        )],
        constants: PARAMETERS
            .map(|name| zeros(name, &[4]))
            .into_iter()
            .chain([tensor("w", HALF, &[4, 4, 1, 1], &[0; 32])])
            .collect(),
        ..network(
            vec![conv(&["x", "w"], "c"), norm("c", PARAMETERS, "y", 1e-5)],
            &["y"],
        )
    };
    let imported = read(&graph);
    assert_eq!(weights(&imported), [["w", "y:bias"]]);
    let op = &imported.graph.ops.as_slice()[0];
    let bias = &imported.graph.tensors[op.inputs[2].unwrap()];
    assert_eq!((bias.dtype, bias.bytes.count()), (DataType::Float16, 8));
    assert_eq!(op.work.weight_bytes.count(), 32 + 8);
}

/// A convolution of the four channels, by the numbers of the constants that it reads.
#[derive(Clone, Debug)]
struct Branch {
    transposed: bool,
    /// Filters 0 and 1 have one group, 2 and 3 have two.
    filter: usize,
    bias: Option<usize>,
    /// Scale, shift, mean, variance and whether epsilon is large.
    norm: Option<([usize; 4], bool)>,
}

const FILTERS: usize = 4;
const VECTORS: usize = 3;

fn branch() -> impl Strategy<Value = Branch> {
    let vector = 0..VECTORS;
    let norm = (
        [
            vector.clone(),
            vector.clone(),
            vector.clone(),
            vector.clone(),
        ],
        prop::bool::weighted(0.2),
    );
    let bias = prop::option::weighted(0.4, vector);
    let norm = prop::option::weighted(0.8, norm);
    (prop::bool::weighted(0.3), 0..FILTERS, bias, norm).prop_map(
        |(transposed, filter, bias, norm)| Branch {
            transposed,
            filter,
            bias,
            // A mean that is the bias cancels out, so that the folded bias would be the shift by chance.
            norm: norm.map(|([scale, shift, mean, variance], large)| {
                let mean = if Some(mean) == bias {
                    (mean + 1) % VECTORS
                } else {
                    mean
                };
                ([scale, shift, mean, variance], large)
            }),
        },
    )
}

fn groups(filter: usize) -> usize {
    1 + filter / 2
}

/// The elements of a constant; no two constants or functions of them agree.
fn elements(kind: usize, index: usize, count: usize) -> Vec<f64> {
    let element = |place: usize| {
        let seed = u32::try_from(1000 * kind + 100 * index + place).unwrap();
        1.5 + (f64::from(seed) * 1.7).sin()
    };
    (0..count).map(element).collect()
}

fn filter(index: usize) -> Vec<f64> {
    elements(1, index, 16 / groups(index))
}

fn vector(index: usize) -> Vec<f64> {
    elements(2, index, 4)
}

/// The elements of the weights that a branch reads, folded or not; a bias of its own normalisation comes last.
fn computed(branch: &Branch, is_folded: bool) -> Vec<Vec<f64>> {
    let bias = branch.bias.map(vector);
    let (Some(([scale, shift, mean, variance], large)), true) = (branch.norm, is_folded) else {
        return std::iter::once(filter(branch.filter)).chain(bias).collect();
    };
    let epsilon = if large { 0.5 } else { 1e-5 };
    let (scale, shift, mean) = (vector(scale), vector(shift), vector(mean));
    let factor: Vec<f64> = scale
        .iter()
        .zip(vector(variance))
        .map(|(scale, variance)| scale / (variance + epsilon).sqrt())
        .collect();
    let depth = 4 / groups(branch.filter);
    let scaled = filter(branch.filter).into_iter().enumerate();
    let scaled = scaled.map(|(place, element)| {
        let (first, second) = (place / depth, place % depth);
        let channel = if branch.transposed {
            first / depth * depth + second
        } else {
            first
        };
        element * factor[channel]
    });
    let bias = bias.unwrap_or(vec![0.0; 4]);
    let shifted = (0..4).map(|c| (bias[c] - mean[c]) * factor[c] + shift[c]);
    vec![scaled.collect(), shifted.collect()]
}

fn bits(elements: Vec<f64>) -> Vec<u64> {
    elements.into_iter().map(f64::to_bits).collect()
}

fn random_network(branches: &[Branch]) -> (Graph, Vec<Option<usize>>) {
    let mut nodes = Vec::new();
    let mut normalizations = Vec::new();
    for (index, branch) in branches.iter().enumerate() {
        let (filter, bias) = (
            format!("w{}", branch.filter),
            branch.bias.map(|bias| format!("v{bias}")),
        );
        let operands: Vec<&str> = ["x", &filter].into_iter().chain(bias.as_deref()).collect();
        let kind = if branch.transposed {
            "ConvTranspose"
        } else {
            "Conv"
        };
        let (between, end) = (format!("c{index}"), format!("y{index}"));
        let to = if branch.norm.is_some() {
            &between
        } else {
            &end
        };
        let group = i64::try_from(groups(branch.filter)).unwrap();
        nodes.push(node(kind, &operands, &[to], &[("group", Int(group))]));
        normalizations.push(branch.norm.map(|_| nodes.len()));
        if let Some((parameters, large)) = branch.norm {
            let names = parameters.map(|parameter| format!("v{parameter}"));
            let epsilon = if large { 0.5 } else { 1e-5 };
            nodes.push(norm(
                between.as_str(),
                names.each_ref().map(String::as_str),
                &end,
                epsilon,
            ));
        }
    }
    let filters = (0..FILTERS).map(|index| {
        let depth = i64::try_from(4 / groups(index)).unwrap();
        zeros(&format!("w{index}"), &[4, depth, 1, 1])
    });
    let vectors = (0..VECTORS).map(|index| zeros(&format!("v{index}"), &[4]));
    let outputs: Vec<String> = (0..branches.len())
        .map(|index| format!("y{index}"))
        .collect();
    let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
    let graph = Graph {
        constants: filters.chain(vectors).collect(),
        ..network(nodes, &outputs)
    };
    (graph, normalizations)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn weights_are_stored_once_for_each_value_that_somebody_reads(
        branches in prop::collection::vec(branch(), 1..6),
    ) {
        let (graph, normalizations) = random_network(&branches);
        let imported = read(&graph);
        let folded: BTreeSet<usize> = imported.folded.batch_norms.iter().map(|at| at.node).collect();
        // The values that are read, by tensor, as the nodes of the file compute them.
        let mut by_tensor: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        let named = weights(&imported);
        let mut named = named.iter();
        for (branch, normalization) in branches.iter().zip(normalizations) {
            let is_folded = normalization.is_some_and(|node| folded.contains(&node));
            let mut reads = vec![computed(branch, is_folded)];
            if let (Some((parameters, _)), false) = (branch.norm, is_folded) {
                reads.push(parameters.map(vector).to_vec());
            }
            for values in reads {
                let names = named.next().unwrap();
                prop_assert_eq!(names.len(), values.len());
                for (name, value) in names.iter().zip(values) {
                    let value = bits(value);
                    let before = by_tensor.entry(name).or_insert_with(|| value.clone());
                    prop_assert_eq!(&*before, &value, "{} is two values", name);
                }
            }
        }
        prop_assert!(named.next().is_none());
        let values: BTreeSet<&Vec<u64>> = by_tensor.values().collect();
        let needed: usize = values.iter().map(|value| 4 * value.len()).sum();
        let weights = imported.graph.tensors.iter().map(|(_, tensor)| tensor);
        let stored: u64 = weights
            .filter(|tensor| matches!(tensor.role, TensorRole::Weight(_)))
            .map(|tensor| tensor.bytes.count())
            .sum();
        prop_assert_eq!(stored, needed as u64);
    }
}
