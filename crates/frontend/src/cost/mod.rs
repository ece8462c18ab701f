//! Costs: what each operator and each move takes on a chip, rounded once.

mod table;

pub use table::{CostError, CostTable, GroupCost, Move, Unsupported};
