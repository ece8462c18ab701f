//! Times, energy and memory of a complete mapping, by the rules of `docs/model.md`: a second opinion that shares no code with the search.

mod figures;

pub use figures::{Estimate, MemoryFigures, MoveTiming, StageTiming, TaskTiming};
