//! Fusion: operators that run as one task, the same groups for all processors (rule M12).
//!
//! A convolution or matrix product (the anchor) takes along what follows it: batch normalisation, activation functions, element-wise arithmetic with constants, and a residual addition, as long as nobody else sees what lies between.
//! Every other operator is a task of its own.
//! A view in between is looked through: it moves no element, so the epilogue works on the same bytes; but its readers count as readers of what it views.
//! An epilogue that changes the number of elements (broadcasting a small result against a large operand) is no epilogue: it would make a small task a large one.
//!
//! A group never closes a cycle: its members but the last have one reader each, which is in the group, so nothing outside depends on the group but through its last member.

use paracompile_plan::OpClass;

use super::Storage;
use crate::arena::IdMap;
use crate::ir::{Op, OpId, OpKind, Tensor, TensorId, VerifiedGraph};

/// Groups in topological order of their last members; an epilogue joins only where `may_join(anchor, epilogue)`.
pub fn groups(
    graph: &VerifiedGraph,
    storage: &Storage<'_>,
    may_join: &dyn Fn(OpId, OpId) -> bool,
) -> Vec<Vec<OpId>> {
    let depth = depths(graph);
    let unshared = unshared(graph, storage);
    let mut groups: Vec<Vec<OpId>> = Vec::new();
    let mut group_of: IdMap<Op, Option<usize>> = IdMap::filled(&graph.ops, None);
    for (id, class) in tasks(graph) {
        let joined = epilogue_of(graph, storage, &depth, id, class)
            .filter(|&tensor| unshared[tensor])
            .filter(|&tensor| keeps_size(graph, tensor, id))
            .and_then(|tensor| storage.writer(tensor))
            .and_then(|writer| group_of[writer])
            .filter(|&index| takes_epilogues(graph, &groups[index]))
            .filter(|&index| may_join(groups[index][0], id));
        let index = joined.unwrap_or_else(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[index].push(id);
        group_of[id] = Some(index);
    }
    groups.sort_by_key(|members| members.last().copied());
    groups
}

/// Operators that are tasks, with their class.
pub fn tasks(graph: &VerifiedGraph) -> impl Iterator<Item = (OpId, OpClass)> {
    graph
        .ops
        .iter()
        .filter_map(|(id, op)| op.class().map(|class| (id, class)))
}

/// What an operator is to fusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// May take epilogues.
    Anchor,
    /// May follow an anchor with constants as its other operands.
    Scaling,
    /// May follow an anchor with constants or one activation as its other operands.
    Arithmetic,
    /// Neither.
    Alone,
}

impl Part {
    const fn of(class: OpClass) -> Self {
        match class {
            OpClass::Conv
            | OpClass::DepthwiseConv
            | OpClass::ConvTranspose
            | OpClass::Gemm
            | OpClass::Matmul => Self::Anchor,
            OpClass::BatchNorm | OpClass::Activation => Self::Scaling,
            OpClass::Elementwise => Self::Arithmetic,
            OpClass::MaxPool
            | OpClass::AveragePool
            | OpClass::GlobalPool
            | OpClass::LayerNorm
            | OpClass::LocalResponseNorm
            | OpClass::Softmax
            | OpClass::Reduce
            | OpClass::Concat
            | OpClass::Split
            | OpClass::Transpose
            | OpClass::Pad
            | OpClass::Slice
            | OpClass::Gather
            | OpClass::Resize
            | OpClass::Cast
            | OpClass::Recurrent
            | OpClass::Other
            | OpClass::Opaque => Self::Alone,
        }
    }
}

/// The tensor behind which `id` would be an epilogue.
///
/// Of two activations it is the later one: by the depth of its writer, then by its name.
/// Running the addition with the earlier one would make that operator wait for the later one.
fn epilogue_of(
    graph: &VerifiedGraph,
    storage: &Storage<'_>,
    depth: &IdMap<Op, u32>,
    id: OpId,
    class: OpClass,
) -> Option<TensorId> {
    let op = &graph.ops[id];
    let activations = storage.activations(op);
    let later = |tensor: &TensorId| {
        let depth = storage.writer(*tensor).map_or(0, |writer| depth[writer]);
        (depth, graph.tensors[*tensor].name.as_str())
    };
    match (Part::of(class), activations.as_slice()) {
        (Part::Scaling, &[tensor]) => {
            let first = op.inputs.first().copied().flatten()?;
            (storage.behind_views(first) == tensor).then_some(tensor)
        }
        (Part::Arithmetic, &[tensor]) => Some(tensor),
        (Part::Arithmetic, &[one, other]) => Some(if later(&one) > later(&other) {
            one
        } else {
            other
        }),
        (Part::Anchor | Part::Scaling | Part::Arithmetic | Part::Alone, _) => None,
    }
}

fn keeps_size(graph: &VerifiedGraph, tensor: TensorId, epilogue: OpId) -> bool {
    let elements = |tensor: TensorId| graph.tensors[tensor].shape.elements();
    matches!(graph.ops[epilogue].outputs.as_slice(), &[output] if elements(output) == elements(tensor))
}

fn takes_epilogues(graph: &VerifiedGraph, members: &[OpId]) -> bool {
    let anchored = members
        .first()
        .and_then(|&anchor| graph.ops[anchor].class())
        .is_some_and(|class| Part::of(class) == Part::Anchor);
    let one_result = members
        .last()
        .is_some_and(|&last| graph.ops[last].outputs.len() == 1);
    anchored && one_result
}

/// The largest number of tasks on a path that ends with each operator.
fn depths(graph: &VerifiedGraph) -> IdMap<Op, u32> {
    let mut tensor_depth: IdMap<Tensor, u32> = IdMap::filled(&graph.tensors, 0);
    let mut depth = IdMap::filled(&graph.ops, 0);
    for (id, op) in graph.ops.iter() {
        let before = op.inputs.iter().flatten().map(|&input| tensor_depth[input]);
        depth[id] = before.max().unwrap_or(0) + u32::from(op.class().is_some());
        for &output in &op.outputs {
            tensor_depth[output] = depth[id];
        }
    }
    depth
}

/// Whether one operator reads the tensor, through views or directly, and nothing else needs it.
fn unshared(graph: &VerifiedGraph, storage: &Storage<'_>) -> IdMap<Tensor, bool> {
    let mut readers: IdMap<Tensor, u32> = IdMap::filled(&graph.tensors, 0);
    for (_, op) in graph.ops.iter() {
        match op.kind {
            OpKind::View => {}
            OpKind::ConcatInPlace | OpKind::Compute(_) => {
                for tensor in storage.activations(op) {
                    readers[tensor] += 1;
                }
            }
        }
    }
    for &output in &graph.outputs {
        // The world outside reads it too: two readers, whoever else there is.
        readers[storage.behind_views(output)] += 2;
    }
    IdMap::from_fn(&graph.tensors, |id| readers[id] == 1)
}
