//! Segments: what lies between two consecutive cut points.

use std::ops::Range;

use super::{Cut, FusedGraph, FusedOpId, cut_points};

/// A fused graph, cut.
#[derive(Clone, Debug)]
pub struct Segments {
    /// The fused graph.
    pub graph: FusedGraph,
    /// Cut points in order: the start, then one behind each segment.
    pub cuts: Vec<Cut>,
    /// Segment `k` lies between cuts `k` and `k + 1`.
    pub segments: Vec<Segment>,
}

/// A convex set of fused operators between two cut points.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Positions in the order of fused operators.
    pub ops: Range<usize>,
    /// Its structure.
    pub kind: SegmentKind,
}

/// The structure of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// One operator after another.
    Chain,
    /// Branches that start and end together; the last operator, where it is a gate, joins them and belongs to no branch.
    FanIn {
        /// At least two; one without operators is a bypass.
        branches: Vec<Branch>,
    },
    /// Neither: a part of a block that inner cuts divide, or one component that splits into no branches.
    Irregular,
}

/// A weakly connected component of a fan-in block without its gates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Its operators in order.
    pub ops: Vec<FusedOpId>,
    /// Where it forks inside, the branches of the fan-in blocks in it.
    pub nested: Vec<Branch>,
}

/// Cuts a fused graph into segments.
pub fn segment(graph: FusedGraph) -> Segments {
    let cuts = cut_points(&graph);
    Segments {
        graph,
        cuts,
        segments: Vec::new(),
    }
}
