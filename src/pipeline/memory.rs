//! What a stage adds to each limited memory: the labels of rule M8.
//!
//! A stage adds its weights and workspaces, the peak of what lives and dies in it, and one copy of every buffer that crosses into, through or out of it; the sum over the stages is then bytes × copies.
//! Two things are known only when the pipeline is complete: a weight that stages share at one location counts once for each of them here, and a tensor that a later stage reads where an earlier one moved it counts as if it were read at home.
//! The estimator judges complete pipelines exactly.

use std::collections::BTreeSet;

use paracompile_frontend::cost::CostTable;
use paracompile_frontend::soc::{LocationId, MemoryId, ProcessorId, ProcessorSet, Soc};
use paracompile_plan::{Bytes, Nanoseconds};

use crate::mapping::StageMapping;
use crate::mapping::decompose::{Entry, StageMapper};
use crate::partition::{FusedGraph, FusedOpId, FusedTensor, FusedTensorId};

/// So much of some memories together, and no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// The name of the memory, or of the demand, for messages.
    pub name: String,
    /// One memory, or several whose peaks are added.
    pub memories: Vec<MemoryId>,
    /// How much.
    pub limit: Bytes,
}

impl Capacity {
    /// The memories of a chip that are limited, each by itself.
    pub fn of_chip(soc: &Soc) -> Vec<Self> {
        let memories = soc.memories.iter();
        memories
            .filter_map(|(id, memory)| {
                Some(Self {
                    name: memory.name.clone(),
                    memories: vec![id],
                    limit: memory.limit?,
                })
            })
            .collect()
    }

    /// What a mapping uses of it, given the peak of each memory.
    pub fn used(&self, peaks: impl IntoIterator<Item = (MemoryId, Bytes)>) -> Bytes {
        peaks
            .into_iter()
            .filter(|(memory, _)| self.memories.contains(memory))
            .map(|(_, peak)| peak)
            .sum()
    }
}

/// The memories of a chip that can be too small for a network.
#[derive(Debug)]
pub struct MemoryDemand<'a> {
    fused: &'a FusedGraph,
    table: &'a CostTable,
    limited: Vec<Capacity>,
}

/// A buffer that lives from one instant of a stage to another, half-open.
struct Life {
    memory: MemoryId,
    from: Nanoseconds,
    to: Nanoseconds,
    bytes: Bytes,
}

impl<'a> MemoryDemand<'a> {
    /// Looks which memories of the chip can bind at all.
    pub fn new(fused: &'a FusedGraph, table: &'a CostTable) -> Self {
        Self::within(fused, table, &Capacity::of_chip(&table.soc))
    }

    /// Looks which of `capacities` can bind at all: those that could not hold everything at its worst.
    pub fn within(fused: &'a FusedGraph, table: &'a CostTable, capacities: &[Capacity]) -> Self {
        let mut demand = Self::unlimited(fused, table);
        let worst = demand.worst();
        let binding = capacities.iter().filter(|capacity| worst > capacity.limit);
        demand.limited = binding.cloned().collect();
        demand
    }

    /// As if every memory held everything, to see what is missing where nothing fits.
    pub const fn unlimited(fused: &'a FusedGraph, table: &'a CostTable) -> Self {
        Self {
            fused,
            table,
            limited: Vec::new(),
        }
    }

    /// The names of the capacities that can bind.
    pub fn names(&self) -> Vec<String> {
        let names = self.limited.iter();
        names.map(|capacity| capacity.name.clone()).collect()
    }

    /// Prices of a byte in a memory that can bind, in picoseconds, lowest first; none where no memory can.
    ///
    /// At price one, keeping all weights there would cost as much as the whole network takes on its fastest processors; the others lie around it.
    pub fn prices(&self) -> Vec<u64> {
        if self.limited.is_empty() {
            return Vec::new();
        }
        let processors = || self.table.soc.processors.ids();
        let mut time = Nanoseconds::ZERO;
        let mut weights = Bytes::ZERO;
        for (_, op) in self.fused.ops.iter() {
            let costs =
                processors().filter_map(|processor| self.table.group(&op.members, processor));
            time += costs.map(|cost| cost.time).min().unwrap_or_default();
            weights += op.weight_bytes();
        }
        let one = time.times(1000).count() / weights.count().max(1);
        let mut prices: Vec<u64> = [1, 4, 16, 64, 256]
            .map(|share| one.saturating_mul(share) / 8)
            .to_vec();
        prices.retain(|&price| price > 0);
        prices.dedup();
        prices
    }

    /// What an operator's weights cost on a processor at a price of [`MemoryDemand::prices`].
    pub fn charge(&self, price: u64, op: FusedOpId, processor: ProcessorId) -> Nanoseconds {
        let memory = self.table.soc.processors[processor].memory;
        let is_limited = |capacity: &Capacity| capacity.memories.contains(&memory);
        if !self.limited.iter().any(is_limited) {
            return Nanoseconds::ZERO;
        }
        let bytes = self.fused.ops[op].weight_bytes();
        Nanoseconds::new(bytes.times(price).count() / 1000)
    }

