//! Times, energy and memory of a complete mapping, by the rules of `docs/model.md`: a second opinion that shares no code with the search.

mod energy;
mod evaluate;
mod figures;
mod latency;
mod memory;
mod placement;
mod throughput;

pub use evaluate::{evaluate, evaluate_times};
pub use figures::{Estimate, MemoryFigures, MoveTiming, StageTiming, TaskTiming, Times};
pub(crate) use memory::workspace;
pub(crate) use placement::{MoveIndex, Placement, StorageIndex, Writer};
