//! Element types in OpenCL C.

use paracompile_frontend::ir::DataType;

use super::{Site, Spec, Unsupported};

/// The type that computes with elements; `None` for types that no kernel computes with.
pub(super) const fn arithmetic(dtype: DataType) -> Option<&'static str> {
    Some(match dtype {
        DataType::Float => "float",
        DataType::Double => "double",
        DataType::Int64 => "long",
        DataType::Int32 => "int",
        DataType::Int16 => "short",
        DataType::Int8 => "char",
        DataType::Uint64 => "ulong",
        DataType::Uint32 => "uint",
        DataType::Uint16 => "ushort",
        DataType::Uint8 | DataType::Bool => "uchar",
        DataType::Float16
        | DataType::BFloat16
        | DataType::Float8
        | DataType::Float6
        | DataType::Float4
        | DataType::Int4
        | DataType::Int2
        | DataType::Uint4
        | DataType::Uint2
        | DataType::Complex64
        | DataType::Complex128
        | DataType::String => return None,
    })
}

/// An unsigned type of the same size, for whoever copies elements; `None` for types of less than a byte and others without a size.
pub(super) const fn bits(dtype: DataType) -> Option<&'static str> {
    if matches!(dtype, DataType::String) {
        return None;
    }
    match dtype.bits() {
        8 => Some("uchar"),
        16 => Some("ushort"),
        32 => Some("uint"),
        64 => Some("ulong"),
        _ => None,
    }
}

/// [`arithmetic`] or a reason.
pub(super) fn arithmetic_of(site: &Site<'_>, spec: &Spec) -> Result<&'static str, Unsupported> {
    arithmetic(spec.dtype)
        .ok_or_else(|| site.unsupported(format!("no kernel computes with {}", spec.dtype)))
}

/// [`bits`] or a reason.
pub(super) fn bits_of(site: &Site<'_>, spec: &Spec) -> Result<&'static str, Unsupported> {
    bits(spec.dtype).ok_or_else(|| site.unsupported(format!("no kernel copies {}", spec.dtype)))
}

/// Whether elements are single-precision numbers, which have vectorised kernels.
pub(super) fn is_single(spec: &Spec) -> bool {
    spec.dtype == DataType::Float
}

/// Whether elements are integers with a sign.
pub(super) const fn is_signed(dtype: DataType) -> bool {
    matches!(
        dtype,
        DataType::Int64 | DataType::Int32 | DataType::Int16 | DataType::Int8
    )
}
