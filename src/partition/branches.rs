//! Branches: the components of a block, and the blocks inside a branch.
//!
//! A branch is a set of operators like the network is, so it is taken apart by the same rule: split at its own gates, and between two of them into weakly connected components.
//! Where that gives at least two branches (one may be a bypass without operators), the branch forks there and the components are nested branches of it.

use super::blocks::{Run, components, gates_of, runs};
use super::{FusedGraph, FusedOpId};

/// How deep branches nest; what forks deeper is left whole.
///
/// Each level repeats its operators, and networks in use have at most two; the limit keeps a hostile file from squaring memory.
const DEEPEST: usize = 8;

/// A weakly connected component of a fan-in block without its gates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Its operators in order.
    pub ops: Vec<FusedOpId>,
    /// Where it forks inside, the branches of all fan-in blocks in it, in order; bypasses are not listed.
    /// Empty where it is a chain, and where it forks without splitting into branches.
    pub nested: Vec<Branch>,
}

/// The branches of a run of the whole network; fewer than two mean that it does not fork.
///
/// A bypass, a tensor that the closing gate reads from before the run, is one branch without operators and the last one.
pub(super) fn branches(graph: &FusedGraph, run: Run<'_>) -> Vec<Branch> {
    let mut branches: Vec<Branch> = components(graph, run.between)
        .into_iter()
        .map(|ops| branch(graph, ops, DEEPEST))
        .collect();
    if !branches.is_empty() && has_bypass(graph, run, run.between) {
        branches.push(Branch {
            ops: Vec::new(),
            nested: Vec::new(),
        });
    }
    branches
}

/// Recursion is as deep as the limit.
fn branch(graph: &FusedGraph, ops: Vec<FusedOpId>, levels: usize) -> Branch {
    let mut nested = Vec::new();
    if levels > 0 {
        for run in runs(&ops, &gates_of(graph, &ops)) {
            // Without a gate, the only run is the branch itself, which is connected.
            let is_all = run.between.len() == ops.len();
            if is_all || run.between.is_empty() {
                continue;
            }
            let parts = components(graph, run.between);
            if parts.len() > 1 || has_bypass(graph, run, &ops) {
                let inner = parts.into_iter();
                nested.extend(inner.map(|part| branch(graph, part, levels - 1)));
            }
        }
    }
    Branch { ops, nested }
}

/// Whether a tensor passes the operators of `run`: to its closing gate or, where it has none, out of `set`.
fn has_bypass(graph: &FusedGraph, run: Run<'_>, set: &[FusedOpId]) -> bool {
    let outside = |ops: &[FusedOpId], id: &FusedOpId| ops.binary_search(id).is_err();
    match (run.closing, run.opening) {
        (Some(closing), _) => graph.ops[closing].reads.iter().any(|&tensor| {
            let producer = graph.tensors[tensor].producer;
            producer.is_none_or(|producer| outside(run.between, &producer))
        }),
        (None, Some(opening)) => graph.ops[opening].writes.iter().any(|&tensor| {
            let mut readers = graph.tensors[tensor].readers.iter();
            readers.any(|reader| outside(set, reader))
        }),
        (None, None) => false,
    }
}
