//! Operators.

use paracompile_plan::OpClass;
use paracompile_plan::plan::OperatorRef;

use super::{Control, TensorId, Work};
use crate::arena::Id;

/// Index of an operator in its graph.
pub type OpId = Id<Op>;

/// One operator of the network.
#[derive(Clone, Debug)]
pub struct Op {
    /// Where it stands in the model file.
    pub at: OperatorRef,
    /// A unique, non-empty name for people: the node's own where it has one.
    pub name: String,
    /// The operator's type as the file spells it, with its domain where that is not the default one.
    pub op_type: String,
    /// What it computes.
    pub kind: OpKind,
    /// Operands; `None` where an optional one is left out. Weights are operands too.
    /// A constant that only parametrises the operator (the shape of a reshape, the bounds of a slice or clip) is left out as well: its
    /// values are in the result's shape, or in the file for whoever executes the operator.
    pub inputs: Vec<Option<TensorId>>,
    /// Results that something reads or that the network returns, in file order; there is at least one.
    pub outputs: Vec<TensorId>,
    /// Its arithmetic and traffic.
    pub work: Work,
    /// What its branches or its body run, where it has any: then that is what it costs.
    pub control: Option<Box<Control>>,
}

/// What an operator computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// A free view: its outputs are other names or shapes of its first input (reshape, flatten, squeeze, identity, …).
    /// No task, no processor, no move.
    View,
    /// The inputs are written straight into their places in the output: free like a view, but of several tensors.
    ConcatInPlace,
    /// Real work of a class.
    Compute(OpClass),
}

impl Op {
    /// The class that it costs like; `None` for a free operator.
    pub const fn class(&self) -> Option<OpClass> {
        match self.kind {
            OpKind::View | OpKind::ConcatInPlace => None,
            OpKind::Compute(class) => Some(class),
        }
    }
}
