//! Kernel graphs run on sub-devices of a CPU: results, order, queues, and what is refused.
//!
//! Nothing here compares wall-clock times: events say what overlapped and what came first.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test that cannot go on has failed, and its numbers are small"
)]

#[path = "../execution/devices.rs"]
mod devices;

mod plans;

mod graphs;

mod results;

mod queues;

mod refusals;

mod policies;

mod commands;
