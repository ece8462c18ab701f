//! Properties of partitioning on random graphs, judged by definitions spelled out with a transitive closure.

use std::collections::BTreeSet;

use paracompile_frontend::ir::{OpId, OpKind, TensorId, TensorRole, VerifiedGraph};
use paracompile_plan::OpClass;
use proptest::prelude::*;

use super::blocks::gates;
use super::order::least_live;
use super::{
    Branch, CutRule, FusedGraph, FusedOpId, FusionRule, SegmentKind, fuse_by, segment, segment_by,
};
use paracompile_testkit::sketch::Sketch;

/// One operator of a random graph.
#[derive(Clone, Debug)]
struct Recipe {
    kind: u8,
    results: usize,
    operands: Vec<usize>,
    is_output: bool,
}

fn recipes(most: usize) -> impl Strategy<Value = Vec<Recipe>> {
    let operands = prop::collection::vec(0..1000usize, 0..4);
    let recipe = (0..12u8, 1..3usize, operands, prop::bool::weighted(0.08)).prop_map(
        |(kind, results, operands, is_output)| Recipe {
            kind,
            results,
            operands,
            is_output,
        },
    );
    prop::collection::vec(recipe, 1..most)
}

/// Builds the graph; what nobody reads becomes an output.
///
/// Every second operand is a recent tensor, so that long chains with few side paths come up too.
fn graph_of(recipes: &[Recipe], inputs: usize) -> VerifiedGraph {
    let mut sketch = Sketch::new();
    let mut tensors: Vec<_> = (0..inputs)
        .map(|index| sketch.input(&format!("in{index}")))
        .collect();
    let weight = sketch.weight("w");
    let mut unread = BTreeSet::new();
    let mut outputs = BTreeSet::new();
    for (index, recipe) in recipes.iter().enumerate() {
        let kind = match recipe.kind {
            0 => OpKind::View,
            1 => OpKind::ConcatInPlace,
            2 | 3 => OpKind::Compute(OpClass::Activation),
            4 | 5 => OpKind::Compute(OpClass::Elementwise),
            6 | 7 => OpKind::Compute(OpClass::MaxPool),
            _ => OpKind::Compute(OpClass::Conv),
        };
        let mut operands: Vec<_> = recipe
            .operands
            .iter()
            .map(|&pick| {
                let back = if pick % 2 == 0 {
                    1 + pick % 3
                } else {
                    1 + pick % tensors.len()
                };
                tensors[tensors.len() - back.min(tensors.len())]
            })
            .collect();
        if operands.is_empty() {
            match kind {
                OpKind::View | OpKind::ConcatInPlace => operands.push(tensors[tensors.len() - 1]),
                OpKind::Compute(_) => operands.push(weight),
            }
        }
        if kind == OpKind::View {
            operands.truncate(1);
        }
        for operand in &operands {
            unread.remove(operand);
        }
        let results = if kind == OpKind::Compute(OpClass::MaxPool) {
            recipe.results
        } else {
            1
        };
        let size = match kind {
            OpKind::View | OpKind::ConcatInPlace => sketch.elements(&operands),
            OpKind::Compute(_) => 64,
        };
        let written = sketch.push(&format!("op{index}"), kind, &operands, &vec![size; results]);
        unread.extend(written.iter().copied());
        if recipe.is_output {
            outputs.extend(written.iter().copied());
        }
        tensors.extend(written);
    }
    outputs.extend(unread);
    let outputs: Vec<_> = outputs.into_iter().collect();
    sketch.finish(&outputs)
}

/// The tensors with storage that `tensor` is made of, weights left out.
fn leaves(graph: &VerifiedGraph, tensor: TensorId) -> BTreeSet<TensorId> {
    match &graph.tensors[tensor].role {
        TensorRole::Weight(_) => BTreeSet::new(),
        TensorRole::Input => BTreeSet::from([tensor]),
        TensorRole::Computed(op) => {
            let op = &graph.ops[*op];
            match op.kind {
                OpKind::Compute(_) => BTreeSet::from([tensor]),
                OpKind::View => leaves(graph, op.inputs[0].unwrap()),
                OpKind::ConcatInPlace => {
                    let pieces = op.inputs.iter().flatten();
                    pieces.flat_map(|&piece| leaves(graph, piece)).collect()
                }
            }
        }
    }
}

