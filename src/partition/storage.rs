//! Where the elements of a tensor lie: views followed to the tensors that own storage.
//!
//! A view owns nothing, and a concatenation in place owns nothing either: it is made of the tensors written into it.
//! Everything behind fusion speaks of owners alone, so that free operators cost nothing because they are not there.

use std::collections::BTreeSet;

use paracompile_frontend::arena::IdMap;
use paracompile_frontend::ir::{Op, OpId, OpKind, Tensor, TensorId, TensorRole, VerifiedGraph};

/// Tensors of a graph with views looked through.
#[derive(Debug)]
pub(super) struct Storage<'g> {
    graph: &'g VerifiedGraph,
    same_as: IdMap<Tensor, TensorId>,
    constant: IdMap<Tensor, bool>,
}

impl<'g> Storage<'g> {
    /// Follows every view once.
    pub(super) fn new(graph: &'g VerifiedGraph) -> Self {
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
    pub(super) fn behind_views(&self, tensor: TensorId) -> TensorId {
        self.same_as[tensor]
    }

    /// Whether no frame changes it: a weight, a view of one, or a concatenation of such.
    pub(super) fn is_constant(&self, tensor: TensorId) -> bool {
        self.constant[tensor]
    }

    /// The activations that `op` reads, views looked through, each once, in operand order.
    pub(super) fn activations(&self, op: &Op) -> Vec<TensorId> {
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
    pub(super) fn writer(&self, tensor: TensorId) -> Option<OpId> {
        match self.graph.tensors[self.behind_views(tensor)].role {
            TensorRole::Computed(op) => Some(op),
            TensorRole::Input | TensorRole::Weight(_) => None,
        }
    }

    /// The owners of storage that `tensors` are made of, weights included.
    pub(super) fn owners(&self, tensors: impl IntoIterator<Item = TensorId>) -> BTreeSet<TensorId> {
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
pub(super) fn is_weight(graph: &VerifiedGraph, tensor: TensorId) -> bool {
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

#[cfg(test)]
mod tests {
    use paracompile_plan::OpClass;

    use super::*;
    use paracompile_testkit::sketch::Sketch;

    #[test]
    fn a_view_of_a_concatenation_in_place_is_made_of_its_pieces() {
        let mut sketch = Sketch::new();
        let input = sketch.input("x");
        let weight = sketch.weight("w");
        let a = sketch.op("a", OpClass::Conv, &[input]);
        let b = sketch.op("b", OpClass::Conv, &[input]);
        let viewed = sketch.view("v", b);
        let inner = sketch.concat_in_place("inner", &[a, viewed]);
        let outer = sketch.concat_in_place("outer", &[inner, weight, a]);
        let flat = sketch.view("flat", outer);
        let last = sketch.op("last", OpClass::Gemm, &[flat]);
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
        let last = sketch.op("last", OpClass::Gemm, &[input, both]);
        let graph = sketch.finish(&[last]);
        let storage = Storage::new(&graph);
        assert!(storage.is_constant(both));
        assert_eq!(
            storage.activations(&graph.ops[storage.writer(last).unwrap()]),
            [input]
        );
    }
}
