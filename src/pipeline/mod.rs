//! Pipelines: which segments form a stage, and on which processors.

mod label_set;
mod pipelines;
mod search;

pub use label_set::Cost;
pub use pipelines::{Candidate, pipelines};
pub use search::{Chosen, Found, Offer, Space, search};
