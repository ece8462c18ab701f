//! Compares what a plan says of the granularity of its tasks with the tasks.
//!
//! Whether kernels should be one task is nothing that follows; that a task of several says why, and how many stand beside it, does.

use super::placement::Placement;
use super::violation::{Place, Violation, compare};

/// Adds every difference.
pub(super) fn judge(placement: &Placement<'_>, found: &mut Vec<Violation>) {
    let plan = placement.plan;
    // Plans of networks, and most others, have none.
    let says_why = plan.tasks.iter().any(|task| task.fused.is_some());
    let beside = if says_why {
        beside(placement)
    } else {
        Vec::new()
    };
    for (index, task) in plan.tasks.iter().enumerate() {
        let at = Place::Task(index);
        let Some(fused) = &task.fused else {
            if !task.kernels_behind.is_empty() {
                let field = "fused";
                found.push(Violation::Empty { at, field });
            }
            continue;
        };
        if task.kernels_behind.is_empty() || plan.granularity.is_none() {
            found.push(Violation::UnknownReference {
                at,
                field: "fused",
                value: fused.processor.clone(),
            });
            continue;
        }
        if fused.processor.is_empty() {
            let at = at.clone();
            let field = "fused.processor";
            found.push(Violation::Empty { at, field });
        }
        // Of a processor that the plan does not use nobody knows more than the profile.
        let mut used = plan.processors.iter();
        if let Some(processor) = used.find(|one| one.name == fused.processor) {
            let dispatch = plan.soc.enqueue_ns + processor.dispatch_ns;
            compare(
                found,
                &at,
                "fused.dispatch_ns",
                &fused.dispatch_ns,
                &dispatch,
            );
        }
        compare(found, &at, "fused.beside", &fused.beside, &beside[index]);
        // Its own processor says what its kernels take there.
        let queue = &plan.queues[task.queue as usize];
        if queue.processor == fused.processor {
            compare(found, &at, "fused.time_ns", &fused.time_ns, &task.work_ns);
        }
    }
    if let Some(granularity) = &plan.granularity {
        let texts = [
            ("granularity.asked", &granularity.asked),
            ("granularity.rule", &granularity.rule),
        ];
        for (field, text) in texts {
            if text.is_empty() {
                let at = Place::Plan;
                found.push(Violation::Empty { at, field });
            }
        }
    }
}

/// Of each task, how many have as many tasks on the longest path to them.
fn beside(placement: &Placement<'_>) -> Vec<u32> {
    let count = placement.tasks.len();
    let mut parents: Vec<Vec<usize>> = Vec::with_capacity(count);
    for (index, task) in placement.tasks.iter().enumerate() {
        let read = task.members.iter();
        let read = read.flat_map(|&member| &placement.network.reads[member]);
        let writers = read.filter_map(|&tensor| placement.writer[tensor]);
        parents.push(writers.filter(|&writer| writer != index).collect());
    }
    let mut depth = vec![0_usize; count];
    // A path has no more tasks than there are; what goes on to change is a circle, which others report.
    for _ in 0..count {
        let mut has_changed = false;
        for task in 0..count {
            let above = parents[task].iter().map(|&parent| depth[parent] + 1);
            let deeper = above.max().unwrap_or(0);
            has_changed |= deeper > depth[task];
            depth[task] = deeper.max(depth[task]);
        }
        if !has_changed {
            break;
        }
    }
    let mut at_depth = vec![0; count];
    for &own in &depth {
        at_depth[own.min(count - 1)] += 1;
    }
    let all = depth.iter().map(|&own| at_depth[own.min(count - 1)]);
    all.collect()
}
