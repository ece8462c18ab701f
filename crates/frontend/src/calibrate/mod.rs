//! Calibration: from measurements on a board to the time models and powers of its profile.
//!
//! Times follow regressions over operators' work, as `docs/cost-model.md` explains and judges; powers follow a regression over utilisation.
//! What measurements cannot say, such as memories, links and contention, comes from a base profile.

mod sheet;

mod faults;
mod geometry;
mod group_rows;
mod measurement;
mod operator_rows;
mod repetition;

mod regression;

mod group;
mod operator;
mod plausible;
mod power;
mod recipe;

mod neighbours;

mod fit;

mod fidelity;
mod profile;

mod error;

#[cfg(test)]
mod tests;

pub use error::{CalibrateError, Notice};
pub use fidelity::{
    Applicability, Fidelity, FidelityPoint, FidelityReport, Level, LevelErrors, NeighbourErrors,
    NetworkErrors, Quantity, judge,
};
pub use fit::{Calibration, ClassSummary, ProcessorSummary, calibrate};
pub use measurement::{Measurements, TimedOperator};
pub use profile::BaseProfile;
