//! Segments: what lies between two consecutive cut points.
//!
//! After Para-Pipe, section II.A: non-overlapping subgraphs in topological order, each a chain or a fan-in structure where the network allows it.
//! What a segment is follows from gates and components alone, never from operator names.

use std::ops::Range;

use super::blocks::{Run, gates};
use super::branches::branches;
use super::{Branch, Cut, CutRule, FusedGraph, FusedOpId, cut_points_by};

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Positions in the order of fused operators.
    pub ops: Range<usize>,
    /// Its structure.
    pub kind: SegmentKind,
}

/// The structure of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// One operator after another: each but the first reads the one before, and no other of the segment.
    /// A gate that follows a gate is one of a single operator.
    Chain,
    /// Branches that start and end together; the last operator, where it is a gate, joins them and belongs to no branch.
    FanIn {
        /// At least two, by their first operators; one without operators is a bypass (a tensor from before that the joining gate reads) and the last one.
        branches: Vec<Branch>,
    },
    /// Neither: a part of a block that inner cuts divide, or one component that splits into no branches.
    Irregular,
}

/// Cuts a fused graph into segments.
pub fn segment(graph: FusedGraph) -> Segments {
    segment_by(graph, CutRule::default())
}

/// The same, with other constants for inner cuts.
pub fn segment_by(graph: FusedGraph, rule: CutRule) -> Segments {
    let cuts = cut_points_by(&graph, rule);
    let is_gate = gates(&graph);
    let ops: Vec<_> = graph.ops.ids().collect();
    let segments = cuts
        .windows(2)
        .map(|ends| {
            let range = ends[0].position..ends[1].position;
            let kind = if ends[0].gate && ends[1].gate {
                block_kind(&graph, &ops[range.clone()], is_gate[range.end - 1])
            } else {
                SegmentKind::Irregular
            };
            Segment { ops: range, kind }
        })
        .collect();
    Segments {
        graph,
        cuts,
        segments,
    }
}

/// The structure of a whole block, whose last operator may be a gate.
fn block_kind(graph: &FusedGraph, ops: &[FusedOpId], ends_with_gate: bool) -> SegmentKind {
    let (between, closing) = match ops {
        [between @ .., last] if ends_with_gate => (between, Some(*last)),
        _ => (ops, None),
    };
    let branches = branches(
        graph,
        Run {
            opening: None,
            between,
            closing,
        },
    );
    if branches.len() >= 2 {
        SegmentKind::FanIn { branches }
    } else if is_chain(graph, ops) {
        SegmentKind::Chain
    } else {
        SegmentKind::Irregular
    }
}

fn is_chain(graph: &FusedGraph, ops: &[FusedOpId]) -> bool {
    ops.windows(2).all(|pair| {
        let producers = graph.producers(pair[1]);
        producers.last() == Some(&pair[0])
            && !producers.iter().any(|id| (ops[0]..pair[0]).contains(id))
    })
}

#[cfg(test)]
mod tests {
    use paracompile_frontend::ir::TensorId;
    use paracompile_plan::OpClass::{
        Activation, Concat, Conv, Elementwise, LayerNorm, Matmul, MaxPool,
    };

    use super::*;
    use crate::partition::fuse;
    use paracompile_testkit::sketch::Sketch;

    /// A line for each segment: names, with branches in brackets.
    fn picture(segments: &Segments) -> Vec<String> {
        let name = |id: &FusedOpId| segments.graph.ops[*id].name.clone();
        let ids: Vec<_> = segments.graph.ops.ids().collect();
        let lines = segments.segments.iter().map(|segment| match &segment.kind {
            SegmentKind::Chain => {
                let names: Vec<_> = ids[segment.ops.clone()].iter().map(name).collect();
                format!("chain {}", names.join(" "))
            }
            SegmentKind::FanIn { branches } => {
                let branches: Vec<_> = branches.iter().map(|branch| show(branch, &name)).collect();
                format!("fan-in {}", branches.join(" "))
            }
            SegmentKind::Irregular => format!("irregular {}", segment.ops.len()),
        });
        lines.collect()
    }

