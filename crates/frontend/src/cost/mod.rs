//! Costs: what each operator and each move takes on a chip, rounded once.

mod arithmetic;

mod features;
mod table;
mod transfer;

mod costs_file;
mod facts;
mod kernel_costs;
mod overrides;
mod points;

mod error;

#[cfg(test)]
mod small_graph;

pub(crate) use arithmetic::choose;
pub use costs_file::{
    CostEntry, CostsFile, costs_json_schema, costs_of, read_overrides, write_costs,
};
pub use error::{CostError, CostsFileError, OverrideDefect, OverrideProblem, TooLong, Unsupported};
pub use facts::cost_facts;
pub use features::evaluate;
pub use kernel_costs::{KernelCost, KernelCosts};
pub use overrides::CostOverrides;
pub use paracompile_plan::facts::CostFacts;
pub use points::PointTables;
pub use table::{CostTable, GroupCost, MOST_SECONDS};
pub use transfer::Move;
