//! The importer of OpenCL kernel graphs: a specification becomes a [`KernelGraph`], and that a verified operator graph.
//!
//! [`import`] is the arrow: one of three formats is read into a [`Specification`] with its expressions as text, every launch is evaluated,
//! and edges and dependencies link launches into a graph in topological order.
//! Untrusted files are the normal case: every limit has a name in [`limits`], all problems of a file are told at once, and files are opened
//! in `library` alone.

pub mod limits;

mod element;
mod graph;

mod specification;

mod expression;

mod json;

mod library;

mod description;

mod symbolic;

mod expanded;

mod tidy;

mod write;

mod evaluate;

mod link;

mod digest;

mod lower;

mod read;

mod error;

pub use element::Element;
pub use error::{Defect, KernelsError, Problem};
pub use expression::{EvaluationError, SyntaxError};
pub use graph::{
    Access, Argument, Buffer, Device, Edge, Initial, Kernel, KernelGraph, KernelId, Number, Origin,
    Scalar, SourceFile,
};
pub use library::{Library, Lookup};
pub use link::Linked;
pub use lower::lower;
pub use read::{KernelOptions, import, import_text, is_kernel_graph, read, read_text};
pub use specification::{
    Described, DescribedArgument, Description, Direction, Launch, Specification, SpecifiedEdge,
};
pub use write::{Format, Written, write};

pub use tidy::{
    Expressed, KernelsFile, WrittenArgument, WrittenDevice, WrittenEdge, WrittenInitial,
    WrittenKernel, WrittenLaunch, kernels_json_schema,
};
