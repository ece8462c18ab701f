//! How fast products and convolutions are on a device, beside others' on the same device.

mod clblast;

mod clock;

mod layers;

mod operators;

mod report;

pub use clblast::{Clblast, ClblastError};
pub(crate) use operators::Operator;
pub use report::{BenchError, convolution_names, convolutions, meant, product_names, products};
