//! paracompile: an ILP-based offline mapping compiler for heterogeneous systems-on-chip.

pub mod partition;

pub mod mapping;

pub mod pipeline;

pub mod estimate;

pub mod simulate;

pub mod pareto;

pub mod emit;
