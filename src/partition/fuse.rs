//! Fusion: operators that run as one task, the same groups for all processors (rule M12).
//!
//! Which operators form a group is said by [`paracompile_frontend::fusion`]; here the groups become the graph that is mapped.
//! Where costs are known, an epilogue joins only if every processor that supports the anchor supports it too: a group must not keep its anchor from a processor.

use std::collections::BTreeSet;

use paracompile_frontend::arena::{Arena, IdMap};
use paracompile_frontend::cost::CostTable;
use paracompile_frontend::fusion::{Storage, groups, is_weight, tasks};
use paracompile_frontend::ir::{Op, OpId, Tensor, TensorId, VerifiedGraph};
use paracompile_plan::plan::ModelKind;

use super::order::arrange;
use super::{FusedGraph, FusedOp, FusedOpId, FusedTensor, FusedTensorId, FusedWeight};

/// Whether operators are grouped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FusionRule {
    /// By rule M12.
    #[default]
    Fuse,
    /// Every operator is a task of its own.
    Apart,
}

/// Groups operators into tasks, and puts the tasks in order.
pub fn fuse(graph: &VerifiedGraph) -> FusedGraph {
    fuse_by(graph, FusionRule::Fuse)
}

/// The same for a chip that does not support everything everywhere.
pub fn fuse_for(graph: &VerifiedGraph, table: &CostTable) -> FusedGraph {
    let storage = Storage::new(graph);
    let is_nowhere_lost = |anchor: OpId, epilogue: OpId| {
        let costs = table.operators[anchor].iter();
        costs
            .zip(&table.operators[epilogue])
            .all(|(anchor, epilogue)| anchor.is_none() || epilogue.is_some())
    };
    let groups = groups(graph, &storage, &is_nowhere_lost);
    arrange(assemble(graph, &storage, groups))
}

/// Tasks of given operators of a kernel graph, which have to be all of it, each once, and must not wait for each other in a circle.
///
/// # Panics
/// If the groups are not such a partition.
pub fn fuse_groups(graph: &VerifiedGraph, groups: &[Vec<OpId>]) -> FusedGraph {
    let storage = Storage::new(graph);
    let groups = topological(graph, groups);
    arrange(assemble(graph, &storage, groups))
}

/// Groups of kernels, each behind those that it waits for, and of equals the one with the first kernel first.
fn topological(graph: &VerifiedGraph, groups: &[Vec<OpId>]) -> Vec<Vec<OpId>> {
    let mut of: IdMap<Op, Option<usize>> = IdMap::filled(&graph.ops, None);
    for (group, members) in groups.iter().enumerate() {
        for &member in members {
            assert_eq!(
                of[member].replace(group),
                None,
                "an operator is in two groups"
            );
        }
    }
    let mut writer: IdMap<Tensor, Option<usize>> = IdMap::filled(&graph.tensors, None);
    for (id, op) in graph.ops.iter() {
        for &output in &op.outputs {
            writer[output] = of[id];
        }
    }
    let mut before = vec![BTreeSet::new(); groups.len()];
    for (id, op) in graph.ops.iter() {
        let own = of[id].expect("groups hold all operators");
        let read = op.inputs.iter().flatten();
        let parents = read.filter_map(|&input| writer[input]);
        before[own].extend(parents.filter(|&parent| parent != own));
    }
    let mut behind = vec![Vec::new(); groups.len()];
    for (group, parents) in before.iter().enumerate() {
        for &parent in parents {
            behind[parent].push(group);
        }
    }
    let mut open: Vec<usize> = before.iter().map(BTreeSet::len).collect();
    let first = |group: usize| (groups[group].iter().min().copied(), group);
    let mut ready: BTreeSet<_> = (0..groups.len())
        .filter(|&group| open[group] == 0)
        .map(first)
        .collect();
    let mut order = Vec::with_capacity(groups.len());
    while let Some((_, group)) = ready.pop_first() {
        let mut members = groups[group].clone();
        // Kernels are numbered in topological order.
        members.sort_unstable();
        order.push(members);
        for &child in &behind[group] {
            open[child] -= 1;
            if open[child] == 0 {
                ready.insert(first(child));
            }
        }
    }
    assert_eq!(order.len(), groups.len(), "groups wait for each other");
    order
}

/// The same, with a choice.
pub fn fuse_by(graph: &VerifiedGraph, rule: FusionRule) -> FusedGraph {
    let storage = Storage::new(graph);
    let groups = match rule {
        FusionRule::Fuse => groups(graph, &storage, &|_, _| true),
        FusionRule::Apart => tasks(graph).map(|(id, _)| vec![id]).collect(),
    };
    arrange(assemble(graph, &storage, groups))
}

