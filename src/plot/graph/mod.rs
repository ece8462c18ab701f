//! The tasks of a plan as a graph, coloured by processor, stages as bands.

mod coordinates;
mod dataflow;
mod dot;
mod layers;
mod svg;

pub use dot::graph_dot;
pub use layers::TooLarge;
pub use svg::graph_svg;
