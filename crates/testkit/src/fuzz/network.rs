//! Any bytes as an operator graph, which need not hold the verifier's invariants.

use std::collections::BTreeMap;

use paracompile_frontend::arena::{Arena, Id};
use paracompile_frontend::ir::{
    DataType, Graph, Op, OpKind, Shape, Tensor, TensorId, TensorRole, WeightRef, Work,
};
use paracompile_plan::OpClass::{
    self, Activation, BatchNorm, Concat, Conv, Elementwise, Gemm, MaxPool, Opaque, Reduce, Softmax,
};
use paracompile_plan::plan::{ModelKind, OperatorRef};

use super::choices::Choices;

/// The most operators.
const OPERATORS: usize = 64;

/// The graph that `data` describes.
///
/// # Panics
/// Never: the sizes are small.
pub fn network(data: &[u8]) -> Graph {
    let mut choices = Choices::new(data);
    let mut writer = Writer {
        tensors: Arena::new(),
        ops: Arena::new(),
        read: Vec::new(),
    };
    let inputs: Vec<TensorId> = (0..=choices.below(3))
        .map(|_| writer.tensor(TensorRole::Input, 64))
        .collect();
    for _ in 0..choices.below(3) {
        writer.tensor(TensorRole::Weight(WeightRef::Generated), 16);
    }
    for _ in 0..OPERATORS {
        if choices.is_done() {
            break;
        }
        writer.operator(&mut choices);
    }
    let mut outputs: Vec<TensorId> = writer
        .tensors
        .ids()
        .filter(|&id| writer.is_computed(id) && !writer.read.contains(&id))
        .collect();
    if choices.happens(60) {
        outputs.push(writer.any(&mut choices));
    }
    Graph {
        name: "fuzz".to_owned(),
        kind: ModelKind::Onnx,
        kernels: Vec::new(),
        digest: "0".repeat(64),
        dims: BTreeMap::new(),
        rewrites: Vec::new(),
        ops: writer.ops,
        inputs: inputs
            .into_iter()
            .filter(|id| writer.read.contains(id) || choices.happens(10))
            .collect(),
        tensors: writer.tensors,
        outputs,
    }
}

struct Writer {
    tensors: Arena<Tensor>,
    ops: Arena<Op>,
    read: Vec<TensorId>,
}

impl Writer {
    fn is_computed(&self, id: TensorId) -> bool {
        matches!(self.tensors[id].role, TensorRole::Computed(_))
    }

    fn any(&self, choices: &mut Choices<'_>) -> TensorId {
        let count = self.tensors.len();
        let back = choices.byte();
        // Recent tensors more often: chains and blocks rather than a star.
        let index = if back < 150 {
            count - 1 - usize::from(back) % count.min(4)
        } else {
            choices.below(256) % count
        };
        // An id of no tensor at all, rarely.
        Id::from_index(if back == 255 { count } else { index })
    }

    fn operator(&mut self, choices: &mut Choices<'_>) {
        const CLASSES: [OpClass; 10] = [
            Conv,
            Activation,
            BatchNorm,
            Concat,
            Elementwise,
            Gemm,
            MaxPool,
            Opaque,
            Reduce,
            Softmax,
        ];
        let id = Id::from_index(self.ops.len());
        let kind = match choices.below(12) {
            10 => OpKind::View,
            11 => OpKind::ConcatInPlace,
            class => OpKind::Compute(CLASSES[class]),
        };
        let most = match kind {
            OpKind::View => 1,
            OpKind::ConcatInPlace | OpKind::Compute(_) => 1 + choices.below(4),
        };
        let operands: Vec<TensorId> = (0..most).map(|_| self.any(choices)).collect();
        self.read.extend(&operands);
        let size = |id: &TensorId| self.tensors.try_get(*id).map_or(64, |read| read.shape.0[0]);
        let elements = match kind {
            OpKind::View => size(&operands[0]),
            OpKind::ConcatInPlace => operands.iter().map(size).fold(0, u64::saturating_add),
            OpKind::Compute(_) => [64, 64, 64, 1, 1 << 20, u64::MAX / 64][choices.below(6)],
        };
        let results = if choices.happens(30) { 2 } else { 1 };
        let outputs = (0..results)
            .map(|_| self.tensor(TensorRole::Computed(id), elements))
            .collect();
        self.ops.push(Op {
            at: OperatorRef {
                node: u32::try_from(id.index()).expect("graphs are small"),
                inside: Vec::new(),
                output: format!("t{}", self.tensors.len() - 1),
            },
            name: format!("op{}", id.index()),
            op_type: "Fuzz".to_owned(),
            kind,
            inputs: operands.into_iter().map(Some).collect(),
            outputs,
            work: match kind {
                OpKind::View | OpKind::ConcatInPlace => Work::default(),
                OpKind::Compute(_) => Work {
                    macs: u64::from(choices.byte()) << choices.below(60),
                    ..Work::default()
                },
            },
            control: None,
        });
    }

    fn tensor(&mut self, role: TensorRole, elements: u64) -> TensorId {
        let shape = Shape(vec![elements]);
        let dtype = DataType::Int8;
        let name = format!("t{}", self.tensors.len());
        self.tensors.push(Tensor {
            name,
            dtype,
            bytes: shape.bytes(dtype).unwrap_or_default(),
            shape,
            role,
        })
    }
}
