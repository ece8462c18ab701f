//! Kernel graphs without a plan: a policy chooses while they run which component goes to which device.
//!
//! The idea is that of `PySchedCL`: kernels are grouped into components, [`Policy::select`] pairs one that is ready with a device that is free,
//! its kernels are put round-robin on the queues of the device, and a callback at its end drives the next choice.
//! A component's buffers are written before the first kernel that reads them, and read back where somebody outside needs them; what stays
//! inside is never copied, and neither is what lies in memory that the host shares.
//! How many kernels a component has is the policy's matter, or that of a [`Granularity`]: a fixed level of the graph, or the one that a
//! simulation with measured overheads finds best.
//! Plans decide all of this beforehand; the policies here are what they are compared with.

mod cost;

mod policy;

mod workspace;

mod engine;

mod error;

mod outcome;

mod overhead;

mod simulate;

mod granularity;

mod rehearse;

mod run;

mod sweep;

pub use cost::Costs;
pub use engine::Resource;
pub use error::ScheduleError;
pub use granularity::{Candidate, Granularity, Granulated};
pub use outcome::{Executed, Scheduled, What};
pub use overhead::{Overhead, Overheads};
pub use paracompile_frontend::components::{Component, Components, Grouping, Level, Reason, Rule};
pub use policy::{Choice, Clustering, Eager, Heft, Policy, Situation, Unit};
pub use run::{Report, ScheduleRequest, schedule};
pub use sweep::{Swept, Way, sweep, ways};

pub(crate) use workspace::Workspace;
