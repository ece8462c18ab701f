//! Plans run on sub-devices of a CPU: results, overlap, order, and what happens when something goes wrong.
//!
//! Nothing here compares wall-clock times: events say what overlapped and what came first.

mod network;

mod devices;

mod overlap;

mod results;

mod trouble;
