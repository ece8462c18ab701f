//! Executes plans of paracompile on the OpenCL devices of a machine, and measures them for its profiles.
//!
//! The arrow: [`opencl`] finds devices; [`lower`] turns operators into kernel launches, a pure function of shapes and a [`lower::Target`];
//! [`launch`] builds the kernels and sets their arguments once.
//! Around a run: [`model`] reads the model that a plan is for, [`bind`] says which device a processor is, [`weights`] and [`input`] where numbers come from and go to, [`trace`] writes
//! what happened when, and [`meter`] what it took.
//! The crate knows no solver: a board needs the runtime alone.

pub mod opencl;

pub mod lower;

pub mod launch;

pub mod users;

pub mod schedule;

pub mod host_memory;

pub mod execute;

pub mod solo;

pub mod model;

pub mod bench;

pub mod tune;

pub mod run;

pub mod validate;

pub mod bind;

pub mod weights;

pub mod input;

pub mod trace;

pub mod meter;

pub mod interpret;

pub mod check;

pub mod profile;

/// The examples of the documentation are compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/kernel-graphs.md")]
mod documentation {}
