//! One HTML page of a compile run: the front, and of each plan its figures, stages, course in time, operators and reasons.
//!
//! The page is one file that loads nothing: figures stand in it as JSON, and a script of its own draws them.
//! It is made from `front.json` and the plan files; what is known of model and chip besides adds operator classes, sources of numbers and sizes of memories.
//! Pure functions from results to text; they open no files.

mod request;

mod page;

mod dictionary;

mod detail;

mod words;

mod build;

mod policy;

mod html;

#[cfg(test)]
mod samples;

pub use html::html;
pub use request::{Known, ReportError, Request};
