//! The buffers and moves that a placement needs, and what each task reads and writes (rules M3, M6 and M7).
//!
//! Derived from the facts and the placement alone; the plan's own lists are compared with it elsewhere.
//! Only the workspaces of a plan without costs are taken from the plan.

use std::collections::{BTreeMap, BTreeSet};

use super::placement::Placement;
use crate::Bytes;
use crate::plan::BufferKind;

/// Something that runs in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Node {
    /// A task, by id.
    Task(usize),
    /// A transfer, by index in [`Dataflow::moves`].
    Move(usize),
}

/// A buffer that must exist.
pub(super) struct Stored {
    pub(super) kind: BufferKind,
    /// The tensor; none for workspace.
    pub(super) tensor: Option<usize>,
    pub(super) location: usize,
    pub(super) bytes: Bytes,
    /// Stage that writes it.
    pub(super) first: usize,
    /// Last stage that reads it.
    pub(super) last: usize,
    /// What writes it in a frame.
    pub(super) writer: Option<Node>,
    pub(super) readers: Vec<Node>,
    pub(super) first_task: Option<usize>,
    pub(super) last_task: Option<usize>,
}

impl Stored {
    pub(super) fn copies(&self) -> usize {
        self.last - self.first + 1
    }

    /// Whether it carries a frame's tensors at all.
    pub(super) fn is_of_frame(&self) -> bool {
        match self.kind {
            BufferKind::Input | BufferKind::Output | BufferKind::Activation => true,
            BufferKind::Weight | BufferKind::Workspace => false,
        }
    }
}

/// A transfer that must be made.
#[derive(Clone)]
pub(super) struct Move {
    pub(super) tensor: usize,
    /// Target location.
    pub(super) location: usize,
    pub(super) stage: usize,
    pub(super) from: usize,
    pub(super) to: usize,
    /// Processor of the source's side; none is `io`.
    pub(super) source: Option<usize>,
    /// Processor of the target's side; none is `io`.
    pub(super) target: Option<usize>,
    /// Tasks of its own stage that read the target, ascending.
    pub(super) readers: Vec<usize>,
}

/// Largest scratch need of each task, where it is known.
pub(super) type TaskWorkspace = Vec<Bytes>;

pub(super) struct Dataflow {
    /// In the order of plan files.
    pub(super) buffers: Vec<Stored>,
    /// By tensor and location until [`super::transfers`] puts them into the plan's order.
    pub(super) moves: Vec<Move>,
    pub(super) reads: Vec<Vec<usize>>,
    pub(super) writes: Vec<Vec<usize>>,
}

impl Dataflow {
    pub(super) fn derive(placement: &Placement<'_>, workspace: Option<&TaskWorkspace>) -> Self {
        let needs = Needs::collect(placement);
        let mut buffers = needs.buffers(placement);
        let index: BTreeMap<(usize, usize), usize> = (buffers.iter().enumerate())
            .filter_map(|(id, buffer)| Some(((buffer.tensor?, buffer.location), id)))
            .collect();
        let reads: Vec<Vec<usize>> = (needs.reads.iter())
            .map(|keys| sorted(keys.iter().map(|key| index[key])))
            .collect();
        let mut writes: Vec<Vec<usize>> = (needs.writes.iter())
            .map(|keys| sorted(keys.iter().map(|key| index[key])))
            .collect();
        add_workspaces(placement, workspace, &mut buffers, &mut writes);
        let moves = needs.moves(placement, &index, &buffers, &reads);
        connect(&mut buffers, &moves, &reads, &writes);
        Self {
            buffers,
            moves,
            reads,
            writes,
        }
    }
}

/// What tasks touch, by tensor and location, before buffers have ids.
struct Needs {
    reads: Vec<BTreeSet<(usize, usize)>>,
    writes: Vec<BTreeSet<(usize, usize)>>,
    weights: BTreeSet<(usize, usize)>,
    /// First stage that needs a tensor at a location that does not fit its home.
    moved: BTreeMap<(usize, usize), usize>,
    /// Last stage that reads a tensor at a location.
    last: BTreeMap<(usize, usize), usize>,
}

