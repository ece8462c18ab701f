//! Where every tensor lies and which moves this takes: rule M3, from the mapping alone.
//!
//! A tensor lies at its home, the location of the processor that writes it (network inputs: `io`), and at every location to which a move brings it.
//! Moves follow from who reads where; they know nothing of time, so that one placement serves every slowdown, and the plan's buffers and transfers too.

use paracompile_frontend::cost::{CostTable, Move};
use paracompile_frontend::soc::{LocationId, ProcessorId};

use crate::mapping::{PipelineMapping, QueueCounts};
use crate::partition::{FusedGraph, FusedOpId, FusedTensorId};

/// Index in [`Placement::storages`].
pub(crate) type StorageIndex = usize;
/// Index in [`Placement::moves`].
pub(crate) type MoveIndex = usize;

/// Tensors, processors and moves of one mapping.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    /// How many stages there are.
    pub(crate) stages: usize,
    /// Stage of each fused operator.
    pub(crate) stage_of: Vec<usize>,
    /// Processor of each fused operator.
    pub(crate) processor_of: Vec<ProcessorId>,
    /// Tensors where they lie; by tensor, its home first.
    pub(crate) storages: Vec<Storage>,
    /// The storage at home of each fused tensor.
    pub(crate) homes: Vec<StorageIndex>,
    /// Moves, by tensor.
    pub(crate) moves: Vec<PlannedMove>,
    /// How many compute queues each processor has.
    pub(crate) queue_counts: QueueCounts,
    /// Compute queue of each fused operator, counted over all processors of the chip in order.
    pub(crate) queue_of: Vec<usize>,
    /// Compute queues of all processors of the chip.
    pub(crate) queues: usize,
    /// Storages that operators read; those of operator `i` are `reads[read_from[i]..read_from[i + 1]]`, in the order of its operands.
    reads: Vec<StorageIndex>,
    read_from: Vec<usize>,
}

/// A tensor at a location.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storage {
    /// The tensor.
    pub(crate) tensor: FusedTensorId,
    /// Where it lies.
    pub(crate) location: LocationId,
    /// What fills it.
    pub(crate) writer: Writer,
    /// The stage that fills it; the first one for a network input.
    pub(crate) first: usize,
    /// The last stage that reads it (rule M6: network outputs are read as by the last stage of all).
    pub(crate) last: usize,
    /// Whether the frame leaves its output here.
    pub(crate) is_result: bool,
}

impl Storage {
    /// How many copies frames in flight need (rule M6).
    pub(crate) const fn copies(&self) -> usize {
        self.last - self.first + 1
    }
}

/// What fills a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    /// The frame, before the first stage.
    Frame,
    /// The operator that computes the tensor.
    Op(FusedOpId),
    /// A move.
    Move(MoveIndex),
}

/// A move of a tensor from its home.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedMove {
    /// The stage that makes it: the first that reads the tensor at the target.
    pub(crate) stage: usize,
    /// The storage at home.
    pub(crate) source: StorageIndex,
    /// The storage at the target.
    pub(crate) target: StorageIndex,
    /// What it takes.
    pub(crate) cost: Move,
}

impl Placement {
    /// Derives storages and moves.
    ///
    /// A reader takes the tensor at its home where that fits its own location, and at exactly its own location otherwise.
    ///
    /// # Panics
    /// If the mapping does not place every operator, or needs a link that the chip lacks: the search and the profile's checks hold these.
    pub(crate) fn derive(graph: &FusedGraph, table: &CostTable, mapping: &PipelineMapping) -> Self {
        let mut placement = Self::of_operators(graph, table, mapping);
        let mut read_by_op: Vec<(FusedOpId, usize, StorageIndex)> = Vec::new();
        for (id, tensor) in graph.tensors.iter() {
            let home = placement.add_home(graph, table, id);
            if tensor.is_output && tensor.producer.is_some() {
                let io = table.soc.io_location;
                let result =
                    placement.read_at(graph, table, home, io, placement.storages[home].first);
                placement.storages[result].is_result = true;
                placement.storages[result].last = placement.stages.saturating_sub(1);
            }
            for &reader in &tensor.readers {
                let location = table.soc.processors[placement.processor_of[reader.index()]].home;
                let stage = placement.stage_of[reader.index()];
                let storage = placement.read_at(graph, table, home, location, stage);
                let operand = graph.ops[reader].reads.iter().position(|&read| read == id);
                read_by_op.push((
                    reader,
                    operand.expect("readers of a tensor have it among their operands"),
                    storage,
                ));
            }
        }
        placement.collect_reads(graph, &read_by_op);
        placement
    }

    /// The compute queues of a processor.
    pub(crate) fn queues_of(&self, processor: ProcessorId) -> std::ops::Range<usize> {
        let before = (0..processor.index()).map(ProcessorId::from_index);
        let first = before.map(|other| self.queue_counts.of(other)).sum();
        first..first + self.queue_counts.of(processor)
    }

