//! Coarse mapping: a branch of a fan-in block is one task on one processor.

mod start;

pub(crate) use start::earliest_finish;
