//! Series decomposition: stages as sequences of blocks between gates, each solved once.
//!
//! At a gate the operators before and those behind do not overlap in time and nothing but the gate's tensors crosses, so the time of a stage is the sum over its blocks, minimised by a min-plus product over the gate's location.
//! The set of processors in use travels along, because every processor of a stage must run something (rule M2).
//! A stage that starts or ends between gates gets a joint solve of the partial block there.

mod blocks;
mod cut_points;
mod lanes;
mod over_queues;
mod series;
mod stage_graph;
mod stage_mapper;
mod sweep;
mod tighten;
mod timings;
mod whole;

pub use blocks::Retimed;
pub use lanes::QueuesAllowed;
pub use series::{Evidence, Rung, Series, Settled, block_count, series};
pub use stage_graph::{Entry, StageGraph};
pub use stage_mapper::{Ends, Known, MapperOptions, StageMapper, StageOption};
pub use tighten::Purse;
