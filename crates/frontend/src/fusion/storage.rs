//! Where the elements of a tensor lie: views followed to the tensors that own storage.
//!
//! A view owns nothing, and a concatenation in place owns nothing either: it is made of the tensors written into it.
//! Everything behind fusion speaks of owners alone, so that free operators cost nothing because they are not there.

use std::collections::BTreeSet;

use crate::arena::IdMap;
use crate::ir::{Op, OpId, OpKind, Tensor, TensorId, TensorRole, VerifiedGraph};

/// Tensors of a graph with views looked through.
#[derive(Debug)]
pub struct Storage<'g> {
    graph: &'g VerifiedGraph,
    same_as: IdMap<Tensor, TensorId>,
    constant: IdMap<Tensor, bool>,
}

impl<'g> Storage<'g> {
    /// Follows every view once.
    pub fn new(graph: &'g VerifiedGraph) -> Self {
        let mut same_as = IdMap::from_fn(&graph.tensors, |id| id);
        let mut constant = IdMap::from_fn(&graph.tensors, |id| is_weight(graph, id));
        for (_, op) in graph.ops.iter() {
            match op.kind {
                OpKind::View => {
                    let viewed = viewed(op);
                    for &output in &op.outputs {
                        same_as[output] = same_as[viewed];
                        constant[output] = constant[viewed];
                    }
                }
                OpKind::ConcatInPlace => {
                    let all_constant = op.inputs.iter().flatten().all(|&input| constant[input]);
                    for &output in &op.outputs {
                        constant[output] = all_constant;
                    }
                }
                OpKind::Compute(_) => {}
            }
        }
        Self {
            graph,
            same_as,
            constant,
        }
    }

    /// The tensor that `tensor` is a view of, or itself; a concatenation in place stands for itself.
    pub fn behind_views(&self, tensor: TensorId) -> TensorId {
        self.same_as[tensor]
    }

    /// Whether no frame changes it: a weight, a view of one, or a concatenation of such.
    pub fn is_constant(&self, tensor: TensorId) -> bool {
        self.constant[tensor]
    }

    /// The activations that `op` reads, views looked through, each once, in operand order.
    pub fn activations(&self, op: &Op) -> Vec<TensorId> {
        let mut seen = BTreeSet::new();
        op.inputs
            .iter()
            .flatten()
            .filter(|&&input| !self.is_constant(input))
            .map(|&input| self.behind_views(input))
            .filter(|&tensor| seen.insert(tensor))
            .collect()
    }

    /// The operator that wrote `tensor`, views looked through; `None` for what a frame or the file provides.
    pub fn writer(&self, tensor: TensorId) -> Option<OpId> {
        match self.graph.tensors[self.behind_views(tensor)].role {
            TensorRole::Computed(op) => Some(op),
            TensorRole::Input | TensorRole::Weight(_) => None,
        }
    }

    /// The owners of storage that `tensors` are made of, weights included.
    pub fn owners(&self, tensors: impl IntoIterator<Item = TensorId>) -> BTreeSet<TensorId> {
        let mut open: Vec<TensorId> = tensors.into_iter().collect();
        let mut seen = BTreeSet::new();
        let mut owners = BTreeSet::new();
        while let Some(tensor) = open.pop() {
            let tensor = self.behind_views(tensor);
            if !seen.insert(tensor) {
                continue;
            }
            match self.writer(tensor).map(|op| &self.graph.ops[op]) {
                Some(op) if op.kind == OpKind::ConcatInPlace => {
                    open.extend(op.inputs.iter().flatten());
                }
                Some(_) | None => {
                    owners.insert(tensor);
                }
            }
        }
        owners
    }
}

/// Whether the file holds the tensor.
pub fn is_weight(graph: &VerifiedGraph, tensor: TensorId) -> bool {
    match graph.tensors[tensor].role {
        TensorRole::Weight(_) => true,
        TensorRole::Input | TensorRole::Computed(_) => false,
    }
}

fn viewed(view: &Op) -> TensorId {
    view.inputs
        .first()
        .copied()
        .flatten()
        .expect("the verifier holds that a free operator has an operand")
}
