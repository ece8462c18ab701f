//! The order of fused operators: topological, gates at their places, branches in one piece.
//!
//! The order is traced from the outputs, as Para-Pipe's partitioner does (section II.A).
//! Depth first for a start: an operator stands as late as its first reader allows, behind everything else that this reader needs and that was traced before.
//! So a projection of a long-lived tensor stands in the layer that reads it and not at the front, where it would be live across every cut in between; and a branch is traced from its end to its start before the next branch begins.
//! In blocks large enough for inner cuts, operators are then traced one by one: an **extensible** one is an operator whose readers are all traced, and of these the one that adds least to what is live goes next; the others have to wait.
//! A gate is comparable with all operators, so no choice here can move it.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use paracompile_frontend::arena::IdMap;

use super::blocks::{components, gates, runs};
use super::{FusedGraph, FusedOp, FusedOpId, FusedTensorId};

/// Components from this size on are ordered for inner cuts: those that [`super::CutRule`] cuts by default.
const LARGE: usize = 24;

/// Puts the operators of a graph, whose order is topological, into the order of this module.
pub(super) fn arrange(graph: FusedGraph) -> FusedGraph {
    let order = traced(&graph);
    let graph = graph.reordered(&order);
    let order = branches_together(&graph);
    graph.reordered(&order)
}

/// Post-order from the operators whose results the network puts out, without recursion.
///
/// Of several producers the deepest is traced first, so that a shallow one stands right before its reader instead of at the front; equally deep ones keep the order of the file.
fn traced(graph: &FusedGraph) -> Vec<FusedOpId> {
    let mut depth: IdMap<FusedOp, u32> = IdMap::filled(&graph.ops, 0);
    for id in graph.ops.ids() {
        let before = graph.producers(id).into_iter().map(|op| depth[op] + 1);
        depth[id] = before.max().unwrap_or(0);
    }
    let deepest_first = |id: FusedOpId| {
        let mut producers = graph.producers(id);
        producers.sort_by_key(|&producer| Reverse(depth[producer]));
        producers.into_iter()
    };
    let mut order = Vec::with_capacity(graph.ops.len());
    let mut reached: IdMap<FusedOp, bool> = IdMap::filled(&graph.ops, false);
    let puts_out = |id: &FusedOpId| {
        let writes = &graph.ops[*id].writes;
        writes.iter().any(|&tensor| graph.tensors[tensor].is_output)
    };
    let ends = graph.ops.ids().filter(puts_out);
    // What no output needs comes last: the verifier knows no such operator, but the order must hold all.
    for end in ends.chain(graph.ops.ids()) {
        if reached[end] {
            continue;
        }
        reached[end] = true;
        let mut open = vec![(end, deepest_first(end))];
        while let Some((id, producers)) = open.last_mut() {
            if let Some(producer) = producers.find(|&producer| !reached[producer]) {
                reached[producer] = true;
                open.push((producer, deepest_first(producer)));
            } else {
                order.push(*id);
                open.pop();
            }
        }
    }
    order
}

/// Inside each block, one component after another; a component with several ends was traced in several pieces.
fn branches_together(graph: &FusedGraph) -> Vec<FusedOpId> {
    let all: Vec<_> = graph.ops.ids().collect();
    let mut order = Vec::with_capacity(all.len());
    for run in runs(&all, &gates(graph)) {
        for component in components(graph, run.between) {
            if component.len() >= LARGE {
                order.extend(least_live(graph, &component));
            } else {
                order.extend(component);
            }
        }
        order.extend(run.closing);
    }
    order
}

