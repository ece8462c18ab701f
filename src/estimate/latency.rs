//! Times inside a stage (rules M3 to M5): every task as early as its operands and its queue allow, in the order given.

use paracompile_plan::Nanoseconds;

use super::placement::{MoveIndex, Placement, StorageIndex, Writer};
use crate::mapping::StageMapping;

/// Starts and ends of all tasks, each from the start of its stage; one table for all stages.
#[derive(Clone, Debug)]
pub(crate) struct TaskTimes {
    /// Start of each fused operator.
    pub(crate) start: Vec<Nanoseconds>,
    /// End of each fused operator.
    pub(crate) end: Vec<Nanoseconds>,
}

impl TaskTimes {
    /// Nothing timed yet.
    pub(crate) fn new(operators: usize) -> Self {
        Self {
            start: vec![Nanoseconds::ZERO; operators],
            end: vec![Nanoseconds::ZERO; operators],
        }
    }

    /// Times the tasks of one stage with these durations, by fused operator, and returns the time of the stage.
    pub(crate) fn time_stage(
        &mut self,
        placement: &Placement,
        index: usize,
        stage: &StageMapping,
        durations: &[Nanoseconds],
    ) -> Nanoseconds {
        let mut free = vec![Nanoseconds::ZERO; placement.queues];
        let mut time = Nanoseconds::ZERO;
        for &op in &stage.sequence {
            let free = &mut free[placement.queue_of[op.index()]];
            let mut start = *free;
            for &storage in placement.reads_of(op) {
                start = start.max(self.arrival(placement, index, storage));
            }
            let end = start + durations[op.index()];
            self.start[op.index()] = start;
            self.end[op.index()] = end;
            *free = end;
            time = time.max(end);
        }
        // Moves of outputs to `io` delay no task and count all the same (rule M5).
        for (planned, _) in placement
            .moves
            .iter()
            .enumerate()
            .filter(|(_, planned)| planned.stage == index)
        {
            time = time.max(self.move_end(placement, planned));
        }
        time
    }

    /// When a move starts: when its tensor is complete, or with the stage if an earlier one wrote it.
    pub(crate) fn move_start(&self, placement: &Placement, index: MoveIndex) -> Nanoseconds {
        let planned = &placement.moves[index];
        self.arrival(placement, planned.stage, planned.source)
    }

    /// When a move ends.
    pub(crate) fn move_end(&self, placement: &Placement, index: MoveIndex) -> Nanoseconds {
        self.move_start(placement, index) + placement.moves[index].cost.time
    }

    /// When a storage is complete, from the start of `stage`.
    fn arrival(&self, placement: &Placement, stage: usize, storage: StorageIndex) -> Nanoseconds {
        let storage = &placement.storages[storage];
        if storage.first < stage {
            return Nanoseconds::ZERO;
        }
        // A move's source is a home, so this recurses once at most.
        match storage.writer {
            Writer::Frame => Nanoseconds::ZERO,
            Writer::Op(op) => self.end[op.index()],
            Writer::Move(index) => self.move_end(placement, index),
        }
    }
}
