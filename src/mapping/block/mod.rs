//! One block: the ladder from exact methods to good schedules with a bound.

mod method;

mod variant;

mod found;

mod ladder;

mod trade_offs;

pub use ladder::{BlockExit, BlockRequest, solve_block};
pub use method::{Granularity, Method, Methods};
pub(crate) use trade_offs::{TradeOff, TradeOffs, trade_offs};
pub use variant::holders;
