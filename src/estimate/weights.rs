//! Which constants operators read, directly or through views.

use std::collections::BTreeSet;

use paracompile_frontend::ir::{OpId, OpKind, TensorId, TensorRole, VerifiedGraph};

/// The weights that operators read, ascending; views are followed to what they are made of.
pub(crate) fn read_by(graph: &VerifiedGraph, members: &[OpId]) -> BTreeSet<TensorId> {
    let mut seen = BTreeSet::new();
    let mut weights = BTreeSet::new();
    let mut open: Vec<TensorId> = members
        .iter()
        .flat_map(|&member| graph.ops[member].inputs.iter().flatten().copied())
        .collect();
    while let Some(tensor) = open.pop() {
        if !seen.insert(tensor) {
            continue;
        }
        match graph.tensors[tensor].role {
            TensorRole::Input => {}
            TensorRole::Weight(_) => {
                weights.insert(tensor);
            }
            TensorRole::Computed(producer) => {
                let op = &graph.ops[producer];
                match op.kind {
                    OpKind::View => open.extend(op.inputs.first().copied().flatten()),
                    OpKind::ConcatInPlace => open.extend(op.inputs.iter().flatten()),
                    OpKind::Compute(_) => {}
                }
            }
        }
    }
    weights
}