fn leaves_read(graph: &VerifiedGraph, op: OpId) -> BTreeSet<TensorId> {
    let operands = graph.ops[op].inputs.iter().flatten();
    operands
        .flat_map(|&operand| leaves(graph, operand))
        .collect()
}

/// `reach[a][b]`: b depends on a.
fn closure(graph: &FusedGraph) -> Vec<Vec<bool>> {
    let count = graph.ops.len();
    let mut reach = vec![vec![false; count]; count];
    for (_, tensor) in graph.tensors.iter() {
        if let Some(producer) = tensor.producer {
            for reader in &tensor.readers {
                reach[producer.index()][reader.index()] = true;
            }
        }
    }
    for via in 0..count {
        for from in 0..count {
            for to in 0..count {
                reach[from][to] |= reach[from][via] && reach[via][to];
            }
        }
    }
    reach
}

/// The definition of a gate, word by word.
fn is_gate_by_definition(graph: &FusedGraph, reach: &[Vec<bool>], gate: FusedOpId) -> bool {
    let g = gate.index();
    let comparable = graph
        .ops
        .ids()
        .all(|op| op == gate || reach[op.index()][g] || reach[g][op.index()]);
    let passed = graph.tensors.iter().any(|(_, tensor)| {
        let before = match tensor.producer {
            Some(producer) => reach[producer.index()][g],
            None => true,
        };
        let moved_out = tensor.is_output && tensor.producer.is_some();
        let behind = moved_out || tensor.readers.iter().any(|reader| reach[g][reader.index()]);
        before && behind
    });
    comparable && !passed
}

