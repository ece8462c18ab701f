//! From a mapping and its figures to the plan file, in the one form that `docs/plan-format.md` allows, and from plans to the front file.

mod buffers;
mod cloud;
mod components;
mod front;
mod labels;
mod plan;
mod queues;
mod tasks;
mod transfers;
mod waits;

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod critical_paths;
#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod hand_cases;
#[cfg(test)]
mod real_networks;

pub use components::name_components;
pub use front::{FrontRequest, Goal, figures, front, why};
pub use labels::{Arrangement, Candidate, Entry, arrange, baseline_file};
pub use plan::{Claim, Emission, Tasks, plan};
