//! Pipelines: which segments form a stage, and on which processors.

mod label_set;
mod memory;
mod pipelines;
mod search;
mod stage_offers;
mod symmetry;

pub use label_set::Cost;
pub use memory::{Capacity, MemoryDemand};
pub use pipelines::{Candidate, Searched, pipelines};
pub use search::{Asked, Chosen, Found, Fronts, Offer, Space, search};
pub use stage_offers::{AtPoints, Sources};
pub use symmetry::{Sameness, symmetry};
