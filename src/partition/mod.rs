//! From a verified graph to fused operators in an order in which every cut point is a prefix, and to segments between cut points.

mod cut_points;
mod fuse;
mod fused_graph;
mod segment;

pub use cut_points::{Cut, cut_points};
pub use fuse::fuse;
pub use fused_graph::{FusedGraph, FusedOp, FusedOpId, FusedTensor, FusedTensorId};
pub use segment::{Branch, Segment, SegmentKind, Segments, segment};
