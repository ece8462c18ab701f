//! Buffers: each tensor in each memory that holds it, each weight where a processor reads it, and each processor's scratch space.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_frontend::ir::TensorId;
use paracompile_frontend::soc::{LocationId, ProcessorId};
use paracompile_plan::Bytes;
use paracompile_plan::plan::{Buffer, BufferKind, Layout, Task};

use super::plan::{Context, id};
use crate::estimate::{StorageIndex, Writer, workspace};
use crate::partition::FusedOpId;

/// The plan's buffers and what they stand for.
pub(super) struct Buffers {
    list: Vec<Buffer>,
    of_storage: Vec<u32>,
    of_weight: BTreeMap<(TensorId, LocationId), u32>,
    of_workspace: BTreeMap<ProcessorId, u32>,
    /// Weights that each fused operator reads.
    weights: Vec<Vec<TensorId>>,
    /// Scratch space that each fused operator needs.
    workspaces: Vec<Bytes>,
    /// The first processor that reads each weight buffer, by buffer.
    weight_reader: BTreeMap<u32, ProcessorId>,
}

/// What a buffer is made from; the order of variants and fields is the order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    Storage {
        kind: BufferKind,
        tensor: TensorId,
        rank: usize,
        storage: StorageIndex,
    },
    Weight {
        tensor: TensorId,
        rank: usize,
        location: LocationId,
    },
    Workspace {
        processor: ProcessorId,
        bytes: Bytes,
    },
}

impl Buffers {
    pub(super) fn new(context: &Context<'_>) -> Self {
        let emission = context.emission;
        let weights = emission
            .fused
            .ops
            .iter()
            .map(|(_, op)| op.weights.iter().map(|weight| weight.tensor).collect())
            .collect();
        let workspaces = emission
            .fused
            .ops
            .iter()
            .map(|(op, fused)| {
                let processor = context.placement.processor_of[op.index()];
                workspace(emission.table, &fused.members, processor)
            })
            .collect();
        let mut buffers = Self {
            list: Vec::new(),
            of_storage: vec![u32::MAX; context.placement.storages.len()],
            of_weight: BTreeMap::new(),
            of_workspace: BTreeMap::new(),
            weights,
            workspaces,
            weight_reader: BTreeMap::new(),
        };
        let mut origins = buffers.origins(context);
        origins.sort_unstable();
        for origin in origins {
            buffers.push(context, origin);
        }
        buffers.note_weight_readers(context);
        buffers
    }

    /// The buffer of a storage.
    pub(super) fn of_storage(&self, storage: StorageIndex) -> u32 {
        self.of_storage[storage]
    }

    /// The tensor in a buffer of the plan.
    pub(super) fn tensor(&self, buffer: u32) -> &str {
        &self.list[buffer as usize].tensor
    }

    /// What a buffer of the plan holds.
    pub(super) fn kind(&self, buffer: u32) -> BufferKind {
        self.list[buffer as usize].kind
    }

    /// The weight buffers that a fused operator reads at its processor.
    pub(super) fn weights_of(
        &self,
        op: FusedOpId,
        location: LocationId,
    ) -> impl Iterator<Item = u32> {
        self.weights[op.index()]
            .iter()
            .map(move |&weight| self.of_weight[&(weight, location)])
    }

    /// The workspace of a fused operator at its processor, if it needs any.
    pub(super) fn workspace_of(&self, op: FusedOpId, processor: ProcessorId) -> Option<u32> {
        (self.workspaces[op.index()] > Bytes::ZERO).then(|| self.of_workspace[&processor])
    }

    /// Each weight buffer with the first processor that reads it, by buffer.
    pub(super) fn weight_readers(&self) -> impl Iterator<Item = (u32, ProcessorId)> {
        self.weight_reader
            .iter()
            .map(|(&buffer, &processor)| (buffer, processor))
    }

    /// Notes the first and last task that touch each buffer.
    pub(super) fn note_users(&mut self, tasks: &[Task]) {
        for task in tasks {
            for &buffer in task.reads.iter().chain(&task.writes) {
                let buffer = &mut self.list[buffer as usize];
                buffer.first_task.get_or_insert(task.id);
                buffer.last_task = Some(task.id);
            }
        }
    }

    pub(super) fn into_list(self) -> Vec<Buffer> {
        self.list
    }

