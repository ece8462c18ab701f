//! The graph that importers build; [`super::verify`] turns it into what later steps take.

use std::collections::BTreeMap;

use paracompile_plan::plan::ModelKind;

use super::{KernelCall, Op, Tensor, TensorId};
use crate::arena::Arena;

/// A network: operators in topological order, and the tensors between them.
#[derive(Clone, Debug)]
pub struct Graph {
    /// File name without directory and extension.
    pub name: String,
    /// Where it came from.
    pub kind: ModelKind,
    /// SHA-256, in hexadecimal, over the decoded model without weight payloads.
    pub digest: String,
    /// Symbolic dimensions that were bound.
    pub dims: BTreeMap<String, u64>,
    /// What the importer did to the graph besides reading it, by name, in order.
    pub rewrites: Vec<String>,
    /// Operators, every one after those whose outputs it reads.
    pub ops: Arena<Op>,
    /// Tensors: inputs, weights, and what operators write.
    pub tensors: Arena<Tensor>,
    /// What a frame provides, in file order.
    pub inputs: Vec<TensorId>,
    /// What a frame must leave, in file order.
    pub outputs: Vec<TensorId>,
    /// What each operator launches, by operator; empty for a network.
    pub kernels: Vec<KernelCall>,
}
