//! Profiles that are measured: what the operators of models take on the devices of this machine, and everything else that a profile says.
//!
//! [`profile`] goes through it in order: `machine` makes contexts and queues; `probe` and `moves` measure what lies between
//! operators; `tasks` finds the distinct tasks of the models, `chain` and `sampling` measure each; `contention` runs processors
//! together; `power` reads meters; `document` writes it down; `notices` says what is doubtful.
//! A task is measured as a frame runs it: lowered by the same code, back to back in a queue in order, with weights that are not in a cache.

mod statistics;

mod machine;
mod tasks;

mod chain;
mod sampling;
mod stock;

mod probe;

mod moves;

mod contention;

mod power;

mod kernels;

mod document;

mod notices;

mod run;

#[cfg(test)]
mod tests;

pub use contention::MeasuredContention;
pub use document::{ProfileFiles, save};
pub use kernels::ProfiledKernels;
pub use moves::MeasuredLink;
pub use notices::other_load;
pub use power::MeasuredPower;
pub use run::{
    MeasuredKernel, MeasuredTask, ProcessorFigures, ProfileError, ProfileReport, ProfileRequest,
    Profiled, ProfiledProcessor, Progress, profile,
};
pub use statistics::Estimate;
pub use tasks::ProfiledModel;
