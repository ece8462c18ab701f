//! What there is to know of a network before a chip is chosen: the content of `paracompile inspect`.
//!
//! Figures and a table as text; printing them is left to the binary.

use std::collections::BTreeMap;
use std::fmt;

use paracompile_frontend::ir::antichain::Width;
use paracompile_frontend::ir::{OpId, TensorId, VerifiedGraph};
use paracompile_plan::plan::ModelKind;
use paracompile_plan::{Bytes, OpClass, counted};
use serde::Serialize;

use super::blocks::gates;
use super::width::width;
use super::{Branch, Cut, Segment, SegmentKind, Segments};

/// A summary of a network and of how it is cut.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inspection {
    /// Model name.
    pub model: String,
    /// Where it came from.
    pub kind: ModelKind,
    /// What a frame provides.
    pub inputs: Vec<Port>,
    /// What a frame must leave.
    pub outputs: Vec<Port>,
    /// Operators, free ones included.
    pub operators: usize,
    /// Operators that cost nothing: views and concatenations in place.
    pub free_operators: usize,
    /// Tasks after fusion.
    pub fused_operators: usize,
    /// Arithmetic a frame, in 10⁹ floating-point operations, two a multiply-accumulate.
    pub gflop: f64,
    /// Bytes of weights, as often as they are read by different tasks.
    pub weight_bytes: Bytes,
    /// Bytes of tensors between tasks, inputs and outputs included.
    pub activation_bytes: Bytes,
    /// Operators that are not free, by class; most arithmetic first, then by name.
    pub classes: Vec<ClassSummary>,
    /// How many tasks can run at once.
    #[serde(serialize_with = "WidthDocument::serialize")]
    pub width: Width,
    /// Tasks that are gates.
    pub gates: usize,
    /// Tasks between two gates, the second included, where there are most.
    pub largest_block: usize,
    /// Segments in order.
    pub segments: Vec<SegmentSummary>,
    /// Cut points in order.
    pub cuts: Vec<CutSummary>,
}

/// How [`Width`] is written: the operator graph knows no file format.
#[derive(Serialize)]
#[serde(remote = "Width", rename_all = "kebab-case")]
enum WidthDocument {
    Exactly(usize),
    AtLeast(usize),
}

/// A network input or output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Port {
    /// Tensor name.
    pub name: String,
    /// Element type.
    pub dtype: &'static str,
    /// Extents.
    pub shape: Vec<u64>,
}

/// Operators of one class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassSummary {
    /// The class.
    pub class: OpClass,
    /// How many there are.
    pub operators: usize,
    /// How many of them start a task; the others are epilogues.
    pub tasks: usize,
    /// Their arithmetic a frame.
    pub gflop: f64,
}

/// One segment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SegmentSummary {
    /// `chain`, `fan-in` or `irregular`.
    pub kind: &'static str,
    /// Name of its first task.
    pub first: String,
    /// Name of its last task.
    pub last: String,
    /// Tasks.
    pub operators: usize,
    /// Branches of a fan-in block, a bypass included; zero otherwise.
    pub branches: usize,
    /// Branches inside its branches, at all depths.
    pub nested_branches: usize,
    /// Its arithmetic a frame.
    pub gflop: f64,
}

/// One cut point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CutSummary {
    /// Tasks before it.
    pub position: usize,
    /// Whether it stands behind a gate, or is the start or the end.
    pub gate: bool,
    /// Names of the tensors that cross it.
    pub tensors: Vec<String>,
    /// Their size.
    pub bytes: Bytes,
}