/// The fused graph of `groups`, in their order.
fn assemble(graph: &VerifiedGraph, storage: &Storage<'_>, groups: Vec<Vec<OpId>>) -> FusedGraph {
    let mut producer: IdMap<Tensor, Option<FusedOpId>> = IdMap::filled(&graph.tensors, None);
    let mut readers: IdMap<Tensor, Vec<FusedOpId>> = IdMap::filled(&graph.tensors, Vec::new());
    let mut reads = Vec::with_capacity(groups.len());
    let mut weights_of = Vec::with_capacity(groups.len());
    for (index, members) in groups.iter().enumerate() {
        let group = FusedOpId::from_index(index);
        for &output in members.iter().flat_map(|&id| &graph.ops[id].outputs) {
            producer[output] = Some(group);
        }
        let operands = members
            .iter()
            .flat_map(|&id| graph.ops[id].inputs.iter().flatten().copied());
        let (weights, activations): (Vec<_>, Vec<_>) = storage
            .owners(operands)
            .into_iter()
            .filter(|&tensor| producer[tensor] != Some(group))
            .partition(|&tensor| is_weight(graph, tensor));
        let weights: Vec<FusedWeight> = weights
            .into_iter()
            .map(|tensor| FusedWeight {
                tensor,
                bytes: graph.tensors[tensor].bytes,
            })
            .collect();
        weights_of.push(weights);
        for &tensor in &activations {
            readers[tensor].push(group);
        }
        reads.push(activations);
    }

    let outputs = storage.owners(graph.outputs.iter().copied());
    let inputs: BTreeSet<TensorId> = graph.inputs.iter().copied().collect();
    // A kernel writes to memory whoever reads it; what stays between operators of a network is in registers.
    let is_kept = graph.kind == ModelKind::Kernels;
    let mut tensors = Arena::new();
    let mut fused_id: IdMap<Tensor, Option<FusedTensorId>> = IdMap::filled(&graph.tensors, None);
    for (id, tensor) in graph.tensors.iter() {
        let used = is_kept || !readers[id].is_empty() || outputs.contains(&id);
        if inputs.contains(&id) || (producer[id].is_some() && used) {
            fused_id[id] = Some(tensors.push(FusedTensor {
                tensor: id,
                name: tensor.name.clone(),
                bytes: tensor.bytes,
                producer: producer[id],
                readers: std::mem::take(&mut readers[id]),
                is_output: outputs.contains(&id),
            }));
        }
    }

    let ops = groups
        .into_iter()
        .zip(reads)
        .zip(weights_of)
        .map(|((members, reads), weights)| {
            let anchor = &graph.ops[members[0]];
            let ascending = |of: Vec<TensorId>| {
                let mut ids: Vec<_> = of.into_iter().filter_map(|id| fused_id[id]).collect();
                ids.sort_unstable();
                ids
            };
            let written = members.iter().flat_map(|&id| graph.ops[id].outputs.clone());
            FusedOp {
                name: anchor.name.clone(),
                class: anchor.class().expect("groups hold no free operators"),
                reads: ascending(reads),
                writes: ascending(written.collect()),
                members,
                weights,
            }
        })
        .collect();
    FusedGraph { ops, tensors }
}

#[cfg(test)]
mod tests {
    use paracompile_plan::Bytes;
    use paracompile_plan::OpClass::{
        Activation, BatchNorm, Conv, Elementwise, Gemm, MaxPool, Transpose,
    };

    use super::*;
    use paracompile_testkit::sketch::Sketch;

    /// Members of each group by name, in order.
    fn names(graph: &VerifiedGraph) -> Vec<Vec<&str>> {
        let fused = fuse(graph);
        let members = |op: &FusedOp| {
            let members = op.members.iter();
            members.map(|&id| graph.ops[id].name.as_str()).collect()
        };
        fused.ops.iter().map(|(_, op)| members(op)).collect()
    }

