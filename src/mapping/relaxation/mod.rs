//! Lower bounds from a linear relaxation of the whole problem, certified in integers.
//!
//! No order of two operators is decided; that they share processors is seen through loads between events.
//! Families and formulas are in `docs/formulation.md`.

mod bound;
mod cuts;
mod ground;
#[cfg(test)]
mod plant;
mod separate;
mod spans;
mod statement;
mod windows;

#[cfg(test)]
mod tests;

pub use bound::{RaisedBy, Relaxed, Work, relaxation_bound};
