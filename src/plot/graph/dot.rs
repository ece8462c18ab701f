//! The graph in the language of Graphviz: stages are clusters, colours are processors, moves are bold.

use std::fmt::{self, Write};

use paracompile_plan::Plan;
use paracompile_plan::plan::Task;
use plotters::style::RGBColor;

use super::super::palette::{Family, Processors, ink_on};
use super::super::points::place_of;
use super::dataflow::{Dataflow, Node};
use crate::partition::quoted;

/// The tasks of `plan` as Graphviz text.
///
/// # Panics
/// Never: writing to a string cannot fail.
pub fn graph_dot(plan: &Plan) -> String {
    let mut text = String::new();
    write_graph(&mut text, plan).expect("writing to a string cannot fail");
    text
}

fn write_graph(text: &mut String, plan: &Plan) -> fmt::Result {
    let flow = Dataflow::of(plan);
    let names = plan.processors.iter().map(|processor| &*processor.name);
    let looks = Processors::of(names);
    writeln!(text, "digraph plan {{")?;
    writeln!(
        text,
        "  node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=10];"
    )?;
    writeln!(
        text,
        "  edge [fontname=\"sans-serif\", fontsize=8, color=\"#777777\"];"
    )?;
    for stage in &plan.stages {
        writeln!(text, "  subgraph cluster_{} {{", stage.id)?;
        let title = format!(
            "stage {}: {}, {}",
            stage.id.saturating_add(1),
            place_of(plan, stage),
            stage.time_ns
        );
        writeln!(
            text,
            "    label={}; color=\"#999999\"; fontname=\"sans-serif\";",
            quoted(&title)
        )?;
        for (index, task) in plan.tasks.iter().enumerate() {
            if task.stage == stage.id {
                write_task(text, plan, &looks, index, task)?;
            }
        }
        writeln!(text, "  }}")?;
    }
    for node in &flow.nodes {
        match *node {
            Node::Task(_) => {}
            Node::Input(buffer) | Node::Output(buffer) => {
                let tensor = &plan.buffers[buffer as usize].tensor;
                let label = quoted(tensor);
                writeln!(
                    text,
                    "  {} [label={label}, shape=ellipse, style=solid];",
                    name(*node)
                )?;
            }
        }
    }
    for edge in &flow.edges {
        let tooltip = quoted(&edge.tensors.join(", "));
        let look = if edge.moved {
            let label = quoted(&format!("{} moved", edge.bytes));
            format!("label={label}, color=black, penwidth=2.5, ")
        } else {
            String::new()
        };
        writeln!(
            text,
            "  {} -> {} [{look}tooltip={tooltip}];",
            name(edge.from),
            name(edge.to)
        )?;
    }
    writeln!(text, "}}")
}

fn write_task(
    text: &mut String,
    plan: &Plan,
    looks: &Processors,
    index: usize,
    task: &Task,
) -> fmt::Result {
    let queue = plan.queues.get(task.queue as usize);
    let processor = queue.map_or("", |queue| &queue.processor);
    let colour = Family::of(task.class).on(looks.colour(processor));
    let outputs: Vec<&str> = task.operators.iter().map(|op| op.output.as_str()).collect();
    let label = format!(
        "{}\n{} on {processor}, {}",
        outputs.first().unwrap_or(&""),
        task.class.name(),
        task.duration_ns
    );
    writeln!(
        text,
        "    t{index} [label={}, fillcolor=\"{}\", fontcolor=\"{}\", tooltip={}];",
        quoted(&label),
        hex(colour),
        hex(ink_on(colour)),
        quoted(&outputs.join(", "))
    )
}

fn name(node: Node) -> String {
    match node {
        Node::Input(buffer) => format!("in{buffer}"),
        Node::Task(task) => format!("t{task}"),
        Node::Output(buffer) => format!("out{buffer}"),
    }
}

fn hex(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::fixtures::{HandOp, hand};

    #[test]
    fn stages_are_clusters_and_moves_are_bold() {
        let op = |reads| HandOp {
            times: &[5, 5],
            reads,
            writes: &[3],
        };
        let scenario = hand(&[op(&[0]), op(&[1])], &[2], &[&[0], &[1]], |_| {});
        let mut plan = scenario.plan(&scenario.estimate());
        plan.tasks[0].operators[0].output = "a\"b\\c".to_owned();
        let text = graph_dot(&plan);
        assert!(text.contains("subgraph cluster_1 {"), "{text}");
        assert!(
            text.contains("label=\"a\\\"b\\\\c\\nconv on p0, 5.00 ns\""),
            "{text}"
        );
        assert!(text.contains("t0 -> t1 [label=\"12 B moved\", color=black"));
        assert_eq!(text.matches('{').count(), text.matches('}').count());
    }
}
