//! Which buffers of a plan are one piece of memory, where each lies, and how many copies it has.
//!
//! A move between buffers of one context is nothing: both are the same memory.
//! That is safe because the plan lets no stage begin a frame that would overwrite a copy before the last stage that reads it, or a target of
//! its moves, has ended: with `c` copies of a source and `d` of a target that later stages read, the beginning of frame f + c + d comes
//! after the end of all readers of frame f. More copies than needed are always safe, so their number is rounded up to a power of two.
//! Inputs and outputs have as many copies as frames may be under way, since the host writes and reads them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use opencl3::types::cl_device_id;
use paracompile_plan::plan::{BufferKind, Plan, QueueKind};

use crate::lower::Target;
use crate::opencl::{Context, DeviceInfo, Memory};

use super::RunError;

/// A processor of the plan and the device that stands for it.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The plan's name of it.
    pub processor: String,
    /// The device, or the one that it is a part of.
    pub device: DeviceInfo,
    /// The device or sub-device.
    pub id: cl_device_id,
    /// Its compute units.
    pub units: usize,
}

impl Bound {
    /// What operators are lowered for.
    pub fn target(&self) -> Target {
        self.device.target(self.units)
    }
}

/// Where a buffer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Home {
    /// In a context, by index.
    Context(usize),
    /// In memory of the host alone: no processor of the plan computes there.
    Host,
}

/// Contexts and the places of buffers.
#[derive(Debug)]
pub(super) struct Layout {
    /// One a platform in use.
    pub(super) contexts: Vec<Arc<Context>>,
    /// The context of every processor of the plan.
    pub(super) context_of: BTreeMap<String, usize>,
    /// The piece of memory of every buffer.
    pub(super) pieces: Vec<usize>,
    /// Copies by piece.
    pub(super) copies: Vec<usize>,
    /// Bytes of a copy by piece.
    pub(super) bytes: Vec<usize>,
    /// The home of a piece.
    pub(super) piece_homes: Vec<Home>,
}

/// One copy of a piece.
#[derive(Clone, Debug)]
pub(crate) enum Store {
    /// On a device.
    Device(Arc<Memory>),
    /// On the host.
    Host(Arc<Mutex<Vec<u8>>>),
}

impl Layout {
    /// Decides for `plan`, with `depth` frames under way at most; `sharing` says whose devices share a context.
    pub(super) fn new(
        plan: &Plan,
        bound: &[Bound],
        depth: usize,
        sharing: Sharing,
    ) -> Result<Self, RunError> {
        let (contexts, context_of) = contexts(plan, bound, sharing)?;
        let homes = homes(plan, &context_of)?;
        let mut pieces: Vec<usize> = (0..plan.buffers.len()).collect();
        let mut copies: Vec<usize> = plan
            .buffers
            .iter()
            .map(|buffer| buffer.copies as usize)
            .collect();
        for transfer in &plan.transfers {
            let (from, to) = (transfer.from_buffer as usize, transfer.to_buffer as usize);
            if homes[from] == homes[to] {
                let (old, new) = (pieces[to], pieces[from]);
                let crossing = if copies[to] > 1 { copies[to] } else { 0 };
                copies[new] = copies[new].max(plan.buffers[from].copies as usize + crossing);
                for piece in &mut pieces {
                    if *piece == old {
                        *piece = new;
                    }
                }
            }
        }
        let mut bytes = vec![0; plan.buffers.len()];
        for (index, buffer) in plan.buffers.iter().enumerate() {
            let piece = pieces[index];
            let size = usize::try_from(buffer.bytes.count()).unwrap_or(usize::MAX);
            bytes[piece] = bytes[piece].max(size);
            if matches!(buffer.kind, BufferKind::Input | BufferKind::Output) {
                copies[piece] = copies[piece].max(depth);
            }
        }
        for count in &mut copies {
            *count = count.next_power_of_two();
        }
        Ok(Self {
            contexts,
            context_of,
            pieces,
            copies,
            bytes,
            piece_homes: homes,
        })
    }

    /// Whether a move needs nothing to be done.
    pub(super) fn is_nothing(&self, plan: &Plan, transfer: u32) -> bool {
        let transfer = &plan.transfers[transfer as usize];
        self.pieces[transfer.from_buffer as usize] == self.pieces[transfer.to_buffer as usize]
    }

    /// Copies of a buffer.
    pub(super) fn copies_of(&self, buffer: u32) -> usize {
        self.copies[self.pieces[buffer as usize]]
    }

    /// Memory for one copy of a piece.
    pub(super) fn allocate(&self, piece: usize) -> Result<Store, RunError> {
        let bytes = self.bytes[piece];
        match self.piece_homes[piece] {
            Home::Context(context) => Ok(Store::Device(self.contexts[context].allocate(bytes)?)),
            Home::Host => Ok(Store::Host(Arc::new(Mutex::new(vec![0; bytes])))),
        }
    }
}

/// Whose devices share a context, and so their buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Devices of one platform.
    #[default]
    Platform,
    /// Processors with one memory alone: moves between memories are made even where a driver needs none.
    Memory,
}

/// Devices that share a context, and the processors that they stand for.
type Group<'g> = (Vec<cl_device_id>, Vec<&'g str>);

/// Contexts, and which of them is a processor's.
type Contexts = (Vec<Arc<Context>>, BTreeMap<String, usize>);

/// The contexts of the devices that are bound.
fn contexts(plan: &Plan, bound: &[Bound], sharing: Sharing) -> Result<Contexts, RunError> {
    let mut groups: BTreeMap<(usize, &str), Group<'_>> = BTreeMap::new();
    for processor in &plan.processors {
        let found = bound
            .iter()
            .find(|bound| bound.processor == processor.name)
            .ok_or_else(|| RunError::Unbound(processor.name.clone()))?;
        let memory = match sharing {
            Sharing::Platform => "",
            Sharing::Memory => processor.memory.as_str(),
        };
        let group = groups.entry((found.device.platform_index, memory));
        let (devices, processors) = group.or_default();
        if !devices.contains(&found.id) {
            devices.push(found.id);
        }
        processors.push(&processor.name);
    }
    let context_of = groups
        .values()
        .enumerate()
        .flat_map(|(index, (_, processors))| {
            processors.iter().map(move |&name| (name.to_owned(), index))
        })
        .collect();
    let contexts = groups
        .values()
        .enumerate()
        .map(|(index, (devices, _))| Ok(Arc::new(Context::numbered(index, devices)?)))
        .collect::<Result<Vec<_>, RunError>>()?;
    Ok((contexts, context_of))
}

/// The context of every memory is that of its processors.
fn homes(plan: &Plan, context_of: &BTreeMap<String, usize>) -> Result<Vec<Home>, RunError> {
    let mut memories: BTreeMap<&str, usize> = BTreeMap::new();
    for processor in &plan.processors {
        let context = context_of[&processor.name];
        let known = *memories.entry(&processor.memory).or_insert(context);
        if known != context {
            let sharing = plan.processors.iter();
            let sharing = sharing.filter(|other| other.memory == processor.memory);
            return Err(RunError::TornMemory {
                memory: processor.memory.clone(),
                processors: sharing.map(|other| other.name.clone()).collect(),
            });
        }
    }
    let homes = plan.buffers.iter().map(|buffer| {
        memories
            .get(buffer.memory.as_str())
            .map_or(Home::Host, |&context| Home::Context(context))
    });
    Ok(homes.collect())
}

/// Whether a plan's queue runs tasks.
pub(super) fn is_compute(plan: &Plan, queue: u32) -> bool {
    plan.queues[queue as usize].kind == QueueKind::Compute
}
