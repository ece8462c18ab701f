//! Which buffers of a plan are one piece of memory, where each lies, and how many copies it has.
//!
//! A move between buffers of one context is nothing: both are the same memory.
//! That is safe because the plan lets no stage begin a frame that would overwrite a copy before the last stage that reads it, or a target of
//! its moves, has ended: with `c` copies of a source and `d` of a target that later stages read, the beginning of frame f + c + d comes
//! after the end of all readers of frame f. More copies than needed are always safe, so their number is rounded up to a power of two.
//! Operands of a concatenation along the first axis that is longer than one lie inside its result, by the same argument, and it is no command.
//! What a user's kernel changes in place is one memory before and afterwards, by the same argument, unless somebody else reads what was:
//! an update is a move to the same place.
//! Inputs and outputs have as many copies as frames may be under way, since the host writes and reads them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use opencl3::types::cl_device_id;
use paracompile_plan::plan::{Buffer, BufferKind, Plan, QueueKind, Task, Transfer};

use crate::host_memory::zeroed;
use crate::lower::Target;
use crate::opencl::{Context, DeviceInfo, Memory};
use crate::users::Update;

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
    /// The piece of memory of every buffer, and where in it the buffer begins, in bytes.
    pub(super) places: Vec<(usize, usize)>,
    /// Copies by piece.
    pub(super) copies: Vec<usize>,
    /// Bytes of a copy by piece.
    pub(super) bytes: Vec<usize>,
    /// The home of a piece.
    pub(super) piece_homes: Vec<Home>,
    /// Tasks that are nothing, since their operands lie inside their results.
    pub(super) in_place: BTreeSet<usize>,
}

/// A concatenation whose operands can lie inside its result one after another.
#[derive(Clone, Debug)]
pub(super) struct Join {
    /// Index of the task.
    pub(super) task: usize,
    /// The buffer of its result.
    pub(super) result: u32,
    /// The buffers of its operands, in order.
    pub(super) operands: Vec<u32>,
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
        joins: &[Join],
        updates: &[Update],
    ) -> Result<Self, RunError> {
        let (contexts, context_of) = contexts(plan, bound, sharing)?;
        let homes = homes(plan, &context_of)?;
        let mut pieces = Pieces::new(plan, homes);
        for transfer in &plan.transfers {
            pieces.unite(transfer.from_buffer as usize, transfer.to_buffer as usize);
        }
        pieces.admit(plan, depth);
        let in_place = joins
            .iter()
            .filter(|join| pieces.join(join))
            .map(|join| join.task)
            .collect();
        for update in updates {
            pieces.update(update);
        }
        for count in &mut pieces.copies {
            *count = count.next_power_of_two();
        }
        Ok(Self {
            contexts,
            context_of,
            in_place,
            places: pieces.places,
            copies: pieces.copies,
            bytes: pieces.bytes,
            piece_homes: pieces.homes,
        })
    }

    /// Whether two buffers are the same memory.
    pub(super) fn is_same(&self, one: u32, other: u32) -> bool {
        self.places[one as usize] == self.places[other as usize]
    }

    /// Whether a move needs nothing to be done.
    pub(super) fn is_nothing(&self, plan: &Plan, transfer: u32) -> bool {
        let transfer = &plan.transfers[transfer as usize];
        self.is_same(transfer.from_buffer, transfer.to_buffer)
    }

    /// Copies of a buffer.
    pub(super) fn copies_of(&self, buffer: u32) -> usize {
        self.copies[self.places[buffer as usize].0]
    }

    /// Memory for one copy of a piece; `other` is a context that it moves to or from.
    pub(super) fn allocate(&self, piece: usize, other: Option<usize>) -> Result<Store, RunError> {
        let bytes = self.bytes[piece];
        match self.piece_homes[piece] {
            Home::Context(context) => {
                let other = other.map(|other| &*self.contexts[other]);
                let memory = self.contexts[context].allocate_beside(other, bytes)?;
                Ok(Store::Device(memory))
            }
            Home::Host => {
                let bytes = zeroed("a buffer of the host", bytes)?;
                Ok(Store::Host(Arc::new(Mutex::new(bytes))))
            }
        }
    }

    /// By piece, a context that it moves to or from.
    pub(super) fn partners(&self, plan: &Plan) -> Vec<Option<usize>> {
        let mut partners = vec![None; self.piece_homes.len()];
        for transfer in &plan.transfers {
            let [from, to] = [transfer.from_buffer, transfer.to_buffer]
                .map(|buffer| self.places[buffer as usize].0);
            if let (Home::Context(source), Home::Context(target)) =
                (self.piece_homes[from], self.piece_homes[to])
                && source != target
            {
                partners[from] = Some(target);
                partners[to] = Some(source);
            }
        }
        partners
    }
}

/// Buffers on their way to pieces of memory: at first each is its own.
struct Pieces<'p> {
    plan: &'p Plan,
    places: Vec<(usize, usize)>,
    copies: Vec<usize>,
    bytes: Vec<usize>,
    homes: Vec<Home>,
    /// Tasks that change a piece in place, by piece and task.
    updaters: BTreeSet<(usize, usize)>,
}

