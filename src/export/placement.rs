//! Where a plan puts the nodes of the file: the stage and processor of its tasks, node by node.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_plan::plan::{OperatorRef, Plan, Task};

use super::ExportError;

/// A stage and a processor of it, by index in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    pub(super) stage: usize,
    pub(super) processor: usize,
}

/// Spots of the nodes that hold a task's operators, by node; more than one where a node holds operators of several.
#[derive(Debug)]
pub(super) struct Placement {
    spots: BTreeMap<usize, BTreeSet<Spot>>,
}

impl Placement {
    /// Of a plan for a file with `nodes` top-level nodes.
    pub(super) fn of(plan: &Plan, nodes: usize) -> Result<Self, ExportError> {
        let mut spots: BTreeMap<usize, BTreeSet<Spot>> = BTreeMap::new();
        for task in &plan.tasks {
            let spot = spot(plan, task)?;
            for operator in &task.operators {
                let node = node(operator, nodes)?;
                spots.entry(node).or_default().insert(spot);
            }
        }
        Ok(Self { spots })
    }

    /// The spots of a node; empty if no task runs it.
    pub(super) fn spots(&self, node: usize) -> impl Iterator<Item = Spot> + '_ {
        self.spots.get(&node).into_iter().flatten().copied()
    }
}

/// The spot of a task.
pub(super) fn spot(plan: &Plan, task: &Task) -> Result<Spot, ExportError> {
    let stage = index("stage", task.stage, plan.stages.len())?;
    let queue = index("queue", task.queue, plan.queues.len())?;
    let name = &plan.queues[queue].processor;
    let processor = plan
        .processors
        .iter()
        .position(|processor| processor.name == *name)
        .ok_or(ExportError::NoSuch {
            what: "a processor on queue",
            index: task.queue,
            count: 0,
        })?;
    Ok(Spot { stage, processor })
}

fn node(operator: &OperatorRef, nodes: usize) -> Result<usize, ExportError> {
    index("node", operator.node, nodes)
}

fn index(what: &'static str, index: u32, count: usize) -> Result<usize, ExportError> {
    usize::try_from(index)
        .ok()
        .filter(|&index| index < count)
        .ok_or(ExportError::NoSuch { what, index, count })
}
