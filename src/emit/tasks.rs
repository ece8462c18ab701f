//! Tasks: fused operators in time, on their queues, with the buffers that they touch.

use paracompile_frontend::ir::{KernelOperand, TensorId};
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
            let kernel = kernel(context, timing.op, buffers, (&reads, &writes));
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
                kernel,
            }
        })
        .collect()
}

/// What a task of a kernel graph launches; there a task is one operator.
fn kernel(
    context: &Context<'_>,
    op: FusedOpId,
    buffers: &Buffers,
    (reads, writes): (&[u32], &[u32]),
) -> Option<TaskKernel> {
    let graph = context.emission.graph;
    let [member] = context.emission.fused.ops[op].members[..] else {
        return None;
    };
    let call = graph.kernels.get(member.index())?;
    let named = |list: &[u32], tensor: TensorId| {
        let name = graph.tensors[tensor].name.as_str();
        let mut list = list.iter().copied();
        let found = list.find(|&buffer| buffers.tensor(buffer) == name);
        found.expect("a task lists the buffers of all tensors that its operator reads or writes")
    };
    let arguments = call.arguments.iter().map(|argument| match argument {
        KernelOperand::In(tensor) => KernelArgument::In(named(reads, *tensor)),
        KernelOperand::Out(tensor) => KernelArgument::Out(named(writes, *tensor)),
        KernelOperand::InOut { read, written } => KernelArgument::InOut {
            read: named(reads, *read),
            write: named(writes, *written),
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