impl Needs {
    fn collect(placement: &Placement<'_>) -> Self {
        let network = placement.network;
        let locations = &placement.locations;
        let count = placement.tasks.len();
        let mut needs = Self {
            reads: vec![BTreeSet::new(); count],
            writes: vec![BTreeSet::new(); count],
            weights: BTreeSet::new(),
            moved: BTreeMap::new(),
            last: BTreeMap::new(),
        };
        for (index, task) in placement.tasks.iter().enumerate() {
            let here = locations.of(task.processor);
            for &member in &task.members {
                for &tensor in &network.reads[member] {
                    if network.facts.tensors[tensor].weight {
                        needs.weights.insert((tensor, here));
                        needs.reads[index].insert((tensor, here));
                    } else if placement.writer[tensor] != Some(index) {
                        let key = needs.read(placement, tensor, here, task.stage);
                        needs.reads[index].insert(key);
                    }
                }
                for &tensor in &network.writes[member] {
                    if !placement.is_internal(tensor) {
                        needs.writes[index].insert((tensor, here));
                    }
                }
            }
        }
        for tensor in 0..network.facts.tensors.len() {
            if network.is_output[tensor] {
                // Moves of network outputs belong to the stage that writes them.
                let stage = placement.written_in(tensor);
                needs.read(placement, tensor, locations.io, stage);
            }
        }
        // A source is read by the stages that move it.
        let moves: Vec<_> = needs
            .moved
            .iter()
            .map(|(&key, &stage)| (key, stage))
            .collect();
        for ((tensor, _), stage) in moves {
            needs.note_reader((tensor, placement.home(tensor)), stage);
        }
        needs
    }

    /// Notes that `stage` needs `tensor` in `location`; returns where it lies for that.
    fn read(
        &mut self,
        placement: &Placement<'_>,
        tensor: usize,
        location: usize,
        stage: usize,
    ) -> (usize, usize) {
        let home = placement.home(tensor);
        let fits = placement.locations.fit(home, location);
        let key = (tensor, if fits { home } else { location });
        if !fits {
            let first = self.moved.entry(key).or_insert(stage);
            *first = stage.min(*first);
        }
        self.note_reader(key, stage);
        key
    }

    fn note_reader(&mut self, key: (usize, usize), stage: usize) {
        let last = self.last.entry(key).or_insert(stage);
        *last = stage.max(*last);
    }

    /// All buffers but workspaces, in the order of plan files.
    fn buffers(&self, placement: &Placement<'_>) -> Vec<Stored> {
        let network = placement.network;
        let locations = &placement.locations;
        let last_stage = placement.plan.stages.len() - 1;
        let stored = |kind, tensor: usize, location, first, last| Stored {
            kind,
            tensor: Some(tensor),
            location,
            bytes: network.facts.tensors[tensor].bytes,
            first,
            last,
            writer: None,
            readers: Vec::new(),
            first_task: None,
            last_task: None,
        };
        let mut homes: BTreeSet<(usize, usize)> = self.writes.iter().flatten().copied().collect();
        for tensor in 0..network.facts.tensors.len() {
            if network.is_input[tensor] {
                homes.insert((tensor, locations.io));
            }
        }
        let of_frame = homes
            .iter()
            .map(|&key| (key, placement.written_in(key.0)))
            .chain(self.moved.iter().map(|(&key, &stage)| (key, stage)));
        let mut buffers: Vec<Stored> = of_frame
            .map(|(key, first)| {
                let (tensor, location) = key;
                let ends_here = network.is_output[tensor]
                    && if placement.home(tensor) == location {
                        locations.fit(location, locations.io)
                    } else {
                        location == locations.io
                    };
                let (kind, last) = if network.is_input[tensor] && location == locations.io {
                    (BufferKind::Input, self.last.get(&key).copied())
                } else if ends_here {
                    (BufferKind::Output, Some(last_stage))
                } else {
                    (BufferKind::Activation, self.last.get(&key).copied())
                };
                stored(
                    kind,
                    tensor,
                    location,
                    first,
                    last.unwrap_or(first).max(first),
                )
            })
            .collect();
        buffers.extend(
            (self.weights.iter())
                .map(|&(tensor, location)| stored(BufferKind::Weight, tensor, location, 0, 0)),
        );
        buffers.sort_by_key(|buffer| (buffer.kind, buffer.tensor, buffer.location));
        buffers
    }

