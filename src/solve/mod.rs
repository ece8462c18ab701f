//! One scheduling problem without a network: an instance file in, a judged schedule with a bound out.
//!
//! The problem is the mapper's own ([`crate::mapping::Problem`]), so that what is measured here is what the compiler runs.
//! Every schedule is judged again from the instance alone, in integers ([`judge`]), before it is handed out.

mod document;
mod instance;
mod judge;
mod method;
mod number;
mod request;

mod ladder;

pub use document::{DocumentError, read};
pub use instance::{Delays, Edge, Instance, InstanceFault};
pub use judge::{Fault, Placed, judge};
pub use ladder::solve;
pub use method::Method;
pub use number::Decimals;
pub use request::{Answer, Progress, Request, SolveError, gap};
