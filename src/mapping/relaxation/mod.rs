//! Lower bounds from a linear relaxation of the whole problem, certified in integers.
//!
//! The linear program decides no order of two operators; that they share processors is seen through loads between events.
//! Families and formulas are in `docs/formulation.md`.

mod bound;
mod cuts;
mod ground;
mod integer;
mod orders;
#[cfg(test)]
mod plant;
mod probe;
mod separate;
mod spans;
mod statement;
mod trials;
mod windows;

#[cfg(test)]
mod tests;

pub use bound::{Floor, RaisedBy, Relaxation, Relaxed, Work, relaxation_bound};
