//! A tensor in the host's memory.

use paracompile_frontend::ir::{DataType, Shape};

/// Elements in row-major order, little-endian, without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostTensor {
    /// Element type.
    pub dtype: DataType,
    /// Extents.
    pub shape: Shape,
    /// Elements.
    pub bytes: Vec<u8>,
}

/// Bytes that elements of whole bytes take; `None` for other types, and where they do not fit.
pub(super) fn size(dtype: DataType, shape: &Shape) -> Option<usize> {
    if !dtype.bits().is_multiple_of(8) || dtype == DataType::String {
        return None;
    }
    usize::try_from(shape.bytes(dtype)?.count()).ok()
}
