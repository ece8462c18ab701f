//! Questions about order: what an operator waits for, levels, and how much can run at once.

use std::collections::BTreeSet;

use super::antichain::{self, Width};
use super::{Graph, Op, OpId, TensorRole};
use crate::arena::IdMap;

/// Neighbours of the operators of a graph, free ones included.
#[derive(Clone, Debug)]
pub struct Topology {
    /// Operators whose results an operator reads, ascending, each once.
    pub predecessors: IdMap<Op, Vec<OpId>>,
    /// Operators that read its results, ascending, each once.
    pub successors: IdMap<Op, Vec<OpId>>,
}

impl Topology {
    /// The neighbours in `graph`, whose operators stand in topological order.
    pub fn of(graph: &Graph) -> Self {
        let mut successors: IdMap<_, Vec<OpId>> = IdMap::filled(&graph.ops, Vec::new());
        let mut predecessors: IdMap<_, Vec<OpId>> = IdMap::filled(&graph.ops, Vec::new());
        for (id, op) in graph.ops.iter() {
            let mut before = BTreeSet::new();
            for &operand in op.inputs.iter().flatten() {
                if let TensorRole::Computed(producer) = graph.tensors[operand].role {
                    before.insert(producer);
                }
            }
            for &producer in &before {
                successors[producer].push(id);
            }
            predecessors[id] = before.into_iter().collect();
        }
        Self {
            predecessors,
            successors,
        }
    }

    /// Operators on each level of longest paths, lowest first.
    pub fn level_sizes(&self) -> Vec<usize> {
        antichain::level_sizes(&self.dependencies())
    }

    /// How many operators can run at once.
    pub fn width(&self) -> Width {
        Width::of(&self.dependencies())
    }

    fn dependencies(&self) -> Vec<Vec<usize>> {
        let lists = self.predecessors.iter();
        lists
            .map(|(_, before)| before.iter().map(|id| id.index()).collect())
            .collect()
    }
}
