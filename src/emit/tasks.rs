//! Tasks: fused operators in time, on their queues, with the buffers that they touch.

use paracompile_frontend::ir::{KernelOperand, OpId, TensorId};
use paracompile_plan::plan::{KernelArgument, Task, TaskKernel};

use super::buffers::Buffers;
use super::plan::{Context, id};
use super::queues::Queues;
use crate::estimate::TaskTiming;
use crate::partition::FusedOpId;

/// Fused operators in the order of the plan's tasks.
pub(super) struct TaskOrder {
    /// Stage and times of each task.
    pub(super) timings: Vec<(usize, TaskTiming)>,
    /// Task of each fused operator.
    of_op: Vec<usize>,
}

impl TaskOrder {
    /// By stage, start and queue; what ties keeps the order of its queue.
    pub(super) fn new(context: &Context<'_>) -> Self {
        let mut timings = Vec::with_capacity(context.emission.fused.ops.len());
        for (stage, timing) in context.emission.estimate.stages.iter().enumerate() {
            timings.extend(timing.tasks.iter().map(|&task| (stage, task)));
        }
        // Queues stand in the order of their processors, and the sort keeps the sequence of the stage.
        timings.sort_by_key(|(stage, task)| (*stage, task.start, task.queue));
        let mut of_op = vec![usize::MAX; timings.len()];
        for (index, (_, task)) in timings.iter().enumerate() {
            of_op[task.op.index()] = index;
        }
        Self { timings, of_op }
    }

    /// The task of a fused operator.
    pub(super) fn task_of(&self, op: FusedOpId) -> usize {
        self.of_op[op.index()]
    }
}

/// The plan's tasks.
pub(super) fn list(
    context: &Context<'_>,
    order: &TaskOrder,
    buffers: &Buffers,
    queues: &Queues,
) -> Vec<Task> {
    order
        .timings
        .iter()
        .enumerate()
        .map(|(index, &(stage, timing))| {
            let op = &context.emission.fused.ops[timing.op];
            let location = context.soc().processors[timing.processor].home;
            let read = context.placement.reads_of(timing.op);
            let mut reads: Vec<u32> = read
                .iter()
                .map(|&storage| buffers.of_storage(storage))
                .chain(buffers.weights_of(timing.op, location))
                .collect();
            let mut writes: Vec<u32> = op
                .writes
                .iter()
                .map(|tensor| buffers.of_storage(context.placement.homes[tensor.index()]))
                .chain(buffers.workspace_of(timing.op, timing.processor))
                .collect();
            for list in [&mut reads, &mut writes] {
                list.sort_unstable();
                list.dedup();
            }
            let mut kernels = kernels(context, timing.op, buffers, (&reads, &writes)).into_iter();
            let tasks = context.emission.tasks;
            let fused = tasks.and_then(|tasks| tasks.why(&op.members));
            Task {
                id: id(index),
                stage: id(stage),
                queue: queues.compute(timing.queue),
                operators: op
                    .members
                    .iter()
                    .map(|&member| context.emission.graph.ops[member].at.clone())
                    .collect(),
                class: op.class,
                reads,
                writes,
                work_ns: timing.work,
                start_ns: timing.start,
                duration_ns: timing.duration,
                energy_nj: timing.energy,
                kernel: kernels.next(),
                kernels_behind: kernels.collect(),
                fused: fused.cloned(),
            }
        })
        .collect()
}

/// What a task of a kernel graph launches, in order.
fn kernels(
    context: &Context<'_>,
    op: FusedOpId,
    buffers: &Buffers,
    touched: (&[u32], &[u32]),
) -> Vec<TaskKernel> {
    let members = context.emission.fused.ops[op].members.iter();
    members
        .filter_map(|&member| kernel(context, member, buffers, touched))
        .collect()
}

fn kernel(
    context: &Context<'_>,
    member: OpId,
    buffers: &Buffers,
    (reads, writes): (&[u32], &[u32]),
) -> Option<TaskKernel> {
    let graph = context.emission.graph;
    let call = graph.kernels.get(member.index())?;
    let find = |list: &[u32], tensor: TensorId| {
        let name = graph.tensors[tensor].name.as_str();
        let mut list = list.iter().copied();
        list.find(|&buffer| buffers.tensor(buffer) == name)
    };
    let written = |tensor: TensorId| {
        let found = find(writes, tensor);
        found.expect("a task lists the buffers of all tensors that its operators write")
    };
    // What another kernel of the task has written is among what it writes.
    let read = |tensor: TensorId| {
        let found = find(reads, tensor).or_else(|| find(writes, tensor));
        found.expect("a task lists the buffers of all tensors that its operators read")
    };
    let arguments = call.arguments.iter().map(|argument| match argument {
        KernelOperand::In(tensor) => KernelArgument::In(read(*tensor)),
        KernelOperand::Out(tensor) => KernelArgument::Out(written(*tensor)),
        KernelOperand::InOut {
            read: before,
            written: afterwards,
        } => KernelArgument::InOut {
            read: read(*before),
            write: written(*afterwards),
        },
        KernelOperand::Scalar { dtype, value } => KernelArgument::Scalar {
            dtype: dtype.clone(),
            value: value.clone(),
        },
        KernelOperand::Local(bytes) => KernelArgument::Local(*bytes),
    });
    Some(TaskKernel {
        file: call.file.clone(),
        function: call.function.clone(),
        defines: call.defines.clone(),
        global: call.global.clone(),
        local: call.local.clone(),
        arguments: arguments.collect(),
        component: None,
    })
}
