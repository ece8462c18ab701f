//! Clusterings of kernel graphs: components on devices, kernels on queues, and what a frame takes with the host that enqueues it.
//!
//! The idea is the static scheme of `PySchedCL` (Ghose et al., sections III and V): a component goes to one device as a whole, its kernels are put
//! round-robin on the queues of the device, and the choice is the triple `(q_gpu, q_cpu, h_cpu)` of queues and of components on the CPU.
//! There it is found by measuring every triple; here every triple is predicted, and the least total time is taken.
//! A clustering is a [`crate::mapping::StageMapping`] like any other, so plans of it are timed and checked by the model's rules too; what is
//! predicted here is what the model leaves out, copies that queue and a host that needs time.

mod error;

mod clusters;
mod rank;

mod configuration;

mod commands;
mod prediction;

mod choice;

mod stage;

pub use choice::{Candidate, Choice, Sweep, choose};
pub use clusters::{Clusters, kernel_components};
pub use commands::{Command, Engine, commands};
pub use configuration::{Configuration, OnCpu};
pub use error::ClusterError;
pub use prediction::{Host, Prediction, Starts, predict, timetable};
pub use stage::stage;