    /// The storages that an operator reads, in the order of its operands.
    pub(crate) fn reads_of(&self, op: FusedOpId) -> &[StorageIndex] {
        &self.reads[self.read_from[op.index()]..self.read_from[op.index() + 1]]
    }

    fn of_operators(graph: &FusedGraph, table: &CostTable, mapping: &PipelineMapping) -> Self {
        let queue_counts = mapping.queue_counts();
        let mut first_queue = Vec::with_capacity(table.soc.processors.len());
        let mut queues = 0;
        for processor in table.soc.processors.ids() {
            first_queue.push(queues);
            queues += queue_counts.of(processor);
        }
        let mut queue_of = Vec::with_capacity(graph.ops.len());
        let mut stage_of = Vec::with_capacity(graph.ops.len());
        let mut processor_of = Vec::with_capacity(graph.ops.len());
        for (index, stage) in mapping.stages.iter().enumerate() {
            assert_eq!(
                (stage_of.len(), stage.ops.len()),
                (stage.ops.start, stage.placement.len()),
                "stages cover the operators in order and place each"
            );
            stage_of.extend(std::iter::repeat_n(index, stage.placement.len()));
            processor_of.extend_from_slice(&stage.placement);
            let queues = stage.placement.iter().zip(&stage.queues);
            queue_of
                .extend(queues.map(|(processor, &queue)| {
                    first_queue[processor.index()] + usize::from(queue)
                }));
        }
        assert_eq!(
            (stage_of.len(), queue_of.len()),
            (graph.ops.len(), graph.ops.len()),
            "stages cover every operator"
        );
        Self {
            stages: mapping.stages.len(),
            stage_of,
            processor_of,
            queue_counts,
            queue_of,
            queues,
            storages: Vec::with_capacity(graph.tensors.len() * 2),
            homes: Vec::with_capacity(graph.tensors.len()),
            moves: Vec::new(),
            reads: Vec::new(),
            read_from: Vec::new(),
        }
    }

    fn add_home(
        &mut self,
        graph: &FusedGraph,
        table: &CostTable,
        tensor: FusedTensorId,
    ) -> StorageIndex {
        let (location, writer, first) = match graph.tensors[tensor].producer {
            None => (table.soc.io_location, Writer::Frame, 0),
            Some(op) => {
                let processor = self.processor_of[op.index()];
                let home = table.soc.processors[processor].home;
                (home, Writer::Op(op), self.stage_of[op.index()])
            }
        };
        self.homes.push(self.storages.len());
        self.storages.push(Storage {
            tensor,
            location,
            writer,
            first,
            last: first,
            is_result: false,
        });
        self.storages.len() - 1
    }

    /// The storage that a reader at `location` in `stage` takes, with a new move if there is none yet.
    fn read_at(
        &mut self,
        graph: &FusedGraph,
        table: &CostTable,
        home: StorageIndex,
        location: LocationId,
        stage: usize,
    ) -> StorageIndex {
        let at_home = self.storages[home];
        let locations = &table.soc.locations;
        let storage = if locations[at_home.location].fits(locations[location]) {
            home
        } else if let Some(known) =
            (home + 1..self.storages.len()).find(|&index| self.storages[index].location == location)
        {
            known
        } else {
            let bytes = graph.tensors[at_home.tensor].bytes;
            let cost = table
                .transfer(bytes, at_home.location, location)
                .expect("profiles link all memories that a tensor may have to cross");
            let target = self.storages.len();
            self.moves.push(PlannedMove {
                stage,
                source: home,
                target,
                cost,
            });
            self.storages.push(Storage {
                tensor: at_home.tensor,
                location,
                writer: Writer::Move(self.moves.len() - 1),
                first: stage,
                last: stage,
                is_result: false,
            });
            self.storages[home].last = self.storages[home].last.max(stage);
            target
        };
        self.storages[storage].last = self.storages[storage].last.max(stage);
        storage
    }

    fn collect_reads(
        &mut self,
        graph: &FusedGraph,
        read_by_op: &[(FusedOpId, usize, StorageIndex)],
    ) {
        let mut total = 0;
        self.read_from = Vec::with_capacity(graph.ops.len() + 1);
        for (_, op) in graph.ops.iter() {
            self.read_from.push(total);
            total += op.reads.len();
        }
        self.read_from.push(total);
        self.reads = vec![StorageIndex::MAX; total];
        for &(op, operand, storage) in read_by_op {
            self.reads[self.read_from[op.index()] + operand] = storage;
        }
        assert!(
            self.reads.iter().all(|&read| read != StorageIndex::MAX),
            "operators are among the readers of each of their operands"
        );
    }
}
