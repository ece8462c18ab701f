//! Queues: those for the tasks of each processor, and one for the moves of each that has any.

use std::collections::BTreeMap;

use paracompile_frontend::soc::ProcessorId;
use paracompile_plan::plan::{Action, BufferKind, Command, Queue, QueueKind};

use super::buffers::Buffers;
use super::plan::{Context, id};
use super::transfers::TransferOrder;
use crate::estimate::Writer;

/// Who does something; processors in profile order, then the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Processor(ProcessorId),
    Io,
}

/// The plan's queues and who owns them.
pub(super) struct Queues {
    list: Vec<Queue>,
    /// By compute queue, counted over all processors of the chip.
    compute: BTreeMap<usize, u32>,
    transfer: BTreeMap<Owner, u32>,
    /// Owners of `send` and `receive` of each transfer.
    ends: Vec<(Owner, Owner)>,
}

impl Queues {
    pub(super) fn new(context: &Context<'_>, buffers: &Buffers, moves: &TransferOrder) -> Self {
        let first_readers = first_readers(context);
        let placement = &context.placement;
        let ends: Vec<(Owner, Owner)> = moves
            .timings
            .iter()
            .map(|(index, _)| {
                let planned = &placement.moves[*index];
                let send = match placement.storages[planned.source].writer {
                    Writer::Frame | Writer::Move(_) => Owner::Io,
                    Writer::Op(op) => Owner::Processor(placement.processor_of[op.index()]),
                };
                let target = buffers.kind(buffers.of_storage(planned.target));
                let receive = match (target, first_readers[planned.target]) {
                    (BufferKind::Output, _) | (_, None) => Owner::Io,
                    (_, Some(reader)) => Owner::Processor(reader),
                };
                (send, receive)
            })
            .collect();
        let writers = buffers
            .weight_readers()
            .map(|(_, processor)| Owner::Processor(processor));
        let mut transfer: BTreeMap<Owner, u32> = ends
            .iter()
            .flat_map(|&(send, receive)| [send, receive])
            .chain(writers)
            .map(|owner| (owner, u32::MAX))
            .collect();
        let mut list = Vec::new();
        let mut compute = BTreeMap::new();
        let mut add = |processor: &str, kind| {
            list.push(Queue {
                id: id(list.len()),
                processor: processor.to_owned(),
                kind,
            });
            id(list.len() - 1)
        };
        for &processor in &context.used {
            let name = &context.soc().processors[processor].name;
            for queue in placement.queues_of(processor) {
                compute.insert(queue, add(name, QueueKind::Compute));
            }
            if let Some(queue) = transfer.get_mut(&Owner::Processor(processor)) {
                *queue = add(name, QueueKind::Transfer);
            }
        }
        if let Some(queue) = transfer.get_mut(&Owner::Io) {
            *queue = add("io", QueueKind::Transfer);
        }
        Self {
            list,
            compute,
            transfer,
            ends,
        }
    }

    /// A compute queue of a processor in use.
    pub(super) fn compute(&self, queue: usize) -> u32 {
        self.compute[&queue]
    }

    /// The queue of a transfer's `send`.
    pub(super) fn send(&self, transfer: usize) -> u32 {
        self.transfer[&self.ends[transfer].0]
    }

    /// The queue of a transfer's `receive`.
    pub(super) fn receive(&self, transfer: usize) -> u32 {
        self.transfer[&self.ends[transfer].1]
    }

    pub(super) fn into_list(self) -> Vec<Queue> {
        self.list
    }
}

/// One `write` for each weight buffer.
pub(super) fn setup(buffers: &Buffers, queues: &Queues) -> Vec<Command> {
    buffers
        .weight_readers()
        .enumerate()
        .map(|(index, (buffer, processor))| Command {
            id: id(index),
            queue: Some(queues.transfer[&Owner::Processor(processor)]),
            action: Action::Write(buffer),
            wait: Vec::new(),
        })
        .collect()
}

/// For each storage, the first processor of the stage that fills it which reads it.
fn first_readers(context: &Context<'_>) -> Vec<Option<ProcessorId>> {
    let placement = &context.placement;
    let mut first: Vec<Option<ProcessorId>> = vec![None; placement.storages.len()];
    for op in context.emission.fused.ops.ids() {
        let processor = placement.processor_of[op.index()];
        for &storage in placement.reads_of(op) {
            if placement.storages[storage].first == placement.stage_of[op.index()] {
                let first = &mut first[storage];
                *first = Some(first.map_or(processor, |known| known.min(processor)));
            }
        }
    }
    first
}
