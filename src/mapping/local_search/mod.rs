//! Annealing by exact insertion, for blocks that are too large to be solved.
//!
//! An operator goes where a sampled insertion says; what the makespan is at most after an insertion takes constant time (after Mastrolilli and Gambardella, 2000).
//! Operators on a wrong processor cost nothing as long as another processor is the latest, so the energy of a state charges load by its price, less and less.
//! Between insertions, chains and pairs of operators change processors under the rule of Metropolis.
//! Seeded, and stopped by counted moves: the result is a function of the input.

mod anneal;
mod charge;
mod energy;
mod insertions;
mod random;
mod search;
mod state;
mod terrain;
#[cfg(test)]
mod tests;
mod trade;

pub use search::{Search, improve};
pub(super) use trade::trade;
