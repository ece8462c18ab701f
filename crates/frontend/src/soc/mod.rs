//! Systems-on-chip: what a profile file says, checked.

mod chip;
mod location;
mod processor_set;

mod feature;

mod load;
mod reading;
mod verify;
mod verify_contention;
mod verify_link;
mod verify_processor;

mod builtin;
mod restrict;

pub mod file;

mod error;
mod near;

pub use chip::{
    ClassModel, Contention, Link, Memory, MemoryId, OperatingPoint, Processor, ProcessorId, Soc,
};
pub use error::{Defect, Problem, SocError};
pub use feature::Feature;
pub use location::{Location, LocationId};
pub use processor_set::ProcessorSet;

pub(crate) use load::sha256_hex;
pub(crate) use near::{near_matches, shown, suggestion};
