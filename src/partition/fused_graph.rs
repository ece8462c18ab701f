//! The graph that is mapped: fused operators and the tensors with storage of their own between them.
//!
//! Views are gone: their readers read the tensors that they are made of.
//! Weights are gone too: they move with their operator and cost no time (rule M8).

use paracompile_frontend::arena::{Arena, Id, IdMap};
use paracompile_frontend::ir::{OpId, TensorId};
use paracompile_plan::{Bytes, OpClass};

/// Index of a fused operator.
pub type FusedOpId = Id<FusedOp>;
/// Index of a tensor of the fused graph.
pub type FusedTensorId = Id<FusedTensor>;

/// Fused operators in topological order, such that the operators before each cut point are a prefix.
#[derive(Clone, Debug, Default)]
pub struct FusedGraph {
    /// Fused operators.
    pub ops: Arena<FusedOp>,
    /// Activations that cross between fused operators, network inputs and network outputs.
    pub tensors: Arena<FusedTensor>,
}

/// One task: an anchor and its epilogues (rule M12).
#[derive(Clone, Debug)]
pub struct FusedOp {
    /// Name of the anchor.
    pub name: String,
    /// The members in topological order; the first is the anchor.
    pub members: Vec<OpId>,
    /// Class of the anchor.
    pub class: OpClass,
    /// Tensors that it reads, each once, ascending.
    pub reads: Vec<FusedTensorId>,
    /// Tensors that it writes and that someone else reads or the network puts out, ascending.
    pub writes: Vec<FusedTensorId>,
    /// Weights that its members read, directly or through views, each once, ascending.
    pub weights: Vec<FusedWeight>,
}

/// A constant that a task reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FusedWeight {
    /// The tensor in the verified graph.
    pub tensor: TensorId,
    /// Its size.
    pub bytes: Bytes,
}

impl FusedOp {
    /// Bytes of its weights.
    pub fn weight_bytes(&self) -> Bytes {
        self.weights.iter().map(|weight| weight.bytes).sum()
    }
}

/// A tensor with storage of its own.
#[derive(Clone, Debug)]
pub struct FusedTensor {
    /// The tensor in the verified graph; never a view.
    pub tensor: TensorId,
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: Bytes,
    /// Who writes it; `None` for a network input.
    pub producer: Option<FusedOpId>,
    /// Who reads it, each once, ascending.
    pub readers: Vec<FusedOpId>,
    /// Whether it must end in the `io` memory: it is a network output, or part of one.
    pub is_output: bool,
}

impl FusedGraph {
    /// The same graph with its operators in another topological order.
    ///
    /// Tensors are numbered anew too: network inputs first, then by who writes them.
    pub(super) fn reordered(self, order: &[FusedOpId]) -> Self {
        let mut new_op = IdMap::filled(&self.ops, FusedOpId::from_index(0));
        for (position, &old) in order.iter().enumerate() {
            new_op[old] = FusedOpId::from_index(position);
        }
        let by_producer = |id: &FusedTensorId| self.tensors[*id].producer.map(|op| new_op[op]);
        let mut tensor_order: Vec<_> = self.tensors.ids().collect();
        tensor_order.sort_by_key(by_producer);
        let mut new_tensor = IdMap::filled(&self.tensors, FusedTensorId::from_index(0));
        for (position, &old) in tensor_order.iter().enumerate() {
            new_tensor[old] = FusedTensorId::from_index(position);
        }
        let ops = order.iter().map(|&old| {
            let op = &self.ops[old];
            FusedOp {
                reads: renumbered(&op.reads, &new_tensor),
                writes: renumbered(&op.writes, &new_tensor),
                ..op.clone()
            }
        });
        let tensors = tensor_order.iter().map(|&old| {
            let tensor = &self.tensors[old];
            FusedTensor {
                producer: tensor.producer.map(|op| new_op[op]),
                readers: renumbered(&tensor.readers, &new_op),
                ..tensor.clone()
            }
        });
        Self {
            ops: ops.collect(),
            tensors: tensors.collect(),
        }
    }

    /// The operators whose results `op` reads, each once, ascending.
    pub fn producers(&self, op: FusedOpId) -> Vec<FusedOpId> {
        let reads = self.ops[op].reads.iter();
        let mut producers: Vec<_> = reads
            .filter_map(|&tensor| self.tensors[tensor].producer)
            .collect();
        producers.sort_unstable();
        producers.dedup();
        producers
    }
}

fn renumbered<T>(ids: &[Id<T>], new: &IdMap<T, Id<T>>) -> Vec<Id<T>> {
    let mut ids: Vec<_> = ids.iter().map(|&id| new[id]).collect();
    ids.sort_unstable();
    ids
}
