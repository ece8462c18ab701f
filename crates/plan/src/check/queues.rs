//! Compares the plan's queues with those that its tasks and moves need.

use super::dataflow::Dataflow;
use super::placement::Placement;
use super::violation::{List, Place, Violation, compare};
use crate::plan::{BufferKind, Plan, QueueKind};

/// Adds every difference.
pub(super) fn judge(placement: &Placement<'_>, flow: &Dataflow, found: &mut Vec<Violation>) {
    let plan = placement.plan;
    let mut transfers = vec![false; plan.processors.len()];
    let mut io = false;
    let sides = (flow.moves.iter()).flat_map(|entry| [entry.source, entry.target]);
    let written = (0..flow.buffers.len())
        .filter(|&id| flow.buffers[id].kind == BufferKind::Weight)
        .map(|id| weight_processor(placement, flow, id));
    for side in sides.chain(written) {
        match side {
            Some(processor) => transfers[processor] = true,
            None => io = true,
        }
    }
    let mut needed = Vec::new();
    for (index, processor) in plan.processors.iter().enumerate() {
        let lanes = plan.compute_queues(&processor.name).max(1);
        needed.extend(vec![(processor.name.as_str(), QueueKind::Compute); lanes]);
        if transfers[index] {
            needed.push((processor.name.as_str(), QueueKind::Transfer));
        }
    }
    if io {
        needed.push(("io", QueueKind::Transfer));
    }
    compare(
        found,
        &Place::Plan,
        "the number of queues",
        &plan.queues.len(),
        &needed.len(),
    );
    for (index, (queue, needed)) in plan.queues.iter().zip(&needed).enumerate() {
        let at = Place::Queue(index);
        compare(
            found,
            &at,
            "processor",
            &queue.processor.as_str(),
            &needed.0,
        );
        compare(found, &at, "kind", &queue.kind, &needed.1);
    }
    let mut busy = vec![false; plan.queues.len()];
    for task in &plan.tasks {
        busy[task.queue as usize] = true;
    }
    for (index, queue) in plan.queues.iter().enumerate() {
        if queue.kind == QueueKind::Compute && !busy[index] {
            found.push(Violation::IdleProcessor {
                at: Place::Queue(index),
                processor: queue.processor.clone(),
            });
        }
    }
    let keys: Vec<_> = (plan.tasks.iter())
        .map(|task| (task.stage, task.start_ns, task.queue))
        .collect();
    if let Some(index) = (1..keys.len()).find(|&index| keys[index - 1] > keys[index]) {
        found.push(Violation::Unordered {
            at: Place::Task(index),
            list: List::Tasks,
        });
    }
}

/// The first processor that reads a weight buffer; its transfer queue writes it.
pub(super) fn weight_processor(
    placement: &Placement<'_>,
    flow: &Dataflow,
    buffer: usize,
) -> Option<usize> {
    (flow.buffers[buffer].readers.iter())
        .filter_map(|node| match node {
            super::dataflow::Node::Task(task) => Some(placement.tasks[*task].processor),
            super::dataflow::Node::Move(_) => None,
        })
        .min()
}

/// The transfer queue of a processor, or of `io`.
pub(super) fn transfer_queue(plan: &Plan, processor: Option<usize>) -> Option<u32> {
    let name = processor.map_or("io", |processor| plan.processors[processor].name.as_str());
    (plan.queues.iter())
        .position(|queue| queue.kind == QueueKind::Transfer && queue.processor == name)
        .and_then(|index| u32::try_from(index).ok())
}
