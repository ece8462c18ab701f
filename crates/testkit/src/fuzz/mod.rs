//! What the fuzz targets do, as functions of bytes, so that an ordinary test replays the corpus without a fuzzer.
//!
//! [`targets`] holds one function a target; a fault is a panic.
//! [`model`] and [`network`] turn any bytes into a model file that looks valid, or into an operator graph, through the [`choices::Choices`] that the bytes make.
//! [`memory`] measures what a call allocates, [`corpus`] lists the committed inputs.
//! `docs/fuzzing.md` says how the fuzzer is run and what it found.

pub mod choices;

mod operators;

pub mod model;

pub mod network;

pub mod memory;

pub mod targets;

pub mod corpus;
