//! A network of four operators and a chip of two processors for the tests of this step.

use std::collections::BTreeMap;

use paracompile_plan::plan::{ModelKind, OperatorRef};
use paracompile_plan::{Bytes, OpClass};
use serde_json::Value;

use crate::arena::{Arena, Id};
use crate::cost::{CostOverrides, CostTable};
use crate::ir::{
    DataType, Graph, Op, OpId, OpKind, Shape, Tensor, TensorId, TensorRole, VerifiedGraph,
    WeightRef, Work, verify,
};
use crate::soc::{ProcessorId, Soc};

/// Digest of [`small_graph`].
pub(super) const DIGEST: &str = "small";

/// `x → conv → relu → flatten → add(flatten, flatten)`; the operators have ids 0 to 3, and so have their nodes.
pub(super) fn small_graph() -> VerifiedGraph {
    let mut tensors = Arena::new();
    let mut tensor = |name: &str, shape: &[u64], role| {
        let shape = Shape(shape.to_vec());
        let bytes = shape.bytes(DataType::Float).unwrap();
        tensors.push(Tensor {
            name: name.to_owned(),
            dtype: DataType::Float,
            shape,
            bytes,
            role,
        })
    };
    let computed = |op| TensorRole::Computed(Id::from_index(op));
    let x = tensor("x", &[1, 16, 8, 8], TensorRole::Input);
    let w = tensor(
        "w",
        &[32, 16, 3, 3],
        TensorRole::Weight(WeightRef::Generated),
    );
    let y = tensor("y", &[1, 32, 8, 8], computed(0));
    let z = tensor("z", &[1, 32, 8, 8], computed(1));
    let flat = tensor("flat", &[1, 2048], computed(2));
    let sum = tensor("sum", &[1, 2048], computed(3));
    let output_bytes = Bytes::new(8192);
    let convolution = Work {
        macs: 64 * 32 * 144,
        rows: 64,
        columns: 32,
        depth: 144,
        groups: 1,
        kernel: [3, 3],
        stride: [1, 1],
        dilation: [1, 1],
        input_bytes: Bytes::new(4096),
        weight_bytes: Bytes::new(18_432),
        output_bytes,
        ..Work::default()
    };
    let streaming = Work {
        other_flops: 2048,
        input_bytes: output_bytes,
        output_bytes,
        ..Work::default()
    };
    let ops = [
        op(
            0,
            "conv",
            OpKind::Compute(OpClass::Conv),
            &[x, w],
            y,
            "y",
            convolution,
        ),
        op(
            1,
            "relu",
            OpKind::Compute(OpClass::Activation),
            &[y],
            z,
            "z",
            streaming,
        ),
        op(
            2,
            "flatten",
            OpKind::View,
            &[z],
            flat,
            "flat",
            Work::default(),
        ),
        op(
            3,
            "add",
            OpKind::Compute(OpClass::Elementwise),
            &[flat, flat],
            sum,
            "sum",
            streaming,
        ),
    ];
    verify(Graph {
        name: "small".to_owned(),
        kind: ModelKind::Onnx,
        kernels: Vec::new(),
        digest: DIGEST.to_owned(),
        dims: BTreeMap::new(),
        rewrites: Vec::new(),
        ops: ops.into_iter().collect(),
        tensors,
        inputs: vec![x],
        outputs: vec![sum],
    })
    .unwrap()
}

fn op(
    node: u32,
    name: &str,
    kind: OpKind,
    inputs: &[TensorId],
    output: TensorId,
    output_name: &str,
    work: Work,
) -> Op {
    Op {
        at: OperatorRef {
            node,
            inside: Vec::new(),
            output: output_name.to_owned(),
        },
        name: name.to_owned(),
        op_type: name.to_owned(),
        kind,
        inputs: inputs.iter().copied().map(Some).collect(),
        outputs: vec![output],
        work,
        control: None,
    }
}

/// Index of the convolution in [`small_graph`].
pub(super) const CONV: usize = 0;
/// Index of the activation.
pub(super) const RELU: usize = 1;
/// Index of the view.
pub(super) const FLATTEN: usize = 2;
/// Index of the addition.
pub(super) const ADD: usize = 3;

/// The documented example: `cpu` runs all classes and fuses activations, `gpu` runs convolutions.
pub(super) fn example(edit: impl FnOnce(&mut Value)) -> Soc {
    let document = include_str!("../../../../docs/soc-profile.md");
    let text = document
        .split("```")
        .find_map(|part| part.strip_prefix("json\n"))
        .unwrap();
    let mut profile = serde_json::from_str(text).unwrap();
    edit(&mut profile);
    Soc::from_json(&profile.to_string(), "example").unwrap()
}

/// Costs of [`small_graph`] as the profile says them.
pub(super) fn table(soc: &Soc) -> CostTable {
    CostTable::new(&small_graph(), soc, &CostOverrides::default(), None).unwrap()
}

pub(super) fn ids(members: &[usize]) -> Vec<OpId> {
    members.iter().copied().map(OpId::from_index).collect()
}

pub(super) fn processor(soc: &Soc, name: &str) -> ProcessorId {
    soc.processor(name).unwrap()
}
