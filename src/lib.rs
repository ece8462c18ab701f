//! paracompile: an ILP-based offline mapping compiler for heterogeneous systems-on-chip.

pub mod partition;

pub mod milp;

pub mod mapping;

pub mod pipeline;

pub mod estimate;
