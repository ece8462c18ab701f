//! Graphviz text of a fused graph and its segments.
//!
//! A segment of several tasks is a box, its branches are boxes inside, a gate has a double border.
//! Names come from files, so they are quoted.

use std::fmt::{self, Write};

use super::blocks::gates;
use super::{Branch, FusedOpId, SegmentKind, Segments};

/// The graph in the language of Graphviz.
pub fn to_dot(segments: &Segments) -> String {
    Dot(segments).to_string()
}

struct Dot<'a>(&'a Segments);

impl fmt::Display for Dot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_graph(f, self.0)
    }
}

fn write_graph(text: &mut impl Write, segments: &Segments) -> fmt::Result {
    let graph = &segments.graph;
    writeln!(text, "digraph network {{")?;
    writeln!(
        text,
        "  node [shape=box, fontname=\"sans-serif\", fontsize=10];"
    )?;
    writeln!(
        text,
        "  edge [fontname=\"sans-serif\", fontsize=8, color=\"#555555\"];"
    )?;
    let is_gate = gates(graph);
    for (id, op) in graph.ops.iter() {
        let peripheries = if is_gate[id.index()] { 2 } else { 1 };
        let label = match op.members.len() - 1 {
            0 => format!("{}\n{}", op.name, op.class),
            more => format!("{}\n{} + {more}", op.name, op.class),
        };
        let label = quoted(&label);
        writeln!(text, "  op{id} [label={label}, peripheries={peripheries}];")?;
    }
    for (index, segment) in segments.segments.iter().enumerate() {
        if segment.ops.len() == 1 {
            continue;
        }
        let (kind, colour, branches): (_, _, &[Branch]) = match &segment.kind {
            SegmentKind::Chain => ("chain", "#999999", &[]),
            SegmentKind::FanIn { branches } => ("fan-in", "#0072b2", branches),
            SegmentKind::Irregular => ("irregular", "#d55e00", &[]),
        };
        writeln!(text, "  subgraph cluster_{index} {{")?;
        writeln!(
            text,
            "    label=\"{index}: {kind}\"; color=\"{colour}\"; fontname=\"sans-serif\";"
        )?;
        let ids: Vec<_> = segment.ops.clone().map(FusedOpId::from_index).collect();
        writeln!(text, "    {}", members(&ids))?;
        write_branches(text, branches, &format!("cluster_{index}"))?;
        writeln!(text, "  }}")?;
    }
    for (id, tensor) in graph.tensors.iter() {
        let from = if let Some(producer) = tensor.producer {
            format!("op{producer}")
        } else {
            let label = quoted(&tensor.name);
            writeln!(text, "  t{id} [label={label}, shape=ellipse];")?;
            format!("t{id}")
        };
        let bytes = quoted(&tensor.bytes.to_string());
        for reader in &tensor.readers {
            writeln!(text, "  {from} -> op{reader} [label={bytes}];")?;
        }
        if tensor.is_output {
            let label = quoted(&tensor.name);
            writeln!(text, "  out{id} [label={label}, shape=ellipse];")?;
            writeln!(text, "  {from} -> out{id} [label={bytes}];")?;
        }
    }
    writeln!(text, "}}")
}

/// Recursion is as deep as branches nest, which is limited.
fn write_branches(text: &mut impl Write, branches: &[Branch], path: &str) -> fmt::Result {
    for (index, branch) in branches.iter().enumerate() {
        if branch.ops.len() > 1 {
            let path = format!("{path}_{index}");
            writeln!(text, "    subgraph {path} {{")?;
            writeln!(text, "    label=\"\"; color=\"#bbbbbb\"; style=dashed;")?;
            writeln!(text, "    {}", members(&branch.ops))?;
            write_branches(text, &branch.nested, &path)?;
            writeln!(text, "    }}")?;
        }
    }
    Ok(())
}

fn members(ops: &[FusedOpId]) -> String {
    ops.iter()
        .map(|id| format!("op{id};"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A double-quoted string of Graphviz, where only quotes and backslashes are special.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            other if other.is_control() => quoted.push(' '),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use paracompile_plan::OpClass::{Concat, Conv, MaxPool};

    use super::*;
    use crate::partition::{fuse, segment};
    use paracompile_testkit::sketch::Sketch;

    #[test]
    fn segments_are_boxes_and_gates_have_a_double_border() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let stem = sketch.op("st\"em", Conv, &[x]);
        let a = sketch.op("a", Conv, &[stem]);
        let b = sketch.op("b", MaxPool, &[a]);
        let join = sketch.op("join", Concat, &[stem, b]);
        let text = to_dot(&segment(fuse(&sketch.finish(&[join]))));
        assert!(
            text.contains("op0 [label=\"st\\\"em\\nconv\", peripheries=2];"),
            "{text}"
        );
        assert!(text.contains("op1 [label=\"a\\nconv\", peripheries=1];"));
        assert!(text.contains("subgraph cluster_1 {"));
        assert!(text.contains("op1; op2; op3;"));
        assert!(text.contains("subgraph cluster_1_0 {"));
        assert!(text.contains("t0 -> op0 [label=\"256 B\"];"));
        assert!(text.contains("op3 -> out4 [label=\"256 B\"];"));
        assert_eq!(text.matches('{').count(), text.matches('}').count());
    }
}
