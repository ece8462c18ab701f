//! Systems-on-chip: what a profile file says, checked.

mod chip;
mod location;
mod processor_set;
mod symmetry;

mod feature;

mod document;
mod load;
pub(crate) mod reading;
mod verify;
mod verify_contention;
mod verify_link;
mod verify_point;
mod verify_processor;

mod builtin;
mod overview;
mod restrict;
mod sketch;
mod text;

pub mod file;

pub(crate) mod error;
mod near;

pub use chip::{
    ClassModel, Contention, Link, Memory, MemoryId, OperatingPoint, Processor, ProcessorId, Soc,
};
pub use document::DocumentError;
pub use error::{Defect, Problem, SocError};
pub use feature::{Feature, Winograd};
pub use location::{Location, LocationId};
pub use near::near_matches;
pub use overview::Overview;
pub use processor_set::ProcessorSet;
pub use sketch::{Bandwidth, ProcessorSketch, SketchError, sketch};
pub use symmetry::{Renaming, Symmetry};
pub use text::profile_text;

pub(crate) use document::{parse, read_text, sha256_hex, syntax};
pub(crate) use near::{shown, suggestion};
