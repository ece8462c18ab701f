//! One block: the ladder from exact methods to good schedules with a bound.

mod method;

mod variant;

mod found;

mod ladder;

pub use ladder::{BlockExit, BlockRequest, solve_block};
pub use method::{Granularity, Method, Methods};
pub use variant::holders;
