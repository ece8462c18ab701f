//! Gates by their definition: comparable with every operator, and nothing runs past.

use super::Instance;

/// Positions behind gates in the order of operators, the start and the end included, ascending.
///
/// An operator is a gate where every other one is its ancestor or its descendant, and no tensor runs past it from ancestor to descendant.
/// Inputs of the network count as written before everything, outputs as read after it.
/// Then every topological order has the ancestors as a prefix, so a position says everything.
pub fn gates(instance: &Instance) -> Vec<usize> {
    let count = instance.operators.len();
    let ancestors = ancestors(instance);
    let is_gate = |gate: usize| {
        let comparable = (0..count).all(|other| {
            other == gate
                || ancestors[gate] & (1 << other) != 0
                || ancestors[other] & (1 << gate) != 0
        });
        let is_past = |tensor: &super::Tensor| {
            tensor.producer != Some(gate)
                && tensor
                    .producer
                    .is_none_or(|producer| ancestors[gate] & (1 << producer) != 0)
                && (tensor.is_output && tensor.producer.is_some()
                    || tensor
                        .readers
                        .iter()
                        .any(|&reader| ancestors[reader] & (1 << gate) != 0))
        };
        comparable && !instance.tensors.iter().any(is_past)
    };
    let mut positions = vec![0];
    positions.extend(
        (0..count)
            .filter(|&gate| is_gate(gate))
            .map(|gate| gate + 1),
    );
    if positions.last() != Some(&count) {
        positions.push(count);
    }
    positions
}

/// All ancestors of each operator, as bit masks.
fn ancestors(instance: &Instance) -> Vec<u32> {
    let mut ancestors: Vec<u32> = Vec::new();
    for operator in 0..instance.operators.len() {
        let direct = instance.predecessors(operator);
        let all = (0..operator)
            .filter(|&other| direct & (1 << other) != 0)
            .fold(direct, |mask, other| mask | ancestors[other]);
        ancestors.push(all);
    }
    ancestors
}
