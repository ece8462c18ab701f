//! What the estimator says of a mapping.

use paracompile_frontend::soc::{LocationId, MemoryId, ProcessorId, Soc};
use paracompile_plan::plan::Provenance;
use paracompile_plan::{Bytes, Nanojoules, Nanoseconds};

use crate::partition::{FusedOpId, FusedTensorId};

/// Figures of one mapping; names and rules as in [`paracompile_plan::plan::Predicted`].
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Stages in order.
    pub stages: Vec<StageTiming>,
    /// `Σ T_s(S)`.
    pub latency: Nanoseconds,
    /// Of the 50th frame of an unpaced stream.
    pub saturated_latency: Nanoseconds,
    /// The same, paced at the interval.
    pub paced_latency: Nanoseconds,
    /// `max T_s(A)`.
    pub interval: Nanoseconds,
    /// How often a frame is admitted: the interval, unless somebody waits longer for the sake of power.
    pub admission: Nanoseconds,
    /// Load of the busiest compute queue.
    pub interval_bound: Nanoseconds,
    /// Dynamic energy under `A`.
    pub energy_dynamic: Nanojoules,
    /// With static power of the used processors.
    pub energy_active: Nanojoules,
    /// With the board's base power.
    pub energy_board: Nanojoules,
    /// Use of each memory that holds something, in profile order.
    pub memory: Vec<MemoryFigures>,
    /// Where the time comes from.
    pub provenance: Provenance,
}

impl Estimate {
    /// Memories that need more than they have: a mapping with any is infeasible (rule M8).
    pub fn exceeded<'a>(&'a self, soc: &'a Soc) -> impl Iterator<Item = &'a MemoryFigures> {
        self.memory.iter().filter(|figures| {
            let limit = soc.memories[figures.memory].limit;
            limit.is_some_and(|limit| figures.peak > limit)
        })
    }
}

/// The objectives of one mapping, without what only a plan needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times {
    /// `Σ T_s(S)`.
    pub latency: Nanoseconds,
    /// `max T_s(A)`.
    pub interval: Nanoseconds,
    /// Dynamic energy under `A`.
    pub energy_dynamic: Nanojoules,
    /// With static power of the used processors.
    pub energy_active: Nanojoules,
    /// With the board's base power.
    pub energy_board: Nanojoules,
    /// `T_s(S)` of each stage.
    pub stages_alone: Vec<Nanoseconds>,
    /// `T_s(A)` of each stage.
    pub stages: Vec<Nanoseconds>,
}

/// Times of one stage under the plan's processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageTiming {
    /// `T_s(S)`.
    pub time_alone: Nanoseconds,
    /// `T_s(A)`.
    pub time: Nanoseconds,
    /// Its tasks, in the order of the stage's sequence.
    pub tasks: Vec<TaskTiming>,
    /// Its moves, by start, then tensor, then target.
    pub moves: Vec<MoveTiming>,
}

/// A task in time, from the start of its stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskTiming {
    /// The fused operator.
    pub op: FusedOpId,
    /// Where it runs.
    pub processor: ProcessorId,
    /// On which compute queue, counted over all processors of the chip in order.
    pub queue: usize,
    /// Duration without slowdown.
    pub work: Nanoseconds,
    /// Start under `A`.
    pub start: Nanoseconds,
    /// Duration under `A`.
    pub duration: Nanoseconds,
    /// Energy under `A`.
    pub energy: Nanojoules,
}

/// A move in time, from the start of its stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveTiming {
    /// What moves.
    pub tensor: FusedTensorId,
    /// From where.
    pub from: LocationId,
    /// To where.
    pub to: LocationId,
    /// Start under `A`.
    pub start: Nanoseconds,
    /// Duration.
    pub duration: Nanoseconds,
    /// Energy.
    pub energy: Nanojoules,
}

/// Use of a memory (rule M8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryFigures {
    /// The memory.
    pub memory: MemoryId,
    /// Weights.
    pub weights: Bytes,
    /// Everything at its worst.
    pub peak: Bytes,
}
