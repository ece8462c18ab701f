//! Cases: a tiny network on a tiny chip, limits, and what must come out.

mod build;
mod error;
mod facts;
mod format;
mod judge;
mod of_plan;

pub use build::Built;
pub use error::CaseError;
pub use format::{
    Case, Contention, Cuts, Energy, Expectation, Figures, Free, Limits, Link, Mapping, Memory,
    Network, Operator, Origin, Processor, Soc, Status, StreamExpectation, Tensor, files,
};
pub use judge::Answer;