    fn moves(
        &self,
        placement: &Placement<'_>,
        index: &BTreeMap<(usize, usize), usize>,
        buffers: &[Stored],
        reads: &[Vec<usize>],
    ) -> Vec<Move> {
        let mut moves: Vec<Move> = (self.moved.iter())
            .map(|(&(tensor, location), &stage)| {
                let from = index[&(tensor, placement.home(tensor))];
                let source = if placement.network.is_input[tensor] {
                    None
                } else {
                    placement.writer[tensor].map(|task| placement.tasks[task].processor)
                };
                Move {
                    tensor,
                    location,
                    stage,
                    from,
                    to: index[&(tensor, location)],
                    source,
                    target: None,
                    readers: Vec::new(),
                }
            })
            .collect();
        let by_target: BTreeMap<usize, usize> = (moves.iter().enumerate())
            .map(|(position, entry)| (entry.to, position))
            .collect();
        for (task, ids) in reads.iter().enumerate() {
            for id in ids {
                let Some(&position) = by_target.get(id) else {
                    continue;
                };
                let entry = &mut moves[position];
                if placement.tasks[task].stage == entry.stage {
                    entry.readers.push(task);
                }
            }
        }
        for entry in &mut moves {
            entry.target = match buffers[entry.to].kind {
                BufferKind::Output => None,
                BufferKind::Input
                | BufferKind::Activation
                | BufferKind::Weight
                | BufferKind::Workspace => (entry.readers.iter())
                    .map(|&task| placement.tasks[task].processor)
                    .min(),
            };
        }
        moves
    }
}

/// One workspace for each processor that needs any, behind the other buffers.
fn add_workspaces(
    placement: &Placement<'_>,
    workspace: Option<&TaskWorkspace>,
    buffers: &mut Vec<Stored>,
    writes: &mut [Vec<usize>],
) {
    let need = |task: usize| match workspace {
        Some(needs) => needs[task],
        None => stated_workspace(placement, task),
    };
    for processor in 0..placement.plan.processors.len() {
        let users: Vec<usize> = (0..placement.tasks.len())
            .filter(|&task| placement.tasks[task].processor == processor)
            .filter(|&task| need(task) > Bytes::ZERO)
            .collect();
        let Some(bytes) = users.iter().map(|&task| need(task)).max() else {
            continue;
        };
        for &task in &users {
            writes[task].push(buffers.len());
        }
        let stage = placement.tasks[users[0]].stage;
        buffers.push(Stored {
            kind: BufferKind::Workspace,
            tensor: None,
            location: placement.locations.of(processor),
            bytes,
            first: stage,
            last: stage,
            writer: None,
            readers: Vec::new(),
            first_task: None,
            last_task: None,
        });
    }
}

/// Without costs, the plan itself says which tasks need how much workspace.
fn stated_workspace(placement: &Placement<'_>, task: usize) -> Bytes {
    (placement.plan.tasks[task].writes.iter())
        .filter_map(|&id| placement.plan.buffers.get(id as usize))
        .filter(|buffer| buffer.kind == BufferKind::Workspace)
        .map(|buffer| buffer.bytes)
        .max()
        .unwrap_or(Bytes::ZERO)
}

/// Notes at each buffer who writes and reads it.
fn connect(buffers: &mut [Stored], moves: &[Move], reads: &[Vec<usize>], writes: &[Vec<usize>]) {
    for (task, (reads, writes)) in reads.iter().zip(writes).enumerate() {
        for &id in writes {
            if buffers[id].is_of_frame() {
                buffers[id].writer = Some(Node::Task(task));
            }
        }
        for &id in reads {
            buffers[id].readers.push(Node::Task(task));
        }
        for &id in reads.iter().chain(writes) {
            buffers[id].first_task.get_or_insert(task);
            buffers[id].last_task = Some(task);
        }
    }
    for (index, entry) in moves.iter().enumerate() {
        buffers[entry.to].writer = Some(Node::Move(index));
        buffers[entry.from].readers.push(Node::Move(index));
    }
}

fn sorted(ids: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut ids: Vec<usize> = ids.collect();
    ids.sort_unstable();
    ids
}
