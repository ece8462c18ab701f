//! Broken invariants of an operator graph, one variant each, with the place first.

use super::{OpId, TensorId};

/// A broken invariant: the fault of whoever built the graph, but for sizes, which a file can make absurd.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// There is nothing to map.
    #[error("the graph has no output")]
    NoOutput,
    /// An id of another graph.
    #[error("{place}: tensor {tensor} is not one of the graph")]
    ForeignTensor {
        /// Who names it.
        place: String,
        /// The id.
        tensor: TensorId,
    },
    /// A role that names an operator which the graph lacks.
    #[error("tensor `{tensor}`: operator {op} is not one of the graph")]
    ForeignOp {
        /// The tensor's name.
        tensor: String,
        /// The id.
        op: OpId,
    },
    /// An operand that no earlier operator writes.
    #[error("operator `{op}`: reads `{tensor}` before it is written")]
    Order {
        /// The reader's name.
        op: String,
        /// The tensor's name.
        tensor: String,
    },
    /// A tensor that another operator writes than its role says, or none.
    #[error("tensor `{tensor}`: its role does not name the operator that writes it")]
    Producer {
        /// The tensor's name.
        tensor: String,
    },
    /// A tensor that is written several times.
    #[error("tensor `{tensor}`: written more than once")]
    WrittenTwice {
        /// The tensor's name.
        tensor: String,
    },
    /// The list of inputs and the roles of tensors contradict each other.
    #[error("tensor `{tensor}`: its role and the list of inputs do not agree")]
    Input {
        /// The tensor's name.
        tensor: String,
    },
    /// A tensor without a name.
    #[error("tensor {0} has no name")]
    UnnamedTensor(TensorId),
    /// An operator without a name.
    #[error("operator {0} has no name")]
    UnnamedOp(OpId),
    /// Two tensors with one name.
    #[error("tensor `{0}`: another one has the same name")]
    TensorName(String),
    /// Two operators with one name.
    #[error("operator `{0}`: another one has the same name")]
    OpName(String),
    /// A size that is not that of type and shape, or overflows.
    #[error("tensor `{tensor}`: its size is not that of its type and shape, or exceeds 64 bits")]
    Size {
        /// The tensor's name.
        tensor: String,
    },
    /// All tensors together are too large to count.
    #[error("the sizes of all tensors together exceed 64 bits")]
    TotalSize,
    /// A view of nothing.
    #[error("operator `{op}`: a free operator needs an operand")]
    ViewOfNothing {
        /// The operator's name.
        op: String,
    },
    /// A view that would have to move elements.
    #[error(
        "operator `{op}`: the results of a free operator have to be as large as what they are made of"
    )]
    ViewSize {
        /// The operator's name.
        op: String,
    },
    /// Work without arithmetic and traffic, or a free operator with some.
    #[error("operator `{op}`: only free operators do nothing, and they do nothing")]
    Idle {
        /// The operator's name.
        op: String,
    },
    /// An operator that no output depends on.
    #[error("operator `{op}`: nothing needs it")]
    Unneeded {
        /// The operator's name.
        op: String,
    },
    /// An output that does not depend on a frame.
    #[error("output `{tensor}`: is a weight")]
    ConstantOutput {
        /// The tensor's name.
        tensor: String,
    },
}
