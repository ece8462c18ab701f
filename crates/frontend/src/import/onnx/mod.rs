//! The ONNX importer: a mapped file becomes a verified operator graph, weights stay where they are.
//!
//! [`import`] is the arrow: map the file, measure and decode it, order its nodes, infer every shape from the inputs on
//! (propagating small constants on the way, since they decide shapes), fold what is constant, does nothing or is part of a convolution, and verify.
//! Untrusted files are the normal case: every limit has a name in [`limits`], and no step recurses over the input.

pub mod limits;

mod file;

mod wire;

mod decode;

mod digest;

mod attributes;

mod value;

mod payload;

mod symbols;

mod declared;

mod captures;

mod link;

mod order;

mod infer;

mod ops;

mod propagate;

mod padding;

mod batch_norm;

mod assemble;

mod lower;

mod error;

pub use decode::DecodeError;
pub use error::{Fault, ImportError, NodePath, Problem, UnboundSymbol};
pub use file::map;
pub use lower::{
    Contradiction, Convolutions, Folded, ImportOptions, Imported, Warning, import, import_bytes,
};
