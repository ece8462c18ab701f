//! What tests judge paracompile with: cases as data, random networks and chips, and oracles that enumerate.
//!
//! An oracle must not share the fault that it looks for.
//! So this crate knows the checked inputs of the compiler (graph, chip, cost table) only to build them, and everything that it computes follows `docs/model.md` from the case itself.
//! It does not depend on the compiler.

pub mod case;

pub mod brute_force;

pub mod random;

pub mod instances;

pub mod sketch;

pub mod onnx;

pub mod fuzz;
