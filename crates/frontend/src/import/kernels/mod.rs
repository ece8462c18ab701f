//! The importer of OpenCL kernel graphs: a specification becomes a [`KernelGraph`], and that a verified operator graph.

mod element;
mod graph;

pub use element::Element;
pub use graph::{
    Access, Argument, Buffer, Device, Edge, Initial, Kernel, KernelGraph, KernelId, Number, Origin,
    Scalar, SourceFile,
};
