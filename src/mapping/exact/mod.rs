//! The least makespan of a block, by dynamic programming over down-sets against a cutoff.
//!
//! Where [`frontier`](super::frontier) answers for every exit and for energy, this search asks one question: is there a schedule that ends before the cutoff?
//! Everything that cannot matter below the cutoff is taken out of a state before states are compared, so that many become equal: processors that nothing can use any more, arrivals that are waited for anyway.
//! Of states that differ only in the names of identical branches one is kept.
//! The cutoff comes from local search, and falls whenever a schedule below it is found.
//! Layers are searched in growing widths; a pass that had to leave nothing out is a proof.

mod evaluate;
mod layout;
mod network;
mod prices;
mod search;
mod symmetry;

pub use search::{Below, LARGEST, search_below, solve_exactly};
