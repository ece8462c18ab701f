//! What the independent checker gets to know of a model.
//!
//! Derived from the verified graph alone, so that checking a plan starts from the model file and trusts nothing in the plan.

use std::collections::HashSet;

use paracompile_plan::facts::{ArgumentFacts, LaunchFacts, ModelFacts, OperatorFacts, TensorFacts};

use crate::ir::{
    Graph, KernelCall, KernelOperand, Op, OpKind, Tensor, TensorId, TensorRole, VerifiedGraph,
};

/// The facts of `graph`; the index of a tensor in them is that of its id.
pub fn model_facts(graph: &VerifiedGraph) -> ModelFacts {
    let indices = |ids: &[TensorId]| ids.iter().map(|id| id.index()).collect();
    ModelFacts {
        name: graph.name.clone(),
        kind: graph.kind,
        graph_digest: graph.digest.clone(),
        dims: graph.dims.clone(),
        rewrites: graph.rewrites.clone(),
        inputs: indices(&graph.inputs),
        outputs: indices(&graph.outputs),
        operators: graph
            .ops
            .iter()
            .filter_map(|(id, op)| operator(op, graph.kernels.get(id.index())))
            .collect(),
        tensors: graph
            .tensors
            .as_slice()
            .iter()
            .map(|tensor| tensor_facts(graph, tensor))
            .collect(),
    }
}

fn operator(op: &Op, call: Option<&KernelCall>) -> Option<OperatorFacts> {
    let mut seen = HashSet::new();
    Some(OperatorFacts {
        at: op.at.clone(),
        class: op.class()?,
        reads: op
            .inputs
            .iter()
            .flatten()
            .map(|id| id.index())
            .filter(|&index| seen.insert(index))
            .collect(),
        writes: op.outputs.iter().map(|id| id.index()).collect(),
        launch: call.map(launch),
    })
}

fn launch(call: &KernelCall) -> LaunchFacts {
    let arguments = call.arguments.iter().map(|argument| match argument {
        KernelOperand::In(tensor) => ArgumentFacts::In(tensor.index()),
        KernelOperand::Out(tensor) => ArgumentFacts::Out(tensor.index()),
        KernelOperand::InOut { read, written } => ArgumentFacts::InOut {
            read: read.index(),
            written: written.index(),
        },
        KernelOperand::Scalar { dtype, value } => ArgumentFacts::Scalar {
            dtype: dtype.clone(),
            value: value.clone(),
        },
        KernelOperand::Local(bytes) => ArgumentFacts::Local(*bytes),
    });
    LaunchFacts {
        file: call.file.clone(),
        function: call.function.clone(),
        defines: call.defines.clone(),
        global: call.global.clone(),
        local: call.local.clone(),
        arguments: arguments.collect(),
    }
}

fn tensor_facts(graph: &Graph, tensor: &Tensor) -> TensorFacts {
    TensorFacts {
        name: tensor.name.clone(),
        dtype: tensor.dtype.name().to_owned(),
        shape: tensor.shape.0.clone(),
        bytes: tensor.bytes,
        weight: matches!(tensor.role, TensorRole::Weight(_)),
        made_of: made_of(graph, tensor),
    }
}

/// What a view lies in.
fn made_of(graph: &Graph, tensor: &Tensor) -> Vec<usize> {
    let TensorRole::Computed(op) = tensor.role else {
        return Vec::new();
    };
    let op = &graph.ops[op];
    let sources = op.inputs.iter().flatten().map(|id| id.index());
    match op.kind {
        OpKind::View => sources.take(1).collect(),
        OpKind::ConcatInPlace => sources.collect(),
        OpKind::Compute(_) => Vec::new(),
    }
}
