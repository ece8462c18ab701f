//! Element types and static shapes.

use std::fmt;

use paracompile_plan::Bytes;

/// Element type of a tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are ONNX's")]
pub enum DataType {
    #[default]
    Float,
    Double,
    Float16,
    BFloat16,
    Float8,
    Float6,
    Float4,
    Int64,
    Int32,
    Int16,
    Int8,
    Int4,
    Int2,
    Uint64,
    Uint32,
    Uint16,
    Uint8,
    Uint4,
    Uint2,
    Bool,
    Complex64,
    Complex128,
    /// Elements of unknown size; costed as eight bytes.
    String,
}

impl DataType {
    /// Size of an element in bits.
    pub const fn bits(self) -> u64 {
        match self {
            Self::Complex128 => 128,
            Self::Double | Self::Int64 | Self::Uint64 | Self::Complex64 | Self::String => 64,
            Self::Float | Self::Int32 | Self::Uint32 => 32,
            Self::Float16 | Self::BFloat16 | Self::Int16 | Self::Uint16 => 16,
            Self::Float8 | Self::Int8 | Self::Uint8 | Self::Bool => 8,
            Self::Float6 => 6,
            Self::Float4 | Self::Int4 | Self::Uint4 => 4,
            Self::Int2 | Self::Uint2 => 2,
        }
    }

    /// Whether it is a type of real numbers.
    pub const fn is_real(self) -> bool {
        match self {
            Self::Float
            | Self::Double
            | Self::Float16
            | Self::BFloat16
            | Self::Float8
            | Self::Float6
            | Self::Float4 => true,
            Self::Int64
            | Self::Int32
            | Self::Int16
            | Self::Int8
            | Self::Int4
            | Self::Int2
            | Self::Uint64
            | Self::Uint32
            | Self::Uint16
            | Self::Uint8
            | Self::Uint4
            | Self::Uint2
            | Self::Bool
            | Self::Complex64
            | Self::Complex128
            | Self::String => false,
        }
    }

    /// ONNX's spelling in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Float => "float",
            Self::Double => "double",
            Self::Float16 => "float16",
            Self::BFloat16 => "bfloat16",
            Self::Float8 => "float8",
            Self::Float6 => "float6",
            Self::Float4 => "float4",
            Self::Int64 => "int64",
            Self::Int32 => "int32",
            Self::Int16 => "int16",
            Self::Int8 => "int8",
            Self::Int4 => "int4",
            Self::Int2 => "int2",
            Self::Uint64 => "uint64",
            Self::Uint32 => "uint32",
            Self::Uint16 => "uint16",
            Self::Uint8 => "uint8",
            Self::Uint4 => "uint4",
            Self::Uint2 => "uint2",
            Self::Bool => "bool",
            Self::Complex64 => "complex64",
            Self::Complex128 => "complex128",
            Self::String => "string",
        }
    }
}

/// Extents, outermost first; empty for a scalar.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shape(pub Vec<u64>);

impl Shape {
    /// The number of elements; `None` on overflow.
    pub fn elements(&self) -> Option<u64> {
        self.0
            .iter()
            .try_fold(1u64, |count, &extent| count.checked_mul(extent))
    }

    /// Size with elements of type `dtype`, rounded up to whole bytes; `None` on overflow.
    pub fn bytes(&self, dtype: DataType) -> Option<Bytes> {
        let bits = self.elements()?.checked_mul(dtype.bits())?;
        Some(Bytes::new(bits.div_ceil(8)))
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (axis, extent) in self.0.iter().enumerate() {
            let separator = if axis == 0 { "" } else { ", " };
            write!(f, "{separator}{extent}")?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
