//! Small operator graphs, for tests of what lies behind the importer.
//!
//! Tensors are vectors of single-precision numbers and operators do the least that makes them operators; who needs real shapes or work builds a graph by itself.

use std::collections::BTreeMap;

use paracompile_frontend::arena::Arena;
use paracompile_frontend::ir::{
    DataType, Graph, Op, OpId, OpKind, Shape, Tensor, TensorId, TensorRole, VerifiedGraph,
    WeightRef, Work, verify,
};
use paracompile_plan::OpClass;
use paracompile_plan::plan::{ModelKind, OperatorRef};

/// Elements of a tensor without a size.
const ELEMENTS: u64 = 64;
/// Elements of a weight without a size.
const WEIGHT_ELEMENTS: u64 = 16;

/// A graph in the making; names of tensors are unique, and an operator's first output has its name.
#[derive(Clone, Debug)]
pub struct Sketch {
    graph: Graph,
}

impl Default for Sketch {
    fn default() -> Self {
        Self::new()
    }
}

impl Sketch {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            graph: Graph {
                name: "sketch".to_owned(),
                kind: ModelKind::Onnx,
                kernels: Vec::new(),
                digest: "0".repeat(64),
                dims: BTreeMap::new(),
                rewrites: Vec::new(),
                ops: Arena::new(),
                tensors: Arena::new(),
                inputs: Vec::new(),
                outputs: Vec::new(),
            },
        }
    }

    /// A network input.
    pub fn input(&mut self, name: &str) -> TensorId {
        self.sized_input(name, ELEMENTS)
    }

    /// The same, of another size.
    pub fn sized_input(&mut self, name: &str, elements: u64) -> TensorId {
        let input = self.tensor(name, elements, TensorRole::Input);
        self.graph.inputs.push(input);
        input
    }

    /// A constant.
    pub fn weight(&mut self, name: &str) -> TensorId {
        self.sized_weight(name, WEIGHT_ELEMENTS)
    }

    /// The same, of another size.
    pub fn sized_weight(&mut self, name: &str, elements: u64) -> TensorId {
        self.tensor(name, elements, TensorRole::Weight(WeightRef::Generated))
    }

    /// An operator with one output of its own name.
    pub fn op(&mut self, name: &str, class: OpClass, inputs: &[TensorId]) -> TensorId {
        self.sized(name, class, inputs, ELEMENTS)
    }

    /// The same, of another size.
    pub fn sized(
        &mut self,
        name: &str,
        class: OpClass,
        inputs: &[TensorId],
        elements: u64,
    ) -> TensorId {
        self.push(name, OpKind::Compute(class), inputs, &[elements])[0]
    }

    /// A view of all of a tensor.
    pub fn view(&mut self, name: &str, of: TensorId) -> TensorId {
        let elements = self.elements(&[of]);
        self.push(name, OpKind::View, &[of], &[elements])[0]
    }

    /// The tensors behind each other, written there by those who compute them.
    pub fn concat_in_place(&mut self, name: &str, pieces: &[TensorId]) -> TensorId {
        let elements = self.elements(pieces);
        self.push(name, OpKind::ConcatInPlace, pieces, &[elements])[0]
    }

    /// An operator of any kind with as many outputs as sizes.
    ///
    /// # Panics
    /// If there are more than 2^32 operators.
    pub fn push(
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
                node: u32::try_from(id.index()).expect("sketches are small"),
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
            control: None,
        });
        outputs
    }

    /// The graph, verified.
    ///
    /// # Panics
    /// If it breaks an invariant of operator graphs.
    pub fn finish(mut self, outputs: &[TensorId]) -> VerifiedGraph {
        self.graph.outputs = outputs.to_vec();
        verify(self.graph).expect("sketches of tests hold the invariants")
    }

    /// How large tensors are together.
    pub fn elements(&self, tensors: &[TensorId]) -> u64 {
        let sizes = tensors
            .iter()
            .map(|&tensor| self.graph.tensors[tensor].shape.0[0]);
        sizes.sum()
    }

    fn tensor(&mut self, name: &str, elements: u64, role: TensorRole) -> TensorId {
        let shape = Shape(vec![elements]);
        let dtype = DataType::Float;
        self.graph.tensors.push(Tensor {
            name: name.to_owned(),
            dtype,
            bytes: shape.bytes(dtype).expect("sketches are small"),
            shape,
            role,
        })
    }
}
