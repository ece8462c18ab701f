//! Others' tests: folders of the ONNX backend tests, with a model, inputs, and what it has to compute from them.

mod compare;

mod folder;

pub use compare::{Tolerance, difference};
pub use folder::{Outcome, run_folder};
