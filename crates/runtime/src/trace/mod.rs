//! Traces: what ran where and when, for the viewers that people have.
//!
//! [`Trace`] is the neutral list, [`write_chrome`] makes the JSON that Perfetto and `chrome://tracing` read, and [`write_paje`] the format
//! of ViTE and `pj_dump`.
//! Neither format draws overlapping tasks of one queue, so [`Trace::rows`] gives them rows of their own.

mod event;

mod rows;

mod chrome;

mod of_run;

mod paje;

mod format;

pub use chrome::write_chrome;
pub use event::{Lane, LaneKind, Trace, TraceEvent};
pub use format::{TraceFormat, write_trace};
pub use paje::write_paje;
pub use rows::Row;