/// Summarises `graph`, of which `segments` are the segments.
pub fn inspect(graph: &VerifiedGraph, segments: &Segments) -> Inspection {
    let fused = &segments.graph;
    let all = || graph.ops.ids();
    let ports = |tensors: &[TensorId]| tensors.iter().map(|&id| port(graph, id)).collect();
    let blocks: Vec<usize> = segments
        .cuts
        .iter()
        .filter(|cut| cut.gate)
        .map(|cut| cut.position)
        .collect();
    Inspection {
        model: graph.name.clone(),
        kind: graph.kind,
        inputs: ports(&graph.inputs),
        outputs: ports(&graph.outputs),
        operators: graph.ops.len(),
        free_operators: all().filter(|&id| graph.ops[id].class().is_none()).count(),
        fused_operators: fused.ops.len(),
        gflop: gflop(graph, all()),
        weight_bytes: fused.ops.iter().map(|(_, op)| op.weight_bytes()).sum(),
        activation_bytes: fused.tensors.iter().map(|(_, tensor)| tensor.bytes).sum(),
        classes: classes(graph, segments),
        width: width(fused),
        gates: gates(fused).into_iter().filter(|&is_gate| is_gate).count(),
        largest_block: blocks
            .windows(2)
            .map(|ends| ends[1] - ends[0])
            .max()
            .unwrap_or(0),
        segments: segments
            .segments
            .iter()
            .map(|segment| segment_summary(graph, segments, segment))
            .collect(),
        cuts: segments
            .cuts
            .iter()
            .map(|cut| cut_summary(segments, cut))
            .collect(),
    }
}

fn port(graph: &VerifiedGraph, id: TensorId) -> Port {
    let tensor = &graph.tensors[id];
    Port {
        name: tensor.name.clone(),
        dtype: tensor.dtype.name(),
        shape: tensor.shape.0.clone(),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "printed figures need no 64 bits"
)]
fn gflop(graph: &VerifiedGraph, ops: impl Iterator<Item = OpId>) -> f64 {
    let flops = ops.fold(0u64, |sum, id| {
        sum.saturating_add(graph.ops[id].work.flops())
    });
    flops as f64 / 1e9
}

fn classes(graph: &VerifiedGraph, segments: &Segments) -> Vec<ClassSummary> {
    let mut members: BTreeMap<OpClass, Vec<OpId>> = BTreeMap::new();
    for (id, op) in graph.ops.iter() {
        if let Some(class) = op.class() {
            members.entry(class).or_default().push(id);
        }
    }
    let mut classes: Vec<_> = members
        .into_iter()
        .map(|(class, ids)| ClassSummary {
            class,
            operators: ids.len(),
            tasks: segments
                .graph
                .ops
                .iter()
                .filter(|(_, op)| op.class == class)
                .count(),
            gflop: gflop(graph, ids.into_iter()),
        })
        .collect();
    classes.sort_by(|a, b| {
        let by_work = b.gflop.total_cmp(&a.gflop);
        by_work.then_with(|| a.class.name().cmp(b.class.name()))
    });
    classes
}

fn segment_summary(
    graph: &VerifiedGraph,
    segments: &Segments,
    segment: &Segment,
) -> SegmentSummary {
    let ops = &segments.graph.ops.as_slice()[segment.ops.clone()];
    let (kind, branches): (_, &[Branch]) = match &segment.kind {
        SegmentKind::Chain => ("chain", &[]),
        SegmentKind::FanIn { branches } => ("fan-in", branches),
        SegmentKind::Irregular => ("irregular", &[]),
    };
    let name = |end: Option<&super::FusedOp>| end.map_or_else(String::new, |op| op.name.clone());
    SegmentSummary {
        kind,
        first: name(ops.first()),
        last: name(ops.last()),
        operators: ops.len(),
        branches: branches.len(),
        nested_branches: nested(branches),
        gflop: gflop(graph, ops.iter().flat_map(|op| op.members.iter().copied())),
    }
}

/// Recursion is as deep as branches nest, which is limited.
fn nested(branches: &[Branch]) -> usize {
    let below = branches
        .iter()
        .map(|branch| branch.nested.len() + nested(&branch.nested));
    below.sum()
}

fn cut_summary(segments: &Segments, cut: &Cut) -> CutSummary {
    let live = || cut.live.iter().map(|&id| &segments.graph.tensors[id]);
    CutSummary {
        position: cut.position,
        gate: cut.gate,
        tensors: live().map(|tensor| tensor.name.clone()).collect(),
        bytes: live().map(|tensor| tensor.bytes).sum(),
    }
}

