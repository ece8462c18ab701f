//! From a mapping and its figures to the plan file, in the one form that `docs/plan-format.md` allows, and from plans to the front file.

mod buffers;
mod plan;
mod queues;
mod tasks;
mod transfers;
mod waits;

pub use plan::{Claim, Emission, plan};
