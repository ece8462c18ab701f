//! Compares what tasks of a kernel graph launch with the buffers that they list.
//!
//! What a kernel computes is nothing that a plan can be wrong about; which buffers it gets is.
//! Whether they are those of the specification is judged beside it.

use std::collections::BTreeSet;

use super::launch;
use super::placement::Placement;
use super::violation::{Place, Violation, compare};
use crate::plan::{BufferKind, KernelArgument, ModelKind, Plan, Task, TaskKernel};

/// Adds every difference.
pub(super) fn judge(placement: &Placement<'_>, found: &mut Vec<Violation>) {
    let plan = placement.plan;
    for (index, task) in plan.tasks.iter().enumerate() {
        let at = Place::Task(index);
        match (plan.model.kind, &task.kernel) {
            (ModelKind::Onnx, None) if task.kernels_behind.is_empty() => {}
            (ModelKind::Kernels, Some(_)) => {
                launches(plan, task, &at, found);
                launch::judge(placement, index, found);
            }
            (ModelKind::Kernels, None) => {
                found.push(Violation::Empty {
                    at,
                    field: "kernel",
                });
            }
            (ModelKind::Onnx, _) => {
                let function = task.kernels().next().map(|one| one.function.clone());
                found.push(Violation::UnknownReference {
                    at,
                    field: "kernel",
                    value: function.unwrap_or_default(),
                });
            }
        }
    }
}

/// As many launches as operators, which together get the buffers that the task lists.
fn launches(plan: &Plan, task: &Task, at: &Place, found: &mut Vec<Violation>) {
    let launches = task.kernels().count();
    compare(found, at, "kernels", &launches, &task.operators.len());
    if task
        .kernels_behind
        .iter()
        .any(|one| one.component.is_some())
    {
        found.push(Violation::UnknownReference {
            at: at.clone(),
            field: "kernel.component",
            value: "a kernel behind another one of its task".to_owned(),
        });
    }
    let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
    for kernel in task.kernels() {
        shape(kernel, at, found);
        arguments(plan, kernel, (&mut reads, &mut writes), at, found);
    }
    // A tensor without elements says that a kernel has ended, and scratch space is the processor's: neither is an argument.
    let is_argument = |&buffer: &u32| {
        plan.buffers
            .get(buffer as usize)
            .is_none_or(|buffer| buffer.kind != BufferKind::Workspace && buffer.bytes.count() > 0)
    };
    let listed = |list: &[u32]| {
        list.iter()
            .copied()
            .filter(is_argument)
            .collect::<BTreeSet<u32>>()
    };
    for (field, named, listed) in [
        ("kernel.arguments, read", reads, listed(&task.reads)),
        ("kernel.arguments, written", writes, listed(&task.writes)),
    ] {
        for buffer in named.symmetric_difference(&listed) {
            found.push(Violation::UnknownReference {
                at: at.clone(),
                field,
                value: format!("buffer {buffer}"),
            });
        }
    }
}

/// The code is named, and work items and groups fit each other.
fn shape(kernel: &TaskKernel, at: &Place, found: &mut Vec<Violation>) {
    let texts = [
        ("kernel.file", kernel.file.is_empty()),
        ("kernel.function", kernel.function.is_empty()),
        ("kernel.global", kernel.global.is_empty()),
    ];
    for (field, is_empty) in texts {
        if is_empty {
            found.push(Violation::Empty {
                at: at.clone(),
                field,
            });
        }
    }
    let mut wrong = |field: &'static str, value: String| {
        let at = at.clone();
        found.push(Violation::UnknownReference { at, field, value });
    };
    if kernel.global.len() > 3 || kernel.global.contains(&0) {
        wrong("kernel.global", format!("{:?}", kernel.global));
    }
    if let Some(local) = &kernel.local {
        let pairs = || kernel.global.iter().zip(local);
        let divides = pairs().all(|(global, local)| *local > 0 && global % local == 0);
        if local.len() != kernel.global.len() || !divides {
            wrong("kernel.local", format!("{local:?}"));
        }
    }
}

/// Adds to what the launches before of a task have read of others and written.
fn arguments(
    plan: &Plan,
    kernel: &TaskKernel,
    (reads, writes): (&mut BTreeSet<u32>, &mut BTreeSet<u32>),
    at: &Place,
    found: &mut Vec<Violation>,
) {
    let mut written = Vec::new();
    let mut read = |buffer: u32| {
        // What the task has written itself it reads of nobody.
        if !writes.contains(&buffer) {
            reads.insert(buffer);
        }
    };
    for argument in &kernel.arguments {
        match argument {
            KernelArgument::In(buffer) => read(*buffer),
            KernelArgument::Out(buffer) => written.push(*buffer),
            KernelArgument::InOut {
                read: before,
                write: afterwards,
            } => {
                read(*before);
                written.push(*afterwards);
                let size = |buffer: u32| plan.buffers.get(buffer as usize).map(|it| it.bytes);
                if size(*before) != size(*afterwards) {
                    found.push(Violation::UnknownReference {
                        at: at.clone(),
                        field: "kernel.arguments",
                        value: format!("buffers {before} and {afterwards} of different sizes"),
                    });
                }
            }
            KernelArgument::Scalar { .. } | KernelArgument::Local(_) => {}
        }
    }
    writes.extend(written);
}
