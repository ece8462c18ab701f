//! An event-driven run of a plan, from the plan file alone.
//!
//! It knows queues, waits and durations, and neither the mapping that a plan came from nor the formulas that predicted its figures; in the default mode it agrees with them to the nanosecond.
//! Other modes show what the model leaves out: links that carry one tensor at a time, slowdown only while processors are really busy together, and the host's time to enqueue.

mod critical_path;
mod engine;
mod error;
mod options;
mod program;
mod simulation;
mod trace;

pub use critical_path::{
    Critical, CriticalPath, CriticalStep, CriticalWork, WaitedFor, critical_path,
};
pub use error::{CommandAt, SimulateError};
pub use options::{Contention, Host, Links, SimulateOptions};
pub use simulation::{Change, Event, FrameTimes, QueueLoad, Simulation, simulate};
pub use trace::trace;