impl<'p> Pieces<'p> {
    fn new(plan: &'p Plan, homes: Vec<Home>) -> Self {
        let size = |buffer: &Buffer| usize::try_from(buffer.bytes.count()).unwrap_or(usize::MAX);
        Self {
            plan,
            places: (0..plan.buffers.len()).map(|buffer| (buffer, 0)).collect(),
            copies: plan
                .buffers
                .iter()
                .map(|buffer| buffer.copies as usize)
                .collect(),
            bytes: plan.buffers.iter().map(size).collect(),
            homes,
            updaters: BTreeSet::new(),
        }
    }

    /// The target of a move is its source, if both have one home.
    fn unite(&mut self, from: usize, to: usize) {
        if self.homes[from] != self.homes[to] {
            return;
        }
        let (kept, gone) = (self.places[from].0, self.places[to].0);
        let own = self.plan.buffers[from].copies as usize;
        let needed = own + crossing(self.copies[gone]);
        self.copies[kept] = self.copies[kept].max(needed);
        self.shift(gone, kept, 0);
    }

    /// As many copies of inputs and outputs as frames may be under way.
    fn admit(&mut self, plan: &Plan, depth: usize) {
        for (index, buffer) in plan.buffers.iter().enumerate() {
            if is_port(buffer) {
                let piece = self.places[index].0;
                self.copies[piece] = self.copies[piece].max(depth);
            }
        }
    }

    /// Puts the operands of a concatenation into its result, if nothing else decides where one of them lies.
    fn join(&mut self, join: &Join) -> bool {
        let (target, base) = self.places[join.result as usize];
        let mut seen = BTreeSet::from([target]);
        let may_move = join.operands.iter().all(|&operand| {
            let index = operand as usize;
            let (piece, offset) = self.places[index];
            let buffer = &self.plan.buffers[index];
            let is_whole = offset == 0 && buffer.bytes.count() == self.bytes[piece] as u64;
            let is_free = !self.holds_port_or_weight(piece);
            let is_here = self.homes[piece] == self.homes[target];
            is_whole && is_free && is_here && seen.insert(piece)
        });
        if !may_move {
            return false;
        }
        let mut offset = base;
        for &operand in &join.operands {
            let piece = self.places[operand as usize].0;
            self.copies[target] += crossing(self.copies[piece]);
            self.shift(piece, target, offset);
            offset += self.bytes[piece];
        }
        true
    }

    /// Puts what a task makes of a buffer into its place, if nobody else needs what was there.
    fn update(&mut self, update: &Update) {
        let (read, written) = (update.read as usize, update.written as usize);
        let (kept, gone) = (self.places[read].0, self.places[written].0);
        let is_alike = self.homes[kept] == self.homes[gone] && self.bytes[kept] == self.bytes[gone];
        if kept == gone || !is_alike || self.holds_port_or_weight(kept) {
            return;
        }
        let is_here = |buffer: u32| self.places[buffer as usize].0 == kept;
        let leaves =
            |transfer: &Transfer| is_here(transfer.from_buffer) && !is_here(transfer.to_buffer);
        // A task that has changed the piece before read it before this one began.
        let reads = |(index, task): (usize, &Task)| {
            index != update.task
                && !self.updaters.contains(&(kept, index))
                && task.reads.iter().any(|&buffer| is_here(buffer))
        };
        if self.plan.transfers.iter().any(leaves) || self.plan.tasks.iter().enumerate().any(reads) {
            return;
        }
        let own = self.plan.buffers[read].copies as usize;
        let needed = own + crossing(self.copies[gone]);
        self.copies[kept] = self.copies[kept].max(needed);
        let moved = self.updaters.iter().filter(|(piece, _)| *piece == gone);
        let moved: Vec<(usize, usize)> = moved.map(|&(_, task)| (kept, task)).collect();
        self.updaters.extend(moved);
        self.updaters.insert((kept, update.task));
        self.shift(gone, kept, 0);
    }

    fn holds_port_or_weight(&self, piece: usize) -> bool {
        let mut buffers = self.places.iter().zip(&self.plan.buffers);
        buffers.any(|(&(place, _), buffer)| {
            place == piece && (is_port(buffer) || buffer.kind == BufferKind::Weight)
        })
    }

    /// Moves all buffers of a piece into another.
    fn shift(&mut self, from: usize, to: usize, by: usize) {
        for (piece, offset) in &mut self.places {
            if *piece == from {
                *piece = to;
                *offset += by;
            }
        }
    }
}

/// What copies of a buffer that later stages read add to those of what it shares memory with.
const fn crossing(copies: usize) -> usize {
    if copies > 1 { copies } else { 0 }
}

fn is_port(buffer: &Buffer) -> bool {
    matches!(buffer.kind, BufferKind::Input | BufferKind::Output)
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