/// Traces `ops` (convex, ascending) from their ends, such that few tensors are live behind each position, and of few the smaller ones; of equals the later one goes first.
///
/// Greedy: the sum over all positions is not minimal, but places between layers and cells, where cuts belong, are found.
pub(super) fn least_live(graph: &FusedGraph, ops: &[FusedOpId]) -> Vec<FusedOpId> {
    let position = |id: &FusedOpId| ops.binary_search(id).ok();
    let weight = |tensor: FusedTensorId| (1, i128::from(graph.tensors[tensor].bytes.count()));
    let is_read = |tensor: &FusedTensorId| !graph.tensors[*tensor].readers.is_empty();
    // By how much tracing an operator would change what is live: what it reads comes, what it writes goes.
    let mut growth: Vec<(i128, i128)> = Vec::with_capacity(ops.len());
    let mut untraced_readers: Vec<usize> = Vec::with_capacity(ops.len());
    for &id in ops {
        let op = &graph.ops[id];
        let comes = op.reads.iter().map(|&tensor| weight(tensor));
        let goes = op.writes.iter().copied().filter(is_read).map(weight);
        let change = goes.fold((0, 0), |sum, (count, bytes)| (sum.0 - count, sum.1 - bytes));
        growth.push(comes.fold(change, |sum, (count, bytes)| (sum.0 + count, sum.1 + bytes)));
        let readers = op
            .writes
            .iter()
            .flat_map(|&tensor| &graph.tensors[tensor].readers);
        untraced_readers.push(readers.filter_map(position).count());
    }
    let mut extensible: BTreeSet<_> = (0..ops.len())
        .filter(|&slot| untraced_readers[slot] == 0)
        .map(|slot| (growth[slot], Reverse(slot)))
        .collect();
    let mut live = BTreeSet::new();
    let mut order = Vec::with_capacity(ops.len());
    while let Some((_, Reverse(slot))) = extensible.pop_first() {
        order.push(ops[slot]);
        for &tensor in &graph.ops[ops[slot]].reads {
            if live.insert(tensor) {
                // It is live from here on, so its other readers no longer add it.
                let (count, bytes) = weight(tensor);
                for other in graph.tensors[tensor].readers.iter().filter_map(position) {
                    let waits = !extensible.remove(&(growth[other], Reverse(other)));
                    growth[other].0 -= count;
                    growth[other].1 -= bytes;
                    if !waits {
                        extensible.insert((growth[other], Reverse(other)));
                    }
                }
            }
            if let Some(producer) = graph.tensors[tensor].producer.as_ref().and_then(position) {
                untraced_readers[producer] -= 1;
                if untraced_readers[producer] == 0 {
                    extensible.insert((growth[producer], Reverse(producer)));
                }
            }
        }
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use paracompile_plan::OpClass::{Concat, Gemm, Matmul, MaxPool};

    use crate::partition::fuse;
    use paracompile_testkit::sketch::Sketch;

    #[test]
    fn a_projection_stands_in_the_layer_that_reads_it() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let memory = sketch.op("memory", Gemm, &[x]);
        let keys: Vec<_> = (0..3)
            .map(|layer| sketch.op(&format!("key{layer}"), Gemm, &[memory]))
            .collect();
        let mut query = sketch.op("query", Gemm, &[memory]);
        for (layer, &key) in keys.iter().enumerate() {
            query = sketch.op(&format!("attend{layer}"), Matmul, &[query, key]);
        }
        let fused = fuse(&sketch.finish(&[query]));
        let names: Vec<_> = fused.ops.iter().map(|(_, op)| op.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "memory", "key0", "query", "attend0", "key1", "attend1", "key2", "attend2"
            ]
        );
    }

    #[test]
    fn a_branch_with_two_ends_stays_in_one_piece() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let stem = sketch.op("stem", MaxPool, &[x]);
        let a = sketch.op("a", MaxPool, &[stem]);
        let b = sketch.op("b", MaxPool, &[stem]);
        let a1 = sketch.op("a1", MaxPool, &[a]);
        let b1 = sketch.op("b1", MaxPool, &[b]);
        let a2 = sketch.op("a2", MaxPool, &[a]);
        let join = sketch.op("join", Concat, &[a1, b1, a2]);
        let fused = fuse(&sketch.finish(&[join]));
        let names: Vec<_> = fused.ops.iter().map(|(_, op)| op.name.as_str()).collect();
        assert_eq!(names, ["stem", "a", "a1", "a2", "b", "b1", "join"]);
    }
}