    /// The sizes of the memories that can bind.
    pub fn limits(&self) -> Vec<Bytes> {
        self.limited.iter().map(|capacity| capacity.limit).collect()
    }

    /// More than any plan needs of any memory.
    fn worst(&self) -> Bytes {
        let soc = &self.table.soc;
        let locations = soc.locations.len() as u64;
        let copies = soc.processors.len() as u64 + 1;
        let ops = self.fused.ops.iter();
        let weights: Bytes = ops.map(|(_, op)| op.weight_bytes()).sum();
        let tensors: Bytes = self
            .fused
            .tensors
            .iter()
            .map(|(_, tensor)| tensor.bytes)
            .sum();
        let workspaces: Bytes = soc
            .processors
            .ids()
            .flat_map(|processor| {
                self.fused
                    .ops
                    .iter()
                    .filter_map(move |(_, op)| self.table.group(&op.members, processor))
            })
            .map(|cost| cost.workspace)
            .sum();
        weights.times(locations) + tensors.times(locations).times(copies) + workspaces
    }

    /// What a stage adds to each memory that can bind, under the slowdown of `used`.
    ///
    /// `cut` and `entry` are where the stage starts.
    pub(super) fn of_stage(
        &self,
        mapper: &StageMapper<'_>,
        cut: usize,
        entry: &Entry,
        stage: &StageMapping,
        used: ProcessorSet,
    ) -> Vec<Bytes> {
        let mut added = vec![Bytes::ZERO; self.table.soc.memories.len()];
        self.add_weights(stage, &mut added);
        self.add_workspaces(stage, &mut added);
        let mut lives = Vec::new();
        self.add_buffers(mapper, cut, entry, stage, used, &mut added, &mut lives);
        self.limited
            .iter()
            .map(|capacity| {
                let memories = capacity.memories.iter();
                memories
                    .map(|&memory| added[memory.index()] + peak(&lives, memory))
                    .sum()
            })
            .collect()
    }

    fn add_weights(&self, stage: &StageMapping, added: &mut [Bytes]) {
        let mut seen = BTreeSet::new();
        for (offset, &processor) in stage.placement.iter().enumerate() {
            let home = self.table.soc.processors[processor].home;
            let op = &self.fused.ops.as_slice()[stage.ops.start + offset];
            for weight in &op.weights {
                if seen.insert((home, weight.tensor)) {
                    added[self.memory(home).index()] += weight.bytes;
                }
            }
        }
    }

    fn add_workspaces(&self, stage: &StageMapping, added: &mut [Bytes]) {
        for processor in stage.processors.iter() {
            let largest = stage
                .placement
                .iter()
                .enumerate()
                .filter(|&(_, &other)| other == processor)
                .filter_map(|(offset, _)| {
                    let op = &self.fused.ops.as_slice()[stage.ops.start + offset];
                    self.table.group(&op.members, processor)
                })
                .map(|cost| cost.workspace)
                .max()
                .unwrap_or_default();
            added[self.table.soc.processors[processor].memory.index()] += largest;
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "a stage is where it starts and what it does"
    )]
    fn add_buffers(
        &self,
        mapper: &StageMapper<'_>,
        cut: usize,
        entry: &Entry,
        stage: &StageMapping,
        used: ProcessorSet,
        added: &mut [Bytes],
        lives: &mut Vec<Life>,
    ) {
        let soc = &self.table.soc;
        let timings = mapper.timings(cut, entry, stage, used);
        let is_inside = |position: usize| stage.ops.contains(&position);
        for (id, tensor) in self.fused.tensors.iter() {
            let producer = tensor.producer.map(FusedOpId::index);
            let written_before = producer.is_none_or(|producer| producer < stage.ops.start);
            let read_here = tensor
                .readers
                .iter()
                .any(|reader| is_inside(reader.index()));
            let read_later = tensor
                .readers
                .iter()
                .any(|reader| reader.index() >= stage.ops.end);
            if producer.is_some_and(|producer| producer >= stage.ops.end) {
                continue;
            }
            let home = match producer {
                Some(producer) if is_inside(producer) => {
                    soc.processors[stage.placement[producer - stage.ops.start]].home
                }
                // Of what came in, the first holder is the home; what is no longer read has none.
                _ => match entry.held(id).first() {
                    Some(&home) => home,
                    None if written_before && !tensor.is_output => continue,
                    None => soc.io_location,
                },
            };
            let at_io = tensor.is_output && producer.is_some();
            let fits_io = soc.locations[home].fits(soc.locations[soc.io_location]);
            if written_before {
                // One more copy: at home while it is still to be read, and where it leaves the network until the last stage.
                if read_here || read_later {
                    added[self.memory(home).index()] += tensor.bytes;
                }
                let counted = fits_io && (read_here || read_later);
                if at_io && !counted {
                    added[soc.io.index()] += tensor.bytes;
                }
            } else {
                let written = timings[producer.map_or(0, |producer| producer - stage.ops.start)];
                if read_later || (at_io && fits_io) {
                    added[self.memory(home).index()] += tensor.bytes;
                } else {
                    let read = self.last_read(tensor, home, stage, &timings);
                    let moved = self.last_move(tensor, home, stage, written.end);
                    lives.push(Life {
                        memory: self.memory(home),
                        from: written.start,
                        to: written.end.max(read).max(moved),
                        bytes: tensor.bytes,
                    });
                }
                if at_io && !fits_io {
                    added[soc.io.index()] += tensor.bytes;
                }
            }
            if read_here {
                let start = if written_before {
                    Nanoseconds::ZERO
                } else {
                    timings[producer.map_or(0, |producer| producer - stage.ops.start)].end
                };
                self.add_targets(id, tensor, home, entry, stage, &timings, start, lives);
            }
        }
    }

