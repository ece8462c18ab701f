//! What processors draw: read off meters where there are any.

use serde::Serialize;

/// The power of a processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredPower {
    /// Watts while it is idle.
    pub static_w: f64,
    /// Watts more while it is busy.
    pub dynamic_w: f64,
}
