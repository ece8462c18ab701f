//! Compares what tasks say of their components (`PySchedCL`, section III) with where they run and what they read of each other.
//!
//! Which kernels are a component is the plan's to decide; that one lies on one processor, and which kernels are its front and its end, follows.

use std::collections::{BTreeMap, BTreeSet};

use super::placement::Placement;
use super::violation::{Place, Violation};
use crate::plan::{BufferKind, KernelComponent, Plan};

/// Adds every difference; where no task names a component there is none.
pub(super) fn judge(placement: &Placement<'_>, found: &mut Vec<Violation>) {
    let plan = placement.plan;
    let named: Vec<Option<KernelComponent>> = plan
        .tasks
        .iter()
        .map(|task| task.kernel.as_ref()?.component)
        .collect();
    if named.iter().all(Option::is_none) {
        return;
    }
    let missing = named
        .iter()
        .enumerate()
        .filter(|(_, known)| known.is_none());
    let missing = missing.map(|(index, _)| Violation::Empty {
        at: Place::Task(index),
        field: "kernel.component",
    });
    let before = found.len();
    found.extend(missing);
    if found.len() > before {
        return;
    }
    let named: Vec<KernelComponent> = named.into_iter().flatten().collect();
    one_processor(plan, &named, found);
    front_and_end(plan, &named, found);
}

/// All tasks of a component are on the processor of its first.
fn one_processor(plan: &Plan, named: &[KernelComponent], found: &mut Vec<Violation>) {
    let processor = |index: usize| {
        let queue = plan.queues.get(plan.tasks[index].queue as usize);
        queue.map(|queue| queue.processor.as_str())
    };
    let mut of_component: BTreeMap<u32, &str> = BTreeMap::new();
    for (index, component) in named.iter().enumerate() {
        let Some(own) = processor(index) else {
            continue;
        };
        let first = of_component.entry(component.id).or_insert(own);
        if *first != own {
            found.push(Violation::Differs {
                at: Place::Task(index),
                field: "processor of component",
                stated: own.to_owned(),
                derived: (*first).to_owned(),
            });
        }
    }
}

/// The front reads of other components, or is the sources of a component that reads of none; the end writes for others.
fn front_and_end(plan: &Plan, named: &[KernelComponent], found: &mut Vec<Violation>) {
    let edges = edges(plan);
    let mut front: BTreeSet<usize> = BTreeSet::new();
    let mut end: BTreeSet<usize> = BTreeSet::new();
    let mut has_parents_inside: BTreeSet<usize> = BTreeSet::new();
    for &(from, to, is_data) in &edges {
        if named[from].id == named[to].id {
            has_parents_inside.insert(to);
        } else if is_data {
            end.insert(from);
            front.insert(to);
        }
    }
    let reading: BTreeSet<u32> = front.iter().map(|&task| named[task].id).collect();
    for (index, component) in named.iter().enumerate() {
        let is_source = !reading.contains(&component.id) && !has_parents_inside.contains(&index);
        let follows = [
            (
                "component.front",
                component.front,
                front.contains(&index) || is_source,
            ),
            ("component.end", component.end, end.contains(&index)),
        ];
        for (field, stated, derived) in follows {
            if stated != derived {
                found.push(Violation::Differs {
                    at: Place::Task(index),
                    field,
                    stated: stated.to_string(),
                    derived: derived.to_string(),
                });
            }
        }
    }
}

/// Writer and reader of every tensor that a task writes and another reads, wherever it was moved between; and whether it holds data, and is no mere waiting.
fn edges(plan: &Plan) -> BTreeSet<(usize, usize, bool)> {
    let tensor = |buffer: &u32| -> Option<(&str, bool)> {
        let buffer = plan.buffers.get(*buffer as usize)?;
        let is_data = buffer.bytes.count() > 0;
        (buffer.kind != BufferKind::Workspace).then_some((buffer.tensor.as_str(), is_data))
    };
    let mut writers: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, task) in plan.tasks.iter().enumerate() {
        for (name, _) in task.writes.iter().filter_map(&tensor) {
            writers.insert(name, index);
        }
    }
    let tasks = plan.tasks.iter().enumerate();
    let read = tasks.flat_map(|(index, task)| {
        let read = task.reads.iter().filter_map(&tensor);
        read.map(move |(name, is_data)| (name, is_data, index))
    });
    read.filter_map(|(name, is_data, reader)| Some((*writers.get(name)?, reader, is_data)))
        .collect()
}
