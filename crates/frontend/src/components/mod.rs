//! Task components of a kernel graph: which kernels go to one device together.
//!
//! The compiler puts them into plans, and the runtime's policies choose among them while they run.

mod component;

pub use component::{Component, Components, Grouping};
