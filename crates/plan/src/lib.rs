//! Plan files of paracompile: quantities, schema, facts, reader and writer, and the independent checker.
//!
//! A plan is the contract between the compiler that makes it and the runtime that executes it.
//! This crate knows neither: it depends on no solver, no model format and no device, so that the checker cannot share a fault with what it judges.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use paracompile_plan::facts::ModelFacts;
//! use paracompile_plan::{ReadError, check_structure, read_plan};
//!
//! fn print_violations(facts: &ModelFacts) -> Result<(), ReadError> {
//!     let plan = read_plan(Path::new("plans/01-single-big.json"))?;
//!     for violation in check_structure(&plan, facts) {
//!         eprintln!("{violation}");
//!     }
//!     Ok(())
//! }
//! ```

mod units;

mod hexadecimal;

mod op_class;

pub mod plan;

pub mod front;

pub mod measured;

pub mod scheduled;

pub mod device_use;

pub mod facts;

mod read;

mod kind;

mod write;

mod check;

pub use check::{FusionFault, List, Place, Violation, check, check_structure};
pub use hexadecimal::hexadecimal;
pub use kind::FileKind;
pub use op_class::{OpClass, UnknownClass};
pub use plan::Plan;
pub use read::{ReadError, parse_plan, read_front, read_measured, read_plan, read_schedule};
pub use units::{
    Bytes, Joules, Milliwatts, Nanojoules, Nanoseconds, Seconds, Slowdown, Watts, counted,
};
pub use write::{
    WriteError, writable, writable_folder, write_bytes, write_json, write_text, write_with,
};
