//! The graph that is mapped: fused operators and the tensors with storage of their own between them.
//!
//! Views are gone: their readers read the tensors that they are made of.
//! Weights are gone too: they move with their operator and cost no time (rule M8).

use paracompile_frontend::arena::{Arena, Id};
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
    /// Bytes of the weights of its members.
    pub weight_bytes: Bytes,
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