    /// Buffers that this stage moves the tensor into, alive from the start of the move to the end of their last reader.
    #[expect(
        clippy::too_many_arguments,
        reason = "a target is a tensor, a place and two instants"
    )]
    fn add_targets(
        &self,
        id: FusedTensorId,
        tensor: &FusedTensor,
        home: LocationId,
        entry: &Entry,
        stage: &StageMapping,
        timings: &[crate::mapping::Timing],
        start: Nanoseconds,
        lives: &mut Vec<Life>,
    ) {
        let soc = &self.table.soc;
        let targets: BTreeSet<LocationId> = tensor
            .readers
            .iter()
            .filter(|reader| stage.ops.contains(&reader.index()))
            .map(|reader| soc.processors[stage.placement[reader.index() - stage.ops.start]].home)
            .filter(|&target| !soc.locations[home].fits(soc.locations[target]))
            .filter(|target| !entry.held(id).contains(target))
            // A network output that is moved to `io` anyway is counted there.
            .filter(|&target| !(tensor.is_output && target == soc.io_location))
            .collect();
        for target in targets {
            let to = tensor
                .readers
                .iter()
                .filter(|reader| stage.ops.contains(&reader.index()))
                .map(|reader| reader.index() - stage.ops.start)
                .filter(|&offset| soc.processors[stage.placement[offset]].home == target)
                .map(|offset| timings[offset].end)
                .max()
                .unwrap_or(start);
            lives.push(Life {
                memory: self.memory(target),
                from: start,
                to,
                bytes: tensor.bytes,
            });
        }
    }

    /// When the last operator that reads the tensor at its home ends.
    fn last_read(
        &self,
        tensor: &FusedTensor,
        home: LocationId,
        stage: &StageMapping,
        timings: &[crate::mapping::Timing],
    ) -> Nanoseconds {
        let soc = &self.table.soc;
        tensor
            .readers
            .iter()
            .map(|reader| reader.index() - stage.ops.start)
            .filter(|&offset| {
                let reader = soc.processors[stage.placement[offset]].home;
                soc.locations[home].fits(soc.locations[reader])
            })
            .map(|offset| timings[offset].end)
            .max()
            .unwrap_or_default()
    }

    /// When the last move of the tensor from its home ends, if it is complete at `ready`.
    fn last_move(
        &self,
        tensor: &FusedTensor,
        home: LocationId,
        stage: &StageMapping,
        ready: Nanoseconds,
    ) -> Nanoseconds {
        let soc = &self.table.soc;
        let readers = tensor
            .readers
            .iter()
            .map(|reader| soc.processors[stage.placement[reader.index() - stage.ops.start]].home);
        readers
            .chain(tensor.is_output.then_some(soc.io_location))
            .filter_map(|target| self.table.transfer(tensor.bytes, home, target))
            .map(|cost| ready + cost.time)
            .max()
            .unwrap_or_default()
    }

    fn memory(&self, location: LocationId) -> MemoryId {
        self.table.soc.locations[location].memory
    }
}

/// The most that is alive in a memory at once.
fn peak(lives: &[Life], memory: MemoryId) -> Bytes {
    let mut events: Vec<(Nanoseconds, bool, Bytes)> = lives
        .iter()
        .filter(|life| life.memory == memory && life.to > life.from)
        .flat_map(|life| [(life.from, true, life.bytes), (life.to, false, life.bytes)])
        .collect();
    // At one instant, what ends makes room for what starts.
    events.sort_unstable();
    let mut alive = Bytes::ZERO;
    let mut most = Bytes::ZERO;
    for (_, starts, bytes) in events {
        if starts {
            alive += bytes;
            most = most.max(alive);
        } else {
            alive = alive.saturating_sub(bytes);
        }
    }
    most
}
