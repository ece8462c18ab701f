//! Which device each processor of a plan runs on.
//!
//! A plan knows processors by name alone, so a person says which device each is: `--map NAME=DEVICE`, or `--map NAME=DEVICE/UNITS` for a
//! part of a device with so many compute units.
//! All parts of one device are made by one partition, in the order of the maps, so that no two of them share a compute unit.
//! A map of a processor that the plan does not use takes its part all the same: plans use fewer processors than their chip has, and every plan should
//! find each processor on the same compute units.
//! [`DeviceMap`] reads such a map and [`choose`] finds the devices, both without OpenCL; [`bind`] makes the parts.
//! Without a map, the only processor of a plan runs on the only device of a machine; everything else would be a guess.

mod map;

mod choose;

mod problem;

mod open;

pub use choose::{Candidate, Choice, choose, spare};
pub use map::DeviceMap;
pub use open::{Binding, BoundProcessor, bind, find};
pub use problem::{BindError, BindProblem};
