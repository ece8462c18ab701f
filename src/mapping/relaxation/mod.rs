//! Lower bounds from a linear program with cuts, certified in integers.
//!
//! For a trial makespan C every operator has a window on every processor; the program shares operators out among processors, and what lies between two operators must fit between them.
//! If its certified optimum is above C, no schedule is as short as C.
//! Multipliers come from a solver in floating point; the bound that they prove is computed anew from integer rows (after Neumaier and Shcherbina, Mathematical Programming 99, 2004), so that no tolerance enters it.
//! Whole assignments are the business of [`Program::refute`], whose answer is the word of the MILP solver and is kept apart.
//! Every row family stands in `docs/formulation.md`.

mod bound;
mod certificate;
mod energetic;
mod intervals;
mod program;
mod rows;
#[cfg(test)]
mod tests;
mod ways;

pub use bound::{Relaxed, Work, relaxation_bound};
