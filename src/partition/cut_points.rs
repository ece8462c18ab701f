//! Cut points: where a pipeline may be cut.

use super::{FusedGraph, FusedTensorId};

/// A position in the order of fused operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// How many fused operators stand before it.
    pub position: usize,
    /// Whether it stands behind a gate (or is the start or the end): what is before and what is after do not overlap in time, and what crosses was written by one operator (or, at the start, by the frame).
    pub gate: bool,
    /// Tensors written before and read after, ascending.
    /// Network inputs count as written before everything; network outputs that nothing reads any more do not cross.
    pub live: Vec<FusedTensorId>,
}

/// All gates, and few inner cuts where gates are far apart; the first is the start, the last is the end.
pub fn cut_points(_graph: &FusedGraph) -> Vec<Cut> {
    Vec::new()
}
