//! Plans run on sub-devices of a CPU: results, overlap, order, and what happens when something goes wrong.
//!
//! Nothing here compares wall-clock times: events say what overlapped and what came first.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a test that cannot go on has failed, and its numbers are small"
)]

mod network;

mod devices;

mod overlap;

mod results;

mod trouble;
