//! The ONNX importer: a mapped file becomes a verified operator graph, weights stay where they are.
//!
//! [`import`] is the arrow: map the file, measure and decode it, order its nodes, infer every shape from the inputs on
//! (propagating small constants on the way, since they decide shapes), fold what is constant, does nothing, is part of a convolution or converts what a quantised operator reads or writes, and verify.
//! Untrusted files are the normal case: every limit has a name in [`limits`], and no step recurses over the input.

pub mod limits;

mod file;

mod wire;

mod decode;

mod foreign;

mod digest;

mod attributes;

mod half;

mod value;

mod payload;

mod symbols;

mod declared;

mod captures;

mod body;

mod hints;

mod link;

mod order;

mod problems;

mod infer;

mod operator_sets;

mod ops;

mod propagate;

mod control;

mod padding;

mod batch_norm;

mod heads;

mod quantizable;

mod stored;

mod integers;

mod quantized;

mod assemble;

mod lower;

mod program;

mod stored_bytes;

mod supplement;

mod examine;

mod error;

pub use decode::DecodeError;
pub use error::{Fault, ImportError, NodePath, Operand, Problem, UnboundSymbol};
pub use examine::{Examined, Header, Outcome, Output, examine, examine_bytes};
pub use file::map;
pub use foreign::Format;
pub use lower::{
    Contradiction, Convolutions, Folded, Heads, ImportOptions, Imported, NodeEdit, Warning,
    digest_of, import, import_bytes,
};
pub use program::{
    Attribute, Call, Elements, Program, ProgramValue, StoredTensor, ValueId, Weight, load,
    load_bytes,
};
pub use stored_bytes::{PayloadError, TensorFile, read_tensor};
pub use supplement::{PROBE, Port, Ports, ports, with_constants};
