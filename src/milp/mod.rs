//! Mixed-integer linear programs: the one place that talks to the solver (HiGHS, through `good_lp`).
//!
//! It knows variables, rows and bounds, and nothing of graphs or processors; `mapping` states its problems in these terms.
//! What it adds to the solver is honesty about numbers: exact scaling of integers, and bounds that stay valid in floating point (rule M1 of `docs/model.md`).

mod error;
mod exact;
mod limits;
mod linear_program;
mod model;
mod outcome;
mod scale;
mod solve;

pub use error::MilpError;
pub use exact::{ExactColumn, ExactProgram, ExactRow, Priced, SHIFT, Sense, Unit};
pub use limits::{Limits, Remaining, Watch};
pub use linear_program::{LinearProgram, ONE, Relaxed, Suggestion};
pub use model::{Linear, Model, Variable};
pub use outcome::{Incumbent, Outcome, Status};
pub use scale::Scale;
pub use solve::{LARGEST, is_one, solve};
