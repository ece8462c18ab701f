//! Pictures of what a compile run found: the Pareto front, and a plan in time; and of what a runtime measured.
//!
//! Pure functions from results to SVG text, and from that to PNG; they open no files.

mod axis;
mod bitmap;
mod canvas;
mod fidelity;
mod font;
mod front_legend;
mod gantt;
#[cfg(test)]
mod geometry;
mod graph;
mod labels;
mod lanes;
mod legend;
mod measured;
mod palette;
mod panel;
mod pareto;
mod points;
#[cfg(test)]
mod samples;
mod scatter;
mod schedule;
mod stack;
mod stage_use;
mod stages;
mod stream;

pub use bitmap::{BitmapError, png};
pub use fidelity::{Fidelity, FidelityError, FidelityPoint, Level, Quantity};
pub use gantt::gantt;
pub use graph::{TooLarge, graph_dot, graph_svg};
pub use measured::predicted_and_measured;
pub use pareto::pareto;
pub use scatter::scatter;
pub use schedule::schedules;
pub use stage_use::{QueueUse, stage_use};
pub use stages::stages;
