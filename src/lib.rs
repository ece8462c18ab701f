//! paracompile: an ILP-based offline mapping compiler for heterogeneous systems-on-chip.
//!
//! The modules are declared in the order in which a network passes through them; [`compile`] is the whole way as one function.
//! `ARCHITECTURE.md` draws it, `docs/model.md` says what every number means.

pub use paracompile_frontend::{arena, calibrate, cost, facts, ir, soc};
pub use paracompile_plan::{OpClass, front};

/// Reading models.
pub mod import {
    pub use paracompile_frontend::import::onnx::{
        Convolutions, Examined, Folded, Header, Heads, ImportError, ImportOptions, Imported,
        NodeEdit, NodePath, Outcome, Problem, UnboundSymbol, Warning, examine, import, map,
    };
}

/// Reading OpenCL kernel graphs.
pub mod kernels {
    pub use paracompile_frontend::components::{Components, Grouping, Level};
    pub use paracompile_frontend::import::kernels::{
        Device, Format, KernelGraph, KernelId, KernelOptions, KernelsError, Linked, Problem,
        Written, import, is_kernel_graph, lower, read, write,
    };
}

/// The plan file: types, reader and writer.
pub mod plan {
    pub use paracompile_plan::plan::*;
    pub use paracompile_plan::{
        FileKind, OpClass, ReadError, Seconds, Violation, WriteError, check, check_structure,
        counted, read_front, read_measured, read_plan, read_schedule, scheduled, writable,
        write_bytes, write_json, write_text, write_with,
    };
}

pub mod partition;

pub mod constraints;

pub mod milp;

pub mod mapping;

pub mod pipeline;

pub mod cluster;

pub mod estimate;

pub mod simulate;

pub mod pareto;

pub mod emit;

pub mod export;

pub mod explain;

pub mod plot;

pub mod report;

pub mod solve;

pub mod compile;

pub mod compare;
