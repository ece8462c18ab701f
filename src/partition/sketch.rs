//! Small operator graphs, written by hand in tests.

use std::collections::BTreeMap;

use paracompile_frontend::arena::Arena;
use paracompile_frontend::ir::{
    DataType, Graph, Op, OpId, OpKind, Shape, Tensor, TensorId, TensorRole, VerifiedGraph,
    WeightRef, Work, verify,
};
use paracompile_plan::OpClass;
use paracompile_plan::plan::{ModelKind, OperatorRef};

/// A graph in the making; tensors have 64 elements unless a size is given.
pub(crate) struct Sketch {
    graph: Graph,
}

impl Sketch {
    pub(crate) fn new() -> Self {
        Self {
            graph: Graph {
                name: "sketch".to_owned(),
                kind: ModelKind::Onnx,
                digest: String::new(),
                dims: BTreeMap::new(),
                ops: Arena::new(),
                tensors: Arena::new(),
                inputs: Vec::new(),
                outputs: Vec::new(),
            },
        }
    }

    pub(crate) fn input(&mut self, name: &str) -> TensorId {
        let input = self.tensor(name, 64, TensorRole::Input);
        self.graph.inputs.push(input);
        input
    }

    pub(crate) fn weight(&mut self, name: &str) -> TensorId {
        self.tensor(name, 16, TensorRole::Weight(WeightRef::Generated))
    }

    /// An operator with one output of its own name.
    pub(crate) fn op(&mut self, name: &str, class: OpClass, inputs: &[TensorId]) -> TensorId {
        self.sized(name, class, inputs, 64)
    }

    /// The same, of another size.
    pub(crate) fn sized(
        &mut self,
        name: &str,
        class: OpClass,
        inputs: &[TensorId],
        elements: u64,
    ) -> TensorId {
        self.push(name, OpKind::Compute(class), inputs, &[elements])[0]
    }

    pub(crate) fn view(&mut self, name: &str, of: TensorId) -> TensorId {
        let elements = self.elements(&[of]);
        self.push(name, OpKind::View, &[of], &[elements])[0]
    }

    pub(crate) fn concat_in_place(&mut self, name: &str, pieces: &[TensorId]) -> TensorId {
        let elements = self.elements(pieces);
        self.push(name, OpKind::ConcatInPlace, pieces, &[elements])[0]
    }

    /// An operator of any kind with as many outputs as sizes.
    pub(crate) fn push(
        &mut self,
        name: &str,
        kind: OpKind,
        inputs: &[TensorId],
        sizes: &[u64],
    ) -> Vec<TensorId> {
        let id = OpId::from_index(self.graph.ops.len());
        let outputs: Vec<_> = sizes
            .iter()
            .enumerate()
            .map(|(index, &elements)| {
                let name = if index == 0 {
                    name.to_owned()
                } else {
                    format!("{name}.{index}")
                };
                self.tensor(&name, elements, TensorRole::Computed(id))
            })
            .collect();
        self.graph.ops.push(Op {
            at: OperatorRef {
                node: u32::try_from(id.index()).unwrap(),
                inside: Vec::new(),
                output: name.to_owned(),
            },
            name: name.to_owned(),
            op_type: "Sketch".to_owned(),
            kind,
            inputs: inputs.iter().copied().map(Some).collect(),
            outputs: outputs.clone(),
            work: match kind {
                OpKind::View | OpKind::ConcatInPlace => Work::default(),
                OpKind::Compute(_) => Work {
                    macs: 1_000_000,
                    ..Work::default()
                },
            },
        });
        outputs
    }

    pub(crate) fn finish(mut self, outputs: &[TensorId]) -> VerifiedGraph {
        self.graph.outputs = outputs.to_vec();
        verify(self.graph).unwrap()
    }

    /// How large tensors are together.
    pub(crate) fn elements(&self, tensors: &[TensorId]) -> u64 {
        let sizes = tensors
            .iter()
            .map(|&tensor| self.graph.tensors[tensor].shape.elements().unwrap());
        sizes.sum()
    }

    fn tensor(&mut self, name: &str, elements: u64, role: TensorRole) -> TensorId {
        let shape = Shape(vec![elements]);
        let dtype = DataType::Float;
        self.graph.tensors.push(Tensor {
            name: name.to_owned(),
            dtype,
            bytes: shape.bytes(dtype).unwrap(),
            shape,
            role,
        })
    }
}