    fn show(branch: &Branch, name: &impl Fn(&FusedOpId) -> String) -> String {
        let mut parts: Vec<_> = branch.ops.iter().map(name).collect();
        parts.extend(branch.nested.iter().map(|nested| show(nested, name)));
        format!("[{}]", parts.join(" "))
    }

    fn segments_of(sketch: Sketch, outputs: &[TensorId]) -> Segments {
        segment(fuse(&sketch.finish(outputs)))
    }

    #[test]
    fn a_chain_is_one_segment_an_operator() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let a = sketch.op("a", Conv, &[x]);
        let b = sketch.op("b", MaxPool, &[a]);
        let c = sketch.op("c", Conv, &[b]);
        let segments = segments_of(sketch, &[c]);
        assert_eq!(picture(&segments), ["chain a", "chain b", "chain c"]);
    }

    #[test]
    fn an_inception_module_is_a_fan_in_block() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let stem = sketch.op("stem", Conv, &[x]);
        let a = sketch.op("a", Conv, &[stem]);
        let b1 = sketch.op("b1", Conv, &[stem]);
        let b2 = sketch.op("b2", Conv, &[b1]);
        let c1 = sketch.op("c1", MaxPool, &[stem]);
        let c2 = sketch.op("c2", Conv, &[c1]);
        let join = sketch.op("join", Concat, &[a, b2, c2]);
        let segments = segments_of(sketch, &[join]);
        assert_eq!(
            picture(&segments),
            ["chain stem", "fan-in [b1 b2] [c1 c2] [a]"]
        );
    }

    #[test]
    fn a_residual_bypass_is_a_branch_without_operators() {
        let mut sketch = Sketch::new();
        let frame = sketch.input("frame");
        let x = sketch.op("x", MaxPool, &[frame]);
        let a = sketch.op("a", MaxPool, &[x]);
        let b = sketch.op("b", MaxPool, &[a]);
        let sum = sketch.op("sum", Elementwise, &[x, b]);
        let segments = segments_of(sketch, &[sum]);
        assert_eq!(picture(&segments), ["chain x", "fan-in [a b] []"]);
    }

    #[test]
    fn a_branch_that_forks_at_its_end_is_nested() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let stem = sketch.op("stem", Conv, &[x]);
        let wide = sketch.op("wide", Conv, &[stem]);
        let left = sketch.op("left", Conv, &[wide]);
        let right = sketch.op("right", Conv, &[wide]);
        let plain = sketch.op("plain", Conv, &[stem]);
        let join = sketch.op("join", Concat, &[plain, left, right]);
        let segments = segments_of(sketch, &[join]);
        assert_eq!(
            picture(&segments),
            [
                "chain stem",
                "fan-in [wide left right [left] [right]] [plain]"
            ]
        );
    }

    #[test]
    #[expect(
        clippy::many_single_char_names,
        reason = "the picture below is readable because names are short"
    )]
    fn a_branch_that_forks_twice_and_inside_a_fork_is_nested_twice() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let stem = sketch.op("stem", MaxPool, &[x]);
        let p = sketch.op("p", MaxPool, &[stem]);
        let q = sketch.op("q", MaxPool, &[p]);
        let r1 = sketch.op("r1", MaxPool, &[q]);
        let r = sketch.op("r", Elementwise, &[q, r1]);
        let s = sketch.op("s", MaxPool, &[p]);
        let t = sketch.op("t", Concat, &[r, s]);
        let u = sketch.op("u", MaxPool, &[t]);
        let v = sketch.op("v", Elementwise, &[t, u]);
        let other = sketch.op("other", MaxPool, &[stem]);
        let join = sketch.op("join", Concat, &[v, other]);
        let segments = segments_of(sketch, &[join]);
        assert_eq!(
            picture(&segments),
            [
                "chain stem",
                "fan-in [p q r1 r s t u v [q r1 r [r1]] [s] [u]] [other]"
            ]
        );
    }

    #[test]
    fn an_attention_layer_with_a_skip_is_a_fan_in_block() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let w = sketch.weight("w");
        let patches = sketch.op("patches", Conv, &[x, w]);
        let norm = sketch.op("norm", LayerNorm, &[patches]);
        let query = sketch.op("query", Matmul, &[norm, w]);
        let key = sketch.op("key", Matmul, &[norm, w]);
        let value = sketch.op("value", Matmul, &[norm, w]);
        let score = sketch.op("score", Matmul, &[query, key]);
        let mixed = sketch.op("mixed", Matmul, &[score, value]);
        let gelu = sketch.op("gelu", Activation, &[mixed]);
        let sum = sketch.op("sum", Elementwise, &[patches, gelu]);
        let end = sketch.op("end", LayerNorm, &[sum]);
        let segments = segments_of(sketch, &[end]);
        // The addition is an epilogue of `mixed`, so the skip ends there; `norm` forks towards it.
        assert_eq!(
            picture(&segments),
            [
                "chain patches",
                "fan-in [norm query key score value [query key score [query] [key]] [value]] []",
                "chain end"
            ]
        );
    }

    #[test]
    fn two_outputs_behind_a_gate_are_two_branches_without_a_join() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let stem = sketch.op("stem", Conv, &[x]);
        let a = sketch.op("a", Conv, &[stem]);
        let b = sketch.op("b", Conv, &[stem]);
        let b2 = sketch.op("b2", Conv, &[b]);
        let segments = segments_of(sketch, &[a, b2]);
        assert_eq!(picture(&segments), ["chain stem", "fan-in [a] [b b2]"]);
    }

    #[test]
    fn a_chain_behind_an_output_in_the_middle_is_one_segment() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let a = sketch.op("a", Conv, &[x]);
        let b = sketch.op("b", Conv, &[a]);
        let c = sketch.op("c", Conv, &[b]);
        let segments = segments_of(sketch, &[a, c]);
        assert_eq!(picture(&segments), ["chain a", "chain b c"]);
    }

    #[test]
    fn crossed_branches_are_irregular() {
        let mut sketch = Sketch::new();
        let input = sketch.input("x");
        let stem = sketch.op("stem", Conv, &[input]);
        let a = sketch.op("a", MaxPool, &[stem]);
        let b = sketch.op("b", MaxPool, &[stem]);
        let c = sketch.op("c", Concat, &[a, b]);
        let d = sketch.op("d", MaxPool, &[b]);
        let join = sketch.op("join", Concat, &[c, d]);
        let segments = segments_of(sketch, &[join]);
        assert_eq!(picture(&segments), ["chain stem", "irregular 5"]);
    }

    #[test]
    fn parts_of_a_divided_block_are_irregular() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let stem = sketch.op("stem", MaxPool, &[x]);
        let mut end = stem;
        for index in 0..30 {
            end = sketch.op(&format!("c{index}"), MaxPool, &[end]);
        }
        let sum = sketch.op("sum", Concat, &[stem, end]);
        let segments = segments_of(sketch, &[sum]);
        assert_eq!(
            picture(&segments),
            ["chain stem", "irregular 15", "irregular 16"]
        );
        assert_eq!(segments.cuts[2].live.len(), 2);
    }

    #[test]
    fn branches_nest_only_so_deep() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let mut heads = vec![sketch.op("stem", MaxPool, &[x])];
        for level in 0..100 {
            heads.push(sketch.op(&format!("h{level}"), MaxPool, &[heads[level]]));
        }
        let mut tail = heads[100];
        for level in (0..100).rev() {
            tail = sketch.op(&format!("t{level}"), Concat, &[tail, heads[level]]);
        }
        let rule = CutRule {
            most: 0,
            ..CutRule::default()
        };
        let segments = segment_by(fuse(&sketch.finish(&[tail])), rule);
        let SegmentKind::FanIn { branches } = &segments.segments[1].kind else {
            panic!("the outermost block has a bypass")
        };
        let mut depth = 0;
        let mut branch = &branches[0];
        while let Some(nested) = branch.nested.first() {
            (depth, branch) = (depth + 1, nested);
        }
        assert_eq!(depth, 8);
    }
}
