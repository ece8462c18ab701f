//! Operator classes: the granularity at which profiles state speed, power, fusion and support.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an operator costs like.
///
/// A processor of a profile that lists no model for a class does not support that class.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum OpClass {
    /// Convolution with dense or grouped kernels.
    Conv,
    /// Convolution with one input channel a group.
    DepthwiseConv,
    /// Transposed convolution.
    ConvTranspose,
    /// Matrix product with a constant weight: fully connected layers.
    Gemm,
    /// Matrix product of two activations.
    Matmul,
    /// Maximum pooling over a window.
    MaxPool,
    /// Average pooling over a window.
    AveragePool,
    /// Pooling over the whole spatial extent.
    GlobalPool,
    /// Unary element-wise functions: relu, sigmoid, gelu, clip and the like.
    Activation,
    /// Batch normalisation, or a scale and shift a channel.
    BatchNorm,
    /// Normalisation over trailing axes, instance or group normalisation.
    LayerNorm,
    /// Local response normalisation.
    LocalResponseNorm,
    /// Softmax and its logarithm.
    Softmax,
    /// Binary or n-ary element-wise arithmetic with broadcasting, comparison, selection.
    Elementwise,
    /// Reductions over axes, arg-max and the like.
    Reduce,
    /// Concatenation.
    Concat,
    /// Splitting.
    Split,
    /// Permutation of axes, space to depth and the like.
    Transpose,
    /// Padding, tiling and expanding.
    Pad,
    /// Slices.
    Slice,
    /// Gathers and embeddings.
    Gather,
    /// Resampling.
    Resize,
    /// Conversion of the element type, quantisation.
    Cast,
    /// Recurrent layers.
    Recurrent,
    /// Understood by shape, costed by bytes.
    Other,
    /// Placed but not understood: costed by bytes.
    Opaque,
}

impl OpClass {
    /// Every class, in the order of declaration.
    pub const ALL: [Self; 26] = [
        Self::Conv,
        Self::DepthwiseConv,
        Self::ConvTranspose,
        Self::Gemm,
        Self::Matmul,
        Self::MaxPool,
        Self::AveragePool,
        Self::GlobalPool,
        Self::Activation,
        Self::BatchNorm,
        Self::LayerNorm,
        Self::LocalResponseNorm,
        Self::Softmax,
        Self::Elementwise,
        Self::Reduce,
        Self::Concat,
        Self::Split,
        Self::Transpose,
        Self::Pad,
        Self::Slice,
        Self::Gather,
        Self::Resize,
        Self::Cast,
        Self::Recurrent,
        Self::Other,
        Self::Opaque,
    ];

    /// The name in profiles and plans.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conv => "conv",
            Self::DepthwiseConv => "depthwise_conv",
            Self::ConvTranspose => "conv_transpose",
            Self::Gemm => "gemm",
            Self::Matmul => "matmul",
            Self::MaxPool => "max_pool",
            Self::AveragePool => "average_pool",
            Self::GlobalPool => "global_pool",
            Self::Activation => "activation",
            Self::BatchNorm => "batch_norm",
            Self::LayerNorm => "layer_norm",
            Self::LocalResponseNorm => "local_response_norm",
            Self::Softmax => "softmax",
            Self::Elementwise => "elementwise",
            Self::Reduce => "reduce",
            Self::Concat => "concat",
            Self::Split => "split",
            Self::Transpose => "transpose",
            Self::Pad => "pad",
            Self::Slice => "slice",
            Self::Gather => "gather",
            Self::Resize => "resize",
            Self::Cast => "cast",
            Self::Recurrent => "recurrent",
            Self::Other => "other",
            Self::Opaque => "opaque",
        }
    }
}

impl fmt::Display for OpClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A class name that no class has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an operator class")]
pub struct UnknownClass(pub String);

impl FromStr for OpClass {
    type Err = UnknownClass;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|class| class.name() == name)
            .ok_or_else(|| UnknownClass(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_serialised_ones_and_parse_back() {
        for class in OpClass::ALL {
            let json = serde_json::to_string(&class).unwrap();
            assert_eq!(json, format!("\"{}\"", class.name()));
            assert_eq!(class.name().parse(), Ok(class));
        }
    }
}
