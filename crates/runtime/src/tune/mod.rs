//! Measures how fast tiles are on a device, and keeps the result per device.
//!
//! One large product tells the rate of a tile when all compute units are busy; lowering estimates everything else from it.

mod measure;

mod store;

pub use measure::{candidates, tune};
pub use store::{TuneError, devices, load, path, save};
