//! Compares what tasks of a kernel graph launch with the buffers that they list.
//!
//! What a kernel computes is nothing that a plan can be wrong about; which buffers it gets is.

use std::collections::BTreeSet;

use super::placement::Placement;
use super::violation::{Place, Violation};
use crate::plan::{BufferKind, KernelArgument, ModelKind, Plan, Task, TaskKernel};

/// Adds every difference.
pub(super) fn judge(placement: &Placement<'_>, found: &mut Vec<Violation>) {
    let plan = placement.plan;
    for (index, task) in plan.tasks.iter().enumerate() {
        let at = Place::Task(index);
        match (plan.model.kind, &task.kernel) {
            (ModelKind::Onnx, None) => {}
            (ModelKind::Kernels, Some(kernel)) => launch(plan, task, kernel, &at, found),
            (ModelKind::Kernels, None) => {
                found.push(Violation::Empty {
                    at,
                    field: "kernel",
                });
            }
            (ModelKind::Onnx, Some(kernel)) => {
                let value = kernel.function.clone();
                let field = "kernel";
                found.push(Violation::UnknownReference { at, field, value });
            }
        }
    }
}

fn launch(plan: &Plan, task: &Task, kernel: &TaskKernel, at: &Place, found: &mut Vec<Violation>) {
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
    let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
    for argument in &kernel.arguments {
        match argument {
            KernelArgument::In(buffer) => {
                reads.insert(*buffer);
            }
            KernelArgument::Out(buffer) => {
                writes.insert(*buffer);
            }
            KernelArgument::InOut { read, write } => {
                reads.insert(*read);
                writes.insert(*write);
                let size = |buffer: u32| plan.buffers.get(buffer as usize).map(|it| it.bytes);
                if size(*read) != size(*write) {
                    wrong(
                        "kernel.arguments",
                        format!("buffers {read} and {write} of different sizes"),
                    );
                }
            }
            KernelArgument::Scalar { .. } | KernelArgument::Local(_) => {}
        }
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
            wrong(field, format!("buffer {buffer}"));
        }
    }
}
