//! Which processor runs which fused operator of a stage, and in which order.

mod outcome;
mod pipeline_mapping;
mod problem;
mod queue_counts;
mod schedule;

mod block;
mod bounds;
pub mod coarse;
pub mod decompose;
#[cfg(test)]
mod enumeration;
pub mod exact;
pub mod fine;
pub mod frontier;
mod intervals;
mod list_schedule;
mod local_search;
mod relaxation;
mod sequential;
mod staircase;

#[cfg(test)]
mod oracle;

pub use block::{BlockExit, BlockRequest, Granularity, Method, Methods, holders, solve_block};
pub use bounds::lower_bound;
pub use list_schedule::{ListRule, cpop, heft, lookahead_heft, peft};
pub use local_search::{Search, improve};
pub(crate) use outcome::enough;
pub use outcome::{Budget, Effort, Outcome, Proof};
pub use pipeline_mapping::{PipelineMapping, StageMapping, StageProof};
pub use problem::{Objective, Operator, Problem, Tensor};
pub use queue_counts::QueueCounts;
pub use relaxation::{Floor, RaisedBy, Relaxation, Relaxed, Work, relaxation_bound};
pub use schedule::{Schedule, Solution, Timing, schedule};
pub use sequential::{LayerSwitched, layer_switched, layer_switched_within, single};
