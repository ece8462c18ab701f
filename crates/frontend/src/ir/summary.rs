//! Totals of a graph, for people who decide whether mapping it is worth their time.

use std::collections::BTreeMap;

use paracompile_plan::{Bytes, OpClass};

use super::antichain::Width;
use super::topo::Topology;
use super::{Graph, TensorRole};

/// Totals of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Operators, free ones included.
    pub operators: usize,
    /// Free operators.
    pub free: usize,
    /// Totals by class, in the order of [`OpClass::ALL`]; classes without operators are left out.
    pub classes: Vec<ClassTotals>,
    /// Multiply-accumulates.
    pub macs: u64,
    /// Floating-point operations, two a multiply-accumulate.
    pub flops: u64,
    /// Elements of all weights that operators read; constants that only parametrise an operator are none.
    pub parameters: u64,
    /// Bytes of all weights.
    pub weight_bytes: Bytes,
    /// Bytes of everything that a frame computes, views not counted again.
    pub activation_bytes: Bytes,
    /// Operators on a longest path.
    pub depth: usize,
    /// The most operators that can run at once.
    pub width: Width,
    /// The most operators on one level of longest paths.
    pub level_width: usize,
    /// Operators with two or more different successors.
    pub fan_out: usize,
    /// Operators with two or more different predecessors.
    pub fan_in: usize,
}

/// Totals of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassTotals {
    /// The class.
    pub class: OpClass,
    /// Operators.
    pub operators: usize,
    /// Floating-point operations.
    pub flops: u64,
    /// Bytes read and written.
    pub bytes: Bytes,
}

impl Summary {
    /// The totals of `graph`.
    pub fn of(graph: &Graph) -> Self {
        let topology = Topology::of(graph);
        let levels = topology.level_sizes();
        let ops = graph.ops.as_slice();
        let count_many =
            |neighbours: &[usize]| neighbours.iter().filter(|&&count| count > 1).count();
        let successors: Vec<_> = topology
            .successors
            .iter()
            .map(|(_, after)| after.len())
            .collect();
        let predecessors: Vec<_> = topology
            .predecessors
            .iter()
            .map(|(_, before)| before.len())
            .collect();
        let weights = graph
            .tensors
            .as_slice()
            .iter()
            .filter(|tensor| match tensor.role {
                TensorRole::Weight(_) => true,
                TensorRole::Input | TensorRole::Computed(_) => false,
            });
        Self {
            operators: ops.len(),
            free: ops.iter().filter(|op| op.class().is_none()).count(),
            classes: classes(graph),
            macs: saturating_sum(ops.iter().map(|op| op.work.macs)),
            flops: saturating_sum(ops.iter().map(|op| op.work.flops())),
            parameters: saturating_sum(
                weights
                    .clone()
                    .map(|weight| weight.shape.elements().unwrap_or(u64::MAX)),
            ),
            weight_bytes: weights.map(|weight| weight.bytes).sum(),
            activation_bytes: ops
                .iter()
                .filter(|op| op.class().is_some())
                .flat_map(|op| &op.outputs)
                .map(|&output| graph.tensors[output].bytes)
                .sum(),
            depth: levels.len(),
            width: topology.width(),
            level_width: levels.into_iter().max().unwrap_or(0),
            fan_out: count_many(&successors),
            fan_in: count_many(&predecessors),
        }
    }
}

fn saturating_sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

fn classes(graph: &Graph) -> Vec<ClassTotals> {
    let mut totals = BTreeMap::<OpClass, ClassTotals>::new();
    for (_, op) in graph.ops.iter() {
        let Some(class) = op.class() else {
            continue;
        };
        let total = totals.entry(class).or_insert(ClassTotals {
            class,
            operators: 0,
            flops: 0,
            bytes: Bytes::ZERO,
        });
        total.operators += 1;
        total.flops = total.flops.saturating_add(op.work.flops());
        total.bytes += op.work.input_bytes + op.work.weight_bytes + op.work.output_bytes;
    }
    totals.into_values().collect()
}
