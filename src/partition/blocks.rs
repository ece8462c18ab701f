//! Gates, and what lies between them: the structure that both cut points and branches are read from.
//!
//! A **gate** of a set of operators is comparable with all others of the set, and no tensor runs past it: none that is written before it, or enters the set from outside, is read behind it or outside.
//! Everything before a gate is over when it starts, and everything behind it reads, directly or not, what it wrote.
//! Comparability alone is not enough: in x → a → add, x → add, the operator `a` is comparable with all, but a move of x overlaps it.
//!
//! **Gates in linear time.** Take any topological order. Let a tensor *run past* the positions strictly between its writer (before the first position, where it enters) and its last reader (behind the last one, where it leaves).
//! Let an operator that reads nothing read a tensor that enters, and one that writes nothing write a tensor that leaves.
//! Then an operator is a gate if and only if nothing runs past its position:
//! - If nothing runs past `v`, every operator behind it is its descendant: the first that is not would read only tensors that enter or are written before `v` and not by it, and such a tensor runs past `v`. Likewise, seen from the end, every operator before it is its ancestor.
//! - If `v` is a gate, its ancestors stand before it and all others behind it, so a tensor that runs past its position runs from an ancestor (or from outside) to a descendant (or outside), and by definition there is none.
//!
//! The left side does not mention the order, so gates do not depend on it.

use super::{FusedGraph, FusedOpId, FusedTensorId};

/// Operators between two consecutive gates of a set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'a> {
    /// The gate before; `None` at the start of the set.
    pub(super) opening: Option<FusedOpId>,
    /// The operators between, possibly none.
    pub(super) between: &'a [FusedOpId],
    /// The gate behind; `None` at the end of a set whose last operator is no gate.
    pub(super) closing: Option<FusedOpId>,
}

/// Whether each operator of the graph is a gate.
///
/// A network output runs to the end, because its move to `io` overlaps what follows; a network input that is an output too is there already and does not.
pub(super) fn gates(graph: &FusedGraph) -> Vec<bool> {
    let all: Vec<_> = graph.ops.ids().collect();
    gates_of(graph, &all)
}

/// Whether each operator of `ops` is a gate of that set, which is convex and ascending.
pub(super) fn gates_of(graph: &FusedGraph, ops: &[FusedOpId]) -> Vec<bool> {
    // `changes[i]` tensors more run past position `i` than past `i − 1`.
    let mut changes = vec![0i64; ops.len() + 1];
    let mut run_past = |first: usize, behind_last: usize| {
        if first < behind_last {
            changes[first] += 1;
            changes[behind_last] -= 1;
        }
    };
    for (position, &id) in ops.iter().enumerate() {
        let op = &graph.ops[id];
        let enters = |&tensor: &FusedTensorId| {
            let producer = graph.tensors[tensor].producer;
            producer.is_none_or(|producer| ops.binary_search(&producer).is_err())
        };
        if op.reads.is_empty() || op.reads.iter().any(enters) {
            run_past(0, position);
        }
        if op.writes.is_empty() {
            run_past(position + 1, ops.len());
        }
        for &tensor in &op.writes {
            let tensor = &graph.tensors[tensor];
            let last = match tensor.readers.last().map(|last| ops.binary_search(last)) {
                Some(Ok(last)) if !tensor.is_output => last,
                // Readers are ascending, and the set is convex: the last reader is outside if any is.
                Some(Ok(_) | Err(_)) | None => ops.len(),
            };
            run_past(position + 1, last);
        }
    }
    let mut running = 0;
    changes[..ops.len()]
        .iter()
        .map(|change| {
            running += change;
            running == 0
        })
        .collect()
}

/// Splits `ops` at its gates.
pub(super) fn runs<'a>(ops: &'a [FusedOpId], gates: &[bool]) -> Vec<Run<'a>> {
    let mut runs = Vec::new();
    let mut opening = None;
    let mut first = 0;
    for (position, &is_gate) in gates.iter().enumerate() {
        if is_gate {
            let closing = Some(ops[position]);
            runs.push(Run {
                opening,
                between: &ops[first..position],
                closing,
            });
            opening = closing;
            first = position + 1;
        }
    }
    if first < ops.len() {
        runs.push(Run {
            opening,
            between: &ops[first..],
            closing: None,
        });
    }
    runs
}

/// The weakly connected components of `ops` (ascending), each ascending, by their first operator.
///
/// Operators are connected where one reads what the other writes; reading the same tensor connects nothing.
pub(super) fn components(graph: &FusedGraph, ops: &[FusedOpId]) -> Vec<Vec<FusedOpId>> {
    let mut parent: Vec<usize> = (0..ops.len()).collect();
    for (position, &id) in ops.iter().enumerate() {
        for producer in graph.producers(id) {
            if let Ok(other) = ops.binary_search(&producer) {
                let (a, b) = (root(&mut parent, position), root(&mut parent, other));
                // The smaller root wins, so a component is known by its first operator.
                parent[a.max(b)] = a.min(b);
            }
        }
    }
    let mut slot = vec![None; ops.len()];
    let mut components: Vec<Vec<FusedOpId>> = Vec::new();
    for (position, &id) in ops.iter().enumerate() {
        let index = *slot[root(&mut parent, position)].get_or_insert_with(|| {
            components.push(Vec::new());
            components.len() - 1
        });
        components[index].push(id);
    }
    components
}

fn root(parent: &mut [usize], mut of: usize) -> usize {
    while parent[of] != of {
        parent[of] = parent[parent[of]];
        of = parent[of];
    }
    of
}
