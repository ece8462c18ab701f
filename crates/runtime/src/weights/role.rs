//! What a constant is to its readers, which decides how large its random elements are.
//!
//! Filters are scaled after He et al. (2015), so that activations neither vanish nor overflow through hundreds of layers; what scales is
//! positive and about one; everything else is small.
//! Where several operators read a constant, the greatest of their roles counts, whatever their order.

use paracompile_frontend::import::onnx::{Attribute, Call};
use paracompile_frontend::ir::Shape;

/// Constants of so many elements or fewer keep what the file says: scales, bounds and the like, which decide what an operator is.
///
/// It is the number of elements up to which the importer reads constants.
pub const KEPT_ELEMENTS: u64 = paracompile_frontend::import::onnx::limits::REALS;

/// What a constant is used for, the least important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A bias, a mean, or anything else: in `[−0.1, 0.1)`.
    Small,
    /// Rows that indices choose from: in `[−1, 1)`.
    Embedding,
    /// A scale, a variance, a factor or a divisor: in `[0.5, 1.5)`.
    Scale,
    /// The filter of a convolution or a factor of a matrix product: in `±sqrt(6 / fan_in)`.
    Filter {
        /// How many products an element of the result sums.
        fan_in: u64,
    },
}

impl Role {
    /// What a constant with extents `shape` is to `call`, which reads it at `position`.
    pub fn of(call: &Call, position: usize, shape: &Shape) -> Self {
        let filter = |fan_in: u64| Self::Filter {
            fan_in: fan_in.max(1),
        };
        match (call.op_type.as_str(), position) {
            ("Conv", 1) => filter(product(shape.0.iter().skip(1))),
            ("ConvTranspose", 1) => {
                let outputs = shape.0.get(1).copied().unwrap_or(1).max(1);
                let inputs = shape.elements().unwrap_or(u64::MAX) / outputs;
                filter(inputs / int(call, "group", 1))
            }
            ("Gemm", 0) => filter(from_end(
                shape,
                if int(call, "transA", 0) == 0 { 1 } else { 2 },
            )),
            ("Gemm", 1) => filter(from_end(
                shape,
                if int(call, "transB", 0) == 0 { 2 } else { 1 },
            )),
            ("MatMul", 0) => filter(from_end(shape, 1)),
            ("MatMul", 1) => filter(from_end(shape, 2)),
            ("Gather", 0) => Self::Embedding,
            ("BatchNormalization", 1 | 4)
            | (
                "LayerNormalization"
                | "InstanceNormalization"
                | "GroupNormalization"
                | "RMSNormalization",
                1,
            )
            | ("Mul" | "Div", _) => Self::Scale,
            _ => Self::Small,
        }
    }

    /// Between which numbers elements lie; the second is left out.
    pub fn range(self) -> (f64, f64) {
        match self {
            Self::Small => (-0.1, 0.1),
            Self::Embedding => (-1.0, 1.0),
            Self::Scale => (0.5, 1.5),
            Self::Filter { fan_in } => {
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "a tensor in memory has fewer than 2^53 elements"
                )]
                let bound = (6.0 / fan_in as f64).sqrt();
                (-bound, bound)
            }
        }
    }
}

/// Operators whose results hold the elements of their first operand, in another order or some of them.
pub(super) fn carries(call: &Call) -> bool {
    matches!(
        call.op_type.as_str(),
        "Identity"
            | "Reshape"
            | "Transpose"
            | "Squeeze"
            | "Unsqueeze"
            | "Flatten"
            | "Split"
            | "Slice"
    )
}

/// The extent so many axes back from the end; of a vector its only one.
fn from_end(shape: &Shape, back: usize) -> u64 {
    let extents = &shape.0;
    let axis = extents.len().saturating_sub(back);
    extents.get(axis).copied().unwrap_or(1)
}

fn product<'a>(extents: impl Iterator<Item = &'a u64>) -> u64 {
    extents.fold(1, |product, &extent| product.saturating_mul(extent))
}

/// A positive integer attribute, or its default.
fn int(call: &Call, name: &str, default: u64) -> u64 {
    match call.attributes.get(name) {
        Some(&Attribute::Int(value)) => {
            u64::try_from(value).map_or(
                default,
                |value| {
                    if default == 0 { value } else { value.max(1) }
                },
            )
        }
        _ => default,
    }
}