fn assert_branches(graph: &FusedGraph, branches: &[Branch], within: &[FusedOpId]) {
    let mut seen = BTreeSet::new();
    for branch in branches {
        for id in &branch.ops {
            assert!(
                within.contains(id) && seen.insert(*id),
                "branches overlap at {id}"
            );
        }
        assert!(branch.ops.is_sorted());
        for other in branches.iter().filter(|&other| other != branch) {
            for &id in &branch.ops {
                let producers = graph.producers(id);
                assert!(
                    !producers
                        .iter()
                        .any(|producer| other.ops.contains(producer))
                );
            }
        }
        assert!(branch.nested.iter().all(|nested| !nested.ops.is_empty()));
        for nested in &branch.nested {
            assert!(nested.ops.len() < branch.ops.len());
        }
        assert_branches(graph, &branch.nested, &branch.ops);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_operator_is_in_one_group_and_the_order_is_topological(
        recipes in recipes(30), inputs in 1..4usize, apart in any::<bool>(),
    ) {
        let graph = graph_of(&recipes, inputs);
        let rule = if apart { FusionRule::Apart } else { FusionRule::Fuse };
        let fused = fuse_by(&graph, rule);
        let mut members: Vec<_> = fused.ops.iter().flat_map(|(_, op)| op.members.clone()).collect();
        members.sort_unstable();
        let tasks: Vec<_> = graph.ops.iter().filter(|(_, op)| op.class().is_some()).map(|(id, _)| id).collect();
        prop_assert_eq!(members, tasks);
        for (id, op) in fused.ops.iter() {
            prop_assert!(op.members.is_sorted());
            prop_assert!(op.reads.is_sorted() && op.writes.is_sorted());
            prop_assert!(!op.writes.is_empty());
            for &tensor in &op.reads {
                let tensor = &fused.tensors[tensor];
                prop_assert!(tensor.producer.is_none_or(|producer| producer < id));
                prop_assert!(tensor.readers.contains(&id));
            }
            for &tensor in &op.writes {
                prop_assert_eq!(fused.tensors[tensor].producer, Some(id));
            }
        }
        for (id, tensor) in fused.tensors.iter() {
            prop_assert!(tensor.readers.is_sorted());
            prop_assert!(tensor.readers.iter().all(|&reader| fused.ops[reader].reads.contains(&id)));
            prop_assert!(tensor.producer.is_some() || graph.inputs.contains(&tensor.tensor));
        }
    }

    #[test]
    fn groups_read_what_their_members_read_and_hide_what_nobody_else_sees(
        recipes in recipes(20), inputs in 1..3usize,
    ) {
        let graph = graph_of(&recipes, inputs);
        let fused = fuse_by(&graph, FusionRule::Fuse);
        let tasks: Vec<_> = graph.ops.iter().filter(|(_, op)| op.class().is_some()).map(|(id, _)| id).collect();
        let outputs: BTreeSet<_> = graph.outputs.iter().flat_map(|&output| leaves(&graph, output)).collect();
        for (_, op) in fused.ops.iter() {
            let written: BTreeSet<_> = op.members.iter().flat_map(|&id| graph.ops[id].outputs.clone()).collect();
            let read: BTreeSet<_> = op.members.iter().flat_map(|&id| leaves_read(&graph, id)).collect();
            let expected: BTreeSet<_> = read.difference(&written).copied().collect();
            let reads: BTreeSet<_> = op.reads.iter().map(|&tensor| fused.tensors[tensor].tensor).collect();
            prop_assert_eq!(reads, expected);
            for pair in op.members.windows(2) {
                let hidden = graph.ops[pair[0]].outputs[0];
                let readers: Vec<_> = tasks.iter().copied().filter(|&id| leaves_read(&graph, id).contains(&hidden)).collect();
                prop_assert_eq!(readers, vec![pair[1]]);
                prop_assert!(!outputs.contains(&hidden));
            }
        }
        let marked: BTreeSet<_> = fused.tensors.iter().filter(|(_, t)| t.is_output).map(|(_, t)| t.tensor).collect();
        prop_assert_eq!(marked, outputs);
    }

    #[test]
    fn gates_are_those_of_the_definition(recipes in recipes(16), inputs in 1..3usize) {
        let fused = fuse_by(&graph_of(&recipes, inputs), FusionRule::Fuse);
        let reach = closure(&fused);
        let expected: Vec<_> = fused.ops.ids().map(|id| is_gate_by_definition(&fused, &reach, id)).collect();
        prop_assert_eq!(gates(&fused), expected);
    }

    #[test]
    fn gates_do_not_depend_on_the_order(recipes in recipes(24), inputs in 1..3usize, seed in any::<u64>()) {
        let fused = fuse_by(&graph_of(&recipes, inputs), FusionRule::Fuse);
        let names = |graph: &FusedGraph| -> BTreeSet<String> {
            let ops = graph.ops.iter().zip(gates(graph));
            ops.filter(|(_, gate)| *gate).map(|((_, op), _)| op.name.clone()).collect()
        };
        let expected = names(&fused);
        prop_assert_eq!(names(&fused.clone().reordered(&shuffled(&fused, seed))), expected);
    }

    #[test]
    fn tracing_by_what_is_live_gives_a_topological_order(recipes in recipes(40), inputs in 1..3usize) {
        let fused = fuse_by(&graph_of(&recipes, inputs), FusionRule::Fuse);
        let all: Vec<_> = fused.ops.ids().collect();
        let order = least_live(&fused, &all);
        let mut seen = BTreeSet::new();
        for id in &order {
            prop_assert!(fused.producers(*id).iter().all(|producer| seen.contains(producer)));
            prop_assert!(seen.insert(*id));
        }
        prop_assert_eq!(seen.len(), all.len());
    }

    #[test]
    fn segments_partition_the_operators_and_are_convex(
        recipes in recipes(40), inputs in 1..3usize, block in 3..12usize,
    ) {
        let rule = CutRule { block, apart: 2, ..CutRule::default() };
        let segments = segment_by(fuse_by(&graph_of(&recipes, inputs), FusionRule::Fuse), rule);
        let graph = &segments.graph;
        prop_assert_eq!(segments.cuts.len(), segments.segments.len() + 1);
        prop_assert_eq!(segments.cuts[0].position, 0);
        prop_assert_eq!(segments.cuts.last().unwrap().position, graph.ops.len());
        let cut_behind: BTreeSet<_> = segments.cuts.iter().map(|cut| cut.position).collect();
        for (position, is_gate) in gates(graph).into_iter().enumerate() {
            prop_assert!(!is_gate || cut_behind.contains(&(position + 1)));
        }
        let reach = closure(graph);
        for (index, segment) in segments.segments.iter().enumerate() {
            prop_assert_eq!(segment.ops.clone(), segments.cuts[index].position..segments.cuts[index + 1].position);
            prop_assert!(!segment.ops.is_empty());
            for outside in (0..graph.ops.len()).filter(|op| !segment.ops.contains(op)) {
                let from = segment.ops.clone().any(|op| reach[op][outside]);
                let to = segment.ops.clone().any(|op| reach[outside][op]);
                prop_assert!(!(from && to), "segment {} is not convex", index);
            }
        }
        for cut in &segments.cuts {
            let live: Vec<_> = graph.tensors.iter().filter(|(_, tensor)| {
                tensor.producer.is_none_or(|op| op.index() < cut.position)
                    && tensor.readers.iter().any(|op| op.index() >= cut.position)
            }).map(|(id, _)| id).collect();
            prop_assert_eq!(&cut.live, &live);
        }
    }

    #[test]
    fn branches_are_disjoint_components_that_cover_their_block(recipes in recipes(40), inputs in 1..3usize) {
        let segments = segment(fuse_by(&graph_of(&recipes, inputs), FusionRule::Fuse));
        let graph = &segments.graph;
        let is_gate = gates(graph);
        let ids: Vec<_> = graph.ops.ids().collect();
        for segment in &segments.segments {
            let ops = &ids[segment.ops.clone()];
            match &segment.kind {
                SegmentKind::Chain => for pair in ops.windows(2) {
                    prop_assert!(graph.producers(pair[1]).contains(&pair[0]));
                },
                SegmentKind::FanIn { branches } => {
                    prop_assert!(branches.len() >= 2);
                    prop_assert!(branches[..branches.len() - 1].iter().all(|branch| !branch.ops.is_empty()));
                    assert_branches(graph, branches, ops);
                    let in_branches: usize = branches.iter().map(|branch| branch.ops.len()).sum();
                    let joined = usize::from(is_gate[segment.ops.end - 1]);
                    prop_assert_eq!(in_branches + joined, ops.len());
                }
                SegmentKind::Irregular => prop_assert!(ops.len() > 1),
            }
        }
    }
}

/// A topological order chosen by a small generator.
fn shuffled(graph: &FusedGraph, mut seed: u64) -> Vec<FusedOpId> {
    let mut left: Vec<_> = graph.ops.ids().collect();
    let mut done = BTreeSet::new();
    let mut order = Vec::new();
    while !left.is_empty() {
        let ready: Vec<_> = (0..left.len())
            .filter(|&slot| {
                graph
                    .producers(left[slot])
                    .iter()
                    .all(|op| done.contains(op))
            })
            .collect();
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let pick = ready[usize::try_from(seed >> 33).unwrap() % ready.len()];
        let id = left.remove(pick);
        done.insert(id);
        order.push(id);
    }
    order
}

#[test]
fn long_and_deep_graphs_are_no_trouble() {
    let mut sketch = Sketch::new();
    let mut end = sketch.input("x");
    let mut heads = Vec::new();
    for index in 0..10_000 {
        end = sketch.op(&format!("down{index}"), OpClass::MaxPool, &[end]);
        heads.push(end);
    }
    for (index, &head) in heads.iter().rev().enumerate() {
        end = sketch.op(&format!("up{index}"), OpClass::Concat, &[end, head]);
    }
    let segments = segment(fuse_by(&sketch.finish(&[end]), FusionRule::Fuse));
    assert_eq!(segments.graph.ops.len(), 20_000);

    let mut sketch = Sketch::new();
    let mut end = sketch.input("x");
    for index in 0..20_000 {
        end = sketch.op(&format!("op{index}"), OpClass::MaxPool, &[end]);
        end = sketch.view(&format!("view{index}"), end);
    }
    let segments = segment(fuse_by(&sketch.finish(&[end]), FusionRule::Fuse));
    assert!((250..=258).contains(&segments.segments.len()));
    assert!(
        segments
            .segments
            .iter()
            .all(|segment| segment.kind == SegmentKind::Chain)
    );
}
