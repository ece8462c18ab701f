//! Tensors.

use paracompile_plan::Bytes;

use super::{DataType, OpId, Shape};
use crate::arena::Id;

/// Index of a tensor in its graph.
pub type TensorId = Id<Tensor>;

/// A value of the network with a static shape.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Unique, non-empty name in the file.
    pub name: String,
    /// Element type.
    pub dtype: DataType,
    /// Extents.
    pub shape: Shape,
    /// Size; fits, as the verifier holds.
    pub bytes: Bytes,
    /// Where it comes from.
    pub role: TensorRole,
}

/// Where a tensor comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum TensorRole {
    /// The frame provides it.
    Input,
    /// A constant, never loaded to map a model.
    Weight(WeightRef),
    /// An operator writes it.
    Computed(OpId),
}

/// Where the elements of a weight lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WeightRef {
    /// In the model file.
    Inline {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u64,
    },
    /// In the model file, but as protobuf variable-length integers, one an element (`int32_data`, `int64_data`, `uint64_data`).
    Varints {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u64,
    },
    /// In another file beside it.
    External {
        /// Path relative to the model's folder.
        location: String,
        /// First byte.
        offset: u64,
        /// Number of bytes; absent means to the end.
        length: Option<u64>,
    },
    /// The same value everywhere (`ConstantOfShape`), or folded from constants.
    Generated,
}
