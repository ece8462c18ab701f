//! From a verified graph to fused operators in an order in which every cut point is a prefix, and to segments between cut points.

mod blocks;
mod branches;
mod cut_points;
mod dot;
mod fuse;
mod fused_graph;
mod inspect;
mod order;
#[cfg(test)]
mod properties;
mod segment;
mod width;

pub use branches::Branch;
pub use cut_points::{Cut, CutRule, cut_points, cut_points_by};
pub(crate) use dot::quoted;
pub use dot::to_dot;
pub use fuse::{FusionRule, fuse, fuse_by, fuse_for, fuse_groups};
pub use fused_graph::{FusedGraph, FusedOp, FusedOpId, FusedTensor, FusedTensorId, FusedWeight};
pub use inspect::{ClassSummary, CutSummary, Inspection, Port, SegmentSummary, inspect};
pub use segment::{Segment, SegmentKind, Segments, segment, segment_by};
pub use width::width;