impl fmt::Display for Inspection {
    /// A table for people; segments of one task in a row are one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.cuts.iter().filter(|cut| !cut.gate).count();
        writeln!(f, "{}", self.model)?;
        for (label, ports) in [("input", &self.inputs), ("output", &self.outputs)] {
            for port in ports {
                writeln!(
                    f,
                    "  {label:<12}{} {}{:?}",
                    port.name, port.dtype, port.shape
                )?;
            }
        }
        writeln!(
            f,
            "  operators   {} ({} free), {} after fusion",
            self.operators,
            self.free_operators,
            counted(self.fused_operators, "task")
        )?;
        writeln!(
            f,
            "  work        {:.2} GFLOP, {} of weights, {} of activations",
            self.gflop, self.weight_bytes, self.activation_bytes
        )?;
        writeln!(
            f,
            "  structure   width {}, {}, {}, {}, largest block {}",
            self.width,
            counted(self.gates, "gate"),
            counted(inner, "inner cut"),
            counted(self.segments.len(), "segment"),
            counted(self.largest_block, "task"),
        )?;
        writeln!(
            f,
            "\n  {:<20} {:>9} {:>7} {:>9}",
            "class", "operators", "tasks", "GFLOP"
        )?;
        for class in &self.classes {
            writeln!(
                f,
                "  {:<20} {:>9} {:>7} {:>9.3}",
                class.class, class.operators, class.tasks, class.gflop
            )?;
        }
        writeln!(
            f,
            "\n  {:<10} {:>5} {:>8} {:>9} {:>10}  from .. to",
            "segments", "tasks", "branches", "GFLOP", "leaving"
        )?;
        let is_single = |segment: &SegmentSummary| segment.operators == 1;
        let mut first = 0;
        for group in self.segments.chunk_by(|a, b| is_single(a) && is_single(b)) {
            let leaving = self
                .cuts
                .get(first + group.len())
                .map_or(Bytes::ZERO, |cut| cut.bytes);
            first += group.len();
            write_segments(f, group, leaving)?;
        }
        Ok(())
    }
}

fn write_segments(
    f: &mut fmt::Formatter<'_>,
    group: &[SegmentSummary],
    leaving: Bytes,
) -> fmt::Result {
    let (Some(start), Some(end)) = (group.first(), group.last()) else {
        return Ok(());
    };
    let operators: usize = group.iter().map(|segment| segment.operators).sum();
    let gflop: f64 = group.iter().map(|segment| segment.gflop).sum();
    let branches = match (start.branches, start.nested_branches) {
        (0, _) => String::new(),
        (branches, 0) => branches.to_string(),
        (branches, nested) => format!("{branches}+{nested}"),
    };
    let range = if start.first == end.last {
        start.first.clone()
    } else {
        format!("{} .. {}", start.first, end.last)
    };
    writeln!(
        f,
        "  {:<10} {operators:>5} {branches:>8} {gflop:>9.3} {:>10}  {range}",
        start.kind,
        leaving.to_string()
    )
}

#[cfg(test)]
mod tests {
    use paracompile_plan::OpClass::{Activation, Concat, Conv, MaxPool};

    use super::*;
    use crate::partition::{fuse, segment};
    use paracompile_testkit::sketch::Sketch;

    #[test]
    fn an_inception_module_is_summed_up() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let stem = sketch.op("stem", Conv, &[x]);
        let relu = sketch.op("relu", Activation, &[stem]);
        let a = sketch.op("a", Conv, &[relu]);
        let b = sketch.op("b", MaxPool, &[relu]);
        let join = sketch.op("join", Concat, &[a, b]);
        let flat = sketch.view("flat", join);
        let graph = sketch.finish(&[flat]);
        let found = inspect(&graph, &segment(fuse(&graph)));
        assert_eq!(
            (found.operators, found.free_operators, found.fused_operators),
            (6, 1, 4)
        );
        assert_eq!(
            (found.width, found.gates, found.largest_block),
            (Width::Exactly(2), 2, 3)
        );
        // Every sketched operator but the view has a million multiply-accumulates.
        assert!((found.gflop - 0.010).abs() < 1e-12);
        let conv = &found.classes[0];
        assert_eq!((conv.class, conv.operators, conv.tasks), (Conv, 2, 2));
        let kinds: Vec<_> = found
            .segments
            .iter()
            .map(|s| (s.kind, s.operators, s.branches))
            .collect();
        assert_eq!(kinds, [("chain", 1, 0), ("fan-in", 3, 2)]);
        let crossing: Vec<_> = found.cuts.iter().map(|cut| cut.bytes.count()).collect();
        assert_eq!(crossing, [256, 256, 0]);
        let text = found.to_string();
        assert!(
            text.contains("width 2, 2 gates, 0 inner cuts, 2 segments, largest block 3"),
            "{text}"
        );
    }
}
