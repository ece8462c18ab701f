//! Task components of a kernel graph: which kernels go to one device together.
//!
//! The compiler puts them into plans, and the runtime's policies choose among them while they run.
//! How many kernels a task has is its granularity: too fine, and tasks take less than what dispatching them costs; too coarse, and
//! devices wait for work.
//! [`level_groups`] has the fixed granularities, [`fuse_small`] one that follows what tasks take.

mod component;

mod level;

mod adaptive;

mod candidates;

mod rank;

pub use adaptive::{Grain, Reason, fuse_small, reasons};
pub use candidates::{Candidates, Grouped, Rule};
pub use component::{Component, Components, Grouping};
pub use level::{Level, level_groups};
pub use rank::bottom_level_ranks;