    #[test]
    fn a_convolution_takes_normalisation_activation_and_scaling() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let w = sketch.weight("w");
        let conv = sketch.op("conv", Conv, &[x, w]);
        let norm = sketch.op("norm", BatchNorm, &[conv, w]);
        let scaled = sketch.op("scaled", Elementwise, &[w, norm]);
        let relu = sketch.op("relu", Activation, &[scaled]);
        let pool = sketch.op("pool", MaxPool, &[relu]);
        let late = sketch.op("late", Activation, &[pool]);
        let graph = sketch.finish(&[late]);
        assert_eq!(
            names(&graph),
            [
                vec!["conv", "norm", "scaled", "relu"],
                vec!["pool"],
                vec!["late"]
            ]
        );
        let fused = fuse(&graph);
        let anchor = &fused.ops[FusedOpId::from_index(0)];
        assert_eq!(anchor.name, "conv");
        assert_eq!(anchor.class, Conv);
        // The weight counts once, though three members read it.
        assert_eq!(anchor.weight_bytes(), Bytes::new(64));
        let crossing: Vec<_> = fused.tensors.iter().map(|(_, t)| t.name.as_str()).collect();
        assert_eq!(crossing, ["x", "relu", "pool", "late"]);
    }

    #[test]
    fn what_others_see_is_not_fused_away() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let conv = sketch.op("conv", Conv, &[x]);
        let relu = sketch.op("relu", Activation, &[conv]);
        let pool = sketch.op("pool", MaxPool, &[conv]);
        let sum = sketch.op("sum", Elementwise, &[relu, pool]);
        let kept = sketch.op("kept", Conv, &[sum]);
        let end = sketch.op("end", Activation, &[kept]);
        let graph = sketch.finish(&[kept, end]);
        assert_eq!(names(&graph).len(), 6);
    }

    #[test]
    fn a_residual_addition_joins_the_deeper_convolution() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let stem = sketch.op("stem", Conv, &[x]);
        let one = sketch.op("one", Conv, &[stem]);
        let relu = sketch.op("relu", Activation, &[one]);
        let two = sketch.op("two", Conv, &[relu]);
        let short = sketch.op("short", Conv, &[stem]);
        let sum = sketch.op("sum", Elementwise, &[short, two]);
        let end = sketch.op("end", Activation, &[sum]);
        let graph = sketch.finish(&[end]);
        assert_eq!(
            names(&graph),
            [
                vec!["stem"],
                vec!["one", "relu"],
                vec!["short"],
                vec!["two", "sum", "end"]
            ]
        );
    }

    #[test]
    fn at_equal_depth_the_later_output_name_takes_the_addition() {
        for (first, second) in [("a", "b"), ("b", "a")] {
            let mut sketch = Sketch::new();
            let x = sketch.input("x");
            let one = sketch.op(first, Conv, &[x]);
            let two = sketch.op(second, Conv, &[x]);
            let sum = sketch.op("sum", Elementwise, &[one, two]);
            let graph = sketch.finish(&[sum]);
            assert!(names(&graph).contains(&vec!["b", "sum"]));
        }
    }

    #[test]
    fn an_addition_does_not_make_a_convolution_wait_for_a_later_operand() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let conv = sketch.op("conv", Conv, &[x]);
        let pool = sketch.op("pool", MaxPool, &[x]);
        let pool = sketch.op("pool_again", MaxPool, &[pool]);
        let sum = sketch.op("sum", Elementwise, &[conv, pool]);
        let graph = sketch.finish(&[sum]);
        assert_eq!(names(&graph).len(), 4);
    }

    #[test]
    fn a_shared_later_convolution_leaves_the_addition_alone() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let early = sketch.op("early", Conv, &[x]);
        let middle = sketch.op("middle", Conv, &[x]);
        let late = sketch.op("late", Conv, &[middle]);
        let other = sketch.op("other", MaxPool, &[late]);
        let sum = sketch.op("sum", Elementwise, &[early, late]);
        let graph = sketch.finish(&[sum, other]);
        assert!(names(&graph).contains(&vec!["sum"]));
    }

    #[test]
    fn views_between_are_looked_through_and_count_their_readers() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let w = sketch.weight("w");
        let bias = sketch.view("bias", w);
        let one = sketch.op("one", Gemm, &[x]);
        let flat = sketch.view("flat", one);
        let sum = sketch.op("sum", Elementwise, &[flat, bias]);
        let two = sketch.op("two", Gemm, &[sum]);
        let seen = sketch.view("seen", two);
        let relu = sketch.op("relu", Activation, &[seen]);
        let also = sketch.op("also", Transpose, &[two]);
        let graph = sketch.finish(&[relu, also]);
        assert_eq!(
            names(&graph),
            [vec!["one", "sum"], vec!["two"], vec!["relu"], vec!["also"]]
        );
    }

    #[test]
    fn a_piece_of_a_concatenation_in_place_is_not_fused_through() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let a = sketch.op("a", Conv, &[x]);
        let b = sketch.op("b", Conv, &[x]);
        let both = sketch.concat_in_place("both", &[a, b]);
        let relu = sketch.op("relu", Activation, &[both]);
        let graph = sketch.finish(&[relu]);
        let fused = fuse(&graph);
        assert_eq!(names(&graph), [["a"], ["b"], ["relu"]]);
        let reads = &fused.ops[FusedOpId::from_index(2)].reads;
        assert_eq!(reads.len(), 2);
    }

    #[test]
    fn an_output_concatenated_in_place_makes_its_pieces_outputs() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let a = sketch.op("a", Conv, &[x]);
        let b = sketch.op("b", Conv, &[x]);
        let both = sketch.concat_in_place("both", &[a, b]);
        let fused = fuse(&sketch.finish(&[both]));
        let outputs: Vec<_> = fused
            .tensors
            .iter()
            .map(|(_, t)| (t.name.as_str(), t.is_output))
            .collect();
        assert_eq!(outputs, [("x", false), ("a", true), ("b", true)]);
    }

    #[test]
    fn a_broadcast_of_a_small_result_is_no_epilogue() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let squeezed = sketch.sized("squeezed", MaxPool, &[x], 4);
        let gate = sketch.sized("gate", Conv, &[squeezed], 4);
        let scaled = sketch.op("scaled", Elementwise, &[x, gate]);
        let graph = sketch.finish(&[scaled]);
        assert_eq!(names(&graph), [["squeezed"], ["gate"], ["scaled"]]);
    }

    #[test]
    fn without_fusion_every_operator_is_a_task() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let conv = sketch.op("conv", Conv, &[x]);
        let view = sketch.view("view", conv);
        let relu = sketch.op("relu", Activation, &[view]);
        let graph = sketch.finish(&[relu]);
        assert_eq!(fuse_by(&graph, FusionRule::Apart).ops.len(), 2);
        assert_eq!(fuse_by(&graph, FusionRule::Fuse).ops.len(), 1);
    }

    #[test]
    fn given_groups_are_tasks_in_topological_order() {
        let mut sketch = Sketch::new();
        let input = sketch.input("x");
        let a = sketch.op("a", Conv, &[input]);
        let b = sketch.op("b", Conv, &[input]);
        let c = sketch.op("c", Conv, &[b]);
        let sum = sketch.op("d", Elementwise, &[a, c]);
        let graph = sketch.finish(&[sum]);
        let op = OpId::from_index;
        // The first group waits for the second, though its first operator comes first.
        let groups = [vec![op(0), op(3)], vec![op(2), op(1)]];
        let fused = fuse_groups(&graph, &groups);
        let members: Vec<_> = fused.ops.iter().map(|(_, op)| op.members.clone()).collect();
        assert_eq!(members, [vec![op(1), op(2)], vec![op(0), op(3)]]);
        let crossing: Vec<_> = fused.tensors.iter().map(|(_, t)| t.name.as_str()).collect();
        assert_eq!(crossing, ["x", "c", "d"]);
    }

    #[test]
    #[should_panic(expected = "groups wait for each other")]
    fn groups_that_wait_for_each_other_are_no_tasks() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let a = sketch.op("a", Conv, &[x]);
        let b = sketch.op("b", Conv, &[a]);
        let c = sketch.op("c", Conv, &[b]);
        let graph = sketch.finish(&[c]);
        let op = OpId::from_index;
        fuse_groups(&graph, &[vec![op(0), op(2)], vec![op(1)]]);
    }

    #[test]
    fn a_view_of_a_concatenation_in_place_is_made_of_its_pieces() {
        let mut sketch = Sketch::new();
        let input = sketch.input("x");
        let weight = sketch.weight("w");
        let a = sketch.op("a", Conv, &[input]);
        let b = sketch.op("b", Conv, &[input]);
        let viewed = sketch.view("v", b);
        let inner = sketch.concat_in_place("inner", &[a, viewed]);
        let outer = sketch.concat_in_place("outer", &[inner, weight, a]);
        let flat = sketch.view("flat", outer);
        let last = sketch.op("last", Gemm, &[flat]);
        let graph = sketch.finish(&[last]);
        let storage = Storage::new(&graph);
        assert_eq!(storage.owners([flat]), BTreeSet::from([a, b, weight]));
        assert!(!storage.is_constant(flat));
        assert_eq!(storage.behind_views(flat), outer);
    }

    #[test]
    fn views_of_weights_are_constant() {
        let mut sketch = Sketch::new();
        let input = sketch.input("x");
        let weight = sketch.weight("w");
        let view = sketch.view("v", weight);
        let both = sketch.concat_in_place("both", &[view, weight]);
        let last = sketch.op("last", Gemm, &[input, both]);
        let graph = sketch.finish(&[last]);
        let storage = Storage::new(&graph);
        assert!(storage.is_constant(both));
        assert_eq!(
            storage.activations(&graph.ops[storage.writer(last).unwrap()]),
            [input]
        );
    }
}
