//! Frontier search: the exact answer for a small block, by dynamic programming over down-sets with Pareto dominance.
//!
//! A state is what the rest of a schedule can see of its past: the set of operators done, when each processor is free, when each tensor that is still to be read can be at each place, which moves are paid for, and the energy so far.
//! Of two states with the same set, one that is nowhere worse makes the other useless.
//! Operators are appended in the order of their starts, so that nothing may start before what was appended last; every schedule has such an order, and states that differ only in the past become equal.
//!
//! Three passes: a narrow one that keeps few states and gives upper bounds, an exact one for the makespan, and an exact one for the energy under the least makespan.
//! Bounds that prune are longest paths to the end and load prices; work is counted in states, so the answer does not depend on the machine.
//! With energy as an objective of its own, one more pass keeps every state that can lead to a new point of the (makespan, energy) front.
//! Processors that are alike are told apart only in the answers (`twins`).
//! Larger problems (more than [`LARGEST`] operators) are for the MILP and the local search.

mod energy_front;
mod exits;
mod layers;
mod layout;
mod search;
mod state;
mod tables;
mod twins;

pub use energy_front::energy_front;
pub use exits::{Coverage, Exit, Frontier, Reached};
pub use search::{LARGEST, solve, solve_from};
