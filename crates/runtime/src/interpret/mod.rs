//! Models without a plan: their constants for whoever executes a plan, and whole models on one device, operator after operator.

mod constants;

mod error;

mod run;

mod weights;

pub use constants::{Weights, constants, stored};
pub use error::InterpretError;
pub use run::{run, site};
