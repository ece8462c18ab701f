//! Who reads what from whom, from the plan file alone.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_plan::plan::BufferKind;
use paracompile_plan::{Bytes, Plan};

/// A vertex of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Node {
    /// A buffer of a network input, by its index in the plan.
    Input(u32),
    /// A task, by its index in the plan.
    Task(u32),
    /// A buffer of a network output.
    Output(u32),
}

/// Tensors from one vertex to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) from: Node,
    pub(super) to: Node,
    /// Whether they are moved to another location on the way.
    pub(super) moved: bool,
    pub(super) tensors: Vec<String>,
    pub(super) bytes: Bytes,
}

/// Vertices and edges in ascending order.
#[derive(Clone, Debug, Default)]
pub(super) struct Dataflow {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
}

impl Dataflow {
    /// References to what the plan does not have lead nowhere.
    pub(super) fn of(plan: &Plan) -> Self {
        let kind = |buffer: u32| plan.buffers.get(buffer as usize).map(|b| b.kind);
        let mut origin: BTreeMap<u32, Node> = BTreeMap::new();
        for (index, buffer) in (0..).zip(&plan.buffers) {
            if buffer.kind == BufferKind::Input {
                origin.insert(index, Node::Input(index));
            }
        }
        for (index, task) in (0..).zip(&plan.tasks) {
            for &buffer in &task.writes {
                if kind(buffer) != Some(BufferKind::Workspace) {
                    origin.insert(buffer, Node::Task(index));
                }
            }
        }
        let moved_from: BTreeMap<u32, u32> = plan
            .transfers
            .iter()
            .map(|transfer| (transfer.to_buffer, transfer.from_buffer))
            .collect();
        let source = |buffer: u32| match (origin.get(&buffer), moved_from.get(&buffer)) {
            (Some(&node), _) => Some((node, buffer, false)),
            (None, Some(from)) => origin.get(from).map(|&node| (node, *from, true)),
            (None, None) => None,
        };
        let mut edges: BTreeMap<(Node, Node, bool), BTreeSet<u32>> = BTreeMap::new();
        let mut join = |buffer: u32, to: Node| {
            if let Some((from, at_home, moved)) = source(buffer)
                && from != to
            {
                let tensors = edges.entry((from, to, moved)).or_default();
                tensors.insert(at_home);
            }
        };
        for (index, task) in (0..).zip(&plan.tasks) {
            for &buffer in &task.reads {
                join(buffer, Node::Task(index));
            }
        }
        for (index, buffer) in (0..).zip(&plan.buffers) {
            if buffer.kind == BufferKind::Output {
                join(index, Node::Output(index));
            }
        }
        let tasks = (0..).zip(&plan.tasks).map(|(index, _)| Node::Task(index));
        let ends = edges.keys().flat_map(|&(from, to, _)| [from, to]);
        let nodes: BTreeSet<Node> = tasks.chain(ends).collect();
        let edges = edges
            .into_iter()
            .map(|((from, to, moved), tensors)| {
                let buffers = || {
                    tensors
                        .iter()
                        .filter_map(|&id| plan.buffers.get(id as usize))
                };
                Edge {
                    from,
                    to,
                    moved,
                    tensors: buffers().map(|buffer| buffer.tensor.clone()).collect(),
                    bytes: buffers().map(|buffer| buffer.bytes).sum(),
                }
            })
            .collect();
        Self {
            nodes: nodes.into_iter().collect(),
            edges,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::fixtures::{HandOp, hand};

    #[test]
    fn readers_meet_their_writers_through_moves_too() {
        // x → op0 on p0 → op1 on p1 → back to p0 as the output.
        let op = |reads| HandOp {
            times: &[5, 5],
            reads,
            writes: &[3],
        };
        let scenario = hand(&[op(&[0]), op(&[1])], &[2], &[&[0, 1]], |_| {});
        let flow = Dataflow::of(&scenario.plan(&scenario.estimate()));
        let edges: Vec<_> = flow
            .edges
            .iter()
            .map(|edge| (edge.from, edge.to, edge.moved, edge.bytes.count()))
            .collect();
        let (Node::Input(input), Node::Output(output)) = (flow.nodes[0], flow.nodes[3]) else {
            panic!("{:?}", flow.nodes);
        };
        assert_eq!(
            edges,
            [
                (Node::Input(input), Node::Task(0), false, 40),
                (Node::Task(0), Node::Task(1), true, 12),
                (Node::Task(1), Node::Output(output), true, 12),
            ]
        );
    }
}
