//! The model of `docs/model.md` by enumeration: every cut, every set of processors, every placement, every order.
//!
//! Good for about seven operators on three processors.
//! Everything is integer arithmetic over the numbers of a [`Case`](crate::case::Case).
//! Scopes are those of rule M9:
//!
//! - [`stages::best_stage`]: the least `T_s(S)`, then `E_dyn(S)`, over **all** placements and orders of one stage;
//! - [`stages::stage_mappings`]: the one mapping of each (operators, `S`, entry, exit) that the model chooses;
//! - [`pipelines::plans`]: all pipelines over the given cuts **of those mappings**, for each final set `A`.
//!   So the least latency is exact over all mappings, and intervals and energies are exact over the chosen ones;
//! - [`pipelines::front`]: what no other of these dominates in (latency, interval, active energy).
//!
//! Of every placement all ways to share out the queues of each processor are tried (M10).
//!
//! What it does not do: coarse mapping, the energy axis as an objective of a stage.

mod answer;
mod gates;
mod instance;
mod memory;
pub mod pipelines;
pub mod stages;
pub mod streams;

pub use answer::answer;
pub use gates::gates;
pub use instance::{Instance, Operator, Place, Processor, Tensor, Way};
