//! Systems-on-chip: what a profile file says, checked.

mod chip;
mod location;
mod processor_set;

pub use chip::{
    ClassModel, Contention, Link, Memory, MemoryId, OperatingPoint, Processor, ProcessorId, Soc,
};
pub use location::{Location, LocationId};
pub use processor_set::ProcessorSet;