    fn origins(&self, context: &Context<'_>) -> Vec<Origin> {
        let soc = context.soc();
        let fused = context.emission.fused;
        let mut origins = BTreeSet::new();
        for (index, storage) in context.placement.storages.iter().enumerate() {
            let kind = match storage.writer {
                Writer::Frame => BufferKind::Input,
                Writer::Op(_) | Writer::Move(_) if storage.is_result => BufferKind::Output,
                Writer::Op(_) | Writer::Move(_) => BufferKind::Activation,
            };
            origins.insert(Origin::Storage {
                kind,
                tensor: fused.tensors[storage.tensor].tensor,
                rank: rank(context, storage.location),
                storage: index,
            });
        }
        let mut largest: BTreeMap<ProcessorId, Bytes> = BTreeMap::new();
        for op in fused.ops.ids() {
            let processor = context.placement.processor_of[op.index()];
            let location = soc.processors[processor].home;
            for &tensor in &self.weights[op.index()] {
                origins.insert(Origin::Weight {
                    tensor,
                    rank: rank(context, location),
                    location,
                });
            }
            let largest = largest.entry(processor).or_default();
            *largest = (*largest).max(self.workspaces[op.index()]);
        }
        for (processor, bytes) in largest {
            if bytes > Bytes::ZERO {
                origins.insert(Origin::Workspace { processor, bytes });
            }
        }
        origins.into_iter().collect()
    }

    fn push(&mut self, context: &Context<'_>, origin: Origin) {
        let soc = context.soc();
        let number = id(self.list.len());
        let memory_name = |location: LocationId| {
            let memory = soc.locations[location].memory;
            soc.memories[memory].name.clone()
        };
        let buffer = match origin {
            Origin::Storage {
                kind,
                tensor,
                storage,
                ..
            } => {
                self.of_storage[storage] = number;
                let storage = &context.placement.storages[storage];
                let layout = soc.locations[storage.location].layout;
                Buffer {
                    memory: memory_name(storage.location),
                    copies: id(storage.copies()),
                    ..of_tensor(context, number, tensor, kind, layout)
                }
            }
            Origin::Weight {
                tensor, location, ..
            } => {
                self.of_weight.insert((tensor, location), number);
                let layout = soc.locations[location].layout;
                Buffer {
                    memory: memory_name(location),
                    ..of_tensor(context, number, tensor, BufferKind::Weight, layout)
                }
            }
            Origin::Workspace { processor, bytes } => {
                self.of_workspace.insert(processor, number);
                let processor = &soc.processors[processor];
                Buffer {
                    id: number,
                    tensor: String::new(),
                    kind: BufferKind::Workspace,
                    memory: soc.memories[processor.memory].name.clone(),
                    bytes,
                    dtype: "uint8".to_owned(),
                    shape: vec![bytes.count()],
                    layout: processor.layout,
                    copies: 1,
                    first_task: None,
                    last_task: None,
                }
            }
        };
        self.list.push(buffer);
    }

    fn note_weight_readers(&mut self, context: &Context<'_>) {
        for op in context.emission.fused.ops.ids() {
            let processor = context.placement.processor_of[op.index()];
            let location = context.soc().processors[processor].home;
            for &tensor in &self.weights[op.index()] {
                let buffer = self.of_weight[&(tensor, location)];
                let first = self.weight_reader.entry(buffer).or_insert(processor);
                *first = (*first).min(processor);
            }
        }
    }
}

/// Where a location stands among those of the plan's processors; `io` comes last if no processor is there.
pub(super) fn rank(context: &Context<'_>, location: LocationId) -> usize {
    context
        .used
        .iter()
        .position(|&processor| context.soc().processors[processor].home == location)
        .unwrap_or(context.used.len())
}

fn of_tensor(
    context: &Context<'_>,
    number: u32,
    tensor: TensorId,
    kind: BufferKind,
    layout: Layout,
) -> Buffer {
    let tensor = &context.emission.graph.tensors[tensor];
    Buffer {
        id: number,
        tensor: tensor.name.clone(),
        kind,
        memory: String::new(),
        bytes: tensor.bytes,
        dtype: tensor.dtype.name().to_owned(),
        shape: tensor.shape.0.clone(),
        layout,
        copies: 1,
        first_task: None,
        last_task: None,
    }
}
