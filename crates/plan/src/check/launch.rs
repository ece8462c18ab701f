//! Compares the launches of a task with those of the specification: the code, its extents, and every argument by position.

use super::placement::Placement;
use super::violation::{Place, Violation, compare};
use crate::facts::{ArgumentFacts, LaunchFacts, TensorFacts};
use crate::plan::{KernelArgument, Plan, TaskKernel};

/// Adds every difference of the task at `index`.
pub(super) fn judge(placement: &Placement<'_>, index: usize, found: &mut Vec<Violation>) {
    let facts = placement.network.facts;
    let at = Place::Task(index);
    let members = placement.tasks[index].members.iter();
    let launches = members.map(|&operator| facts.operators[operator].launch.as_ref());
    for (kernel, launch) in placement.plan.tasks[index].kernels().zip(launches) {
        if let Some(launch) = launch {
            differences(placement.plan, &facts.tensors, (kernel, launch), &at, found);
        }
    }
}

fn differences(
    plan: &Plan,
    tensors: &[TensorFacts],
    (kernel, launch): (&TaskKernel, &LaunchFacts),
    at: &Place,
    found: &mut Vec<Violation>,
) {
    compare(found, at, "kernel.file", &kernel.file, &launch.file);
    compare(
        found,
        at,
        "kernel.function",
        &kernel.function,
        &launch.function,
    );
    compare(
        found,
        at,
        "kernel.defines",
        &kernel.defines,
        &launch.defines,
    );
    compare(found, at, "kernel.global", &kernel.global, &launch.global);
    compare(found, at, "kernel.local", &kernel.local, &launch.local);
    let stated: Vec<Argument<'_>> = kernel
        .arguments
        .iter()
        .map(|argument| Argument::stated(argument, plan))
        .collect();
    let derived: Vec<Argument<'_>> = launch
        .arguments
        .iter()
        .map(|argument| Argument::derived(argument, tensors))
        .collect();
    compare(
        found,
        at,
        "kernel.arguments, how many",
        &stated.len(),
        &derived.len(),
    );
    for (position, (stated, derived)) in stated.iter().zip(&derived).enumerate() {
        let stated = (position, stated);
        compare(found, at, "kernel.arguments", &stated, &(position, derived));
    }
}

/// An argument with the names of its tensors.
#[derive(Debug, PartialEq, Eq)]
enum Argument<'a> {
    In(&'a str),
    Out(&'a str),
    InOut { read: &'a str, written: &'a str },
    Scalar { dtype: &'a str, value: &'a str },
    Local(u64),
}

impl<'a> Argument<'a> {
    fn stated(argument: &'a KernelArgument, plan: &'a Plan) -> Self {
        // A buffer that is not there is told beside.
        let name = |buffer: u32| {
            let buffer = plan.buffers.get(buffer as usize);
            buffer.map_or("", |buffer| buffer.tensor.as_str())
        };
        match argument {
            KernelArgument::In(buffer) => Self::In(name(*buffer)),
            KernelArgument::Out(buffer) => Self::Out(name(*buffer)),
            KernelArgument::InOut { read, write } => Self::InOut {
                read: name(*read),
                written: name(*write),
            },
            KernelArgument::Scalar { dtype, value } => Self::Scalar { dtype, value },
            KernelArgument::Local(bytes) => Self::Local(bytes.count()),
        }
    }

    fn derived(argument: &'a ArgumentFacts, tensors: &'a [TensorFacts]) -> Self {
        let name = |tensor: usize| tensors[tensor].name.as_str();
        match argument {
            ArgumentFacts::In(tensor) => Self::In(name(*tensor)),
            ArgumentFacts::Out(tensor) => Self::Out(name(*tensor)),
            ArgumentFacts::InOut { read, written } => Self::InOut {
                read: name(*read),
                written: name(*written),
            },
            ArgumentFacts::Scalar { dtype, value } => Self::Scalar { dtype, value },
            ArgumentFacts::Local(bytes) => Self::Local(bytes.count()),
        }
    }
}
