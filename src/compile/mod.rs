//! The whole pipeline as one function: from a verified graph and its costs to a front of checked plans.
//!
//! `arrow.rs` is that function and reads like the arrow of `ARCHITECTURE.md`; what it needs besides the steps of the compiler has a file each.

mod options;

mod compiled;
mod error;

mod arrow;

mod agreement;
mod baselines;
mod clustered;
mod conflict;
mod demands;
mod field;
mod grains;
mod granular;
mod memories;
mod one_stage;
mod plan_files;
mod points;
mod streaming_hybrid;
mod twin;

pub use arrow::compile;
pub use clustered::clustered;
pub use compiled::{Compiled, PlanFile};
pub use conflict::{Attainable, Conflict, Demanded, Given, Smallness};
pub use error::CompileError;
pub use grains::Granularity;
pub use granular::compile_kernels;
pub use one_stage::one_stage;
pub use options::{Clustering, Options, Points, Progress};
