//! Features that class models are written in: what a profile may multiply by a coefficient.
//!
//! The choice follows what regressions over convolutions on mobile cores need: a constant, arithmetic and traffic, with Winograd's algorithm apart from matrix multiplication.
//! How a feature is computed from an operator's work is `cost::features`; here are names and meanings alone, because a profile knows no graphs.

use std::fmt;

/// A quantity of an operator that time may be proportional to.
///
/// A convolution that the processor runs by Winograd's algorithm, see [`Winograd`], has the `winograd_` features and zero `gemm_` features; every other matrix product has it the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// One: the cost of starting an operator.
    Launch,
    /// Multiply-accumulates, whatever the algorithm.
    Macs,
    /// Other floating-point operations.
    OtherFlops,
    /// Bytes of activations read.
    InputBytes,
    /// Bytes of weights read.
    WeightBytes,
    /// Bytes written.
    OutputBytes,
    /// Bytes of the input matrix of the product in single precision: `4 · rows · depth · groups`, what im2col writes.
    MatrixBytes,
    /// Output elements times window of a pool.
    Window,
    /// Multiply-accumulates of a matrix product.
    GemmMacs,
    /// [`Feature::MatrixBytes`] of a matrix product.
    GemmMatrixBytes,
    /// Bytes of weights of a matrix product.
    GemmWeightBytes,
    /// Bytes written by a matrix product.
    GemmOutputBytes,
    /// Multiply-accumulates in tiles: `a/o` for each output pixel, input channel and output channel, where a tile reads `a` and writes `o` elements, see [`Winograd`].
    WinogradMacs,
    /// Bytes of transformed inputs and outputs in single precision: `4 · a/o · rows · (input + output channels)`.
    WinogradTransformBytes,
    /// Bytes of transformed weights in single precision: `4 · a · input channels · output channels`.
    WinogradWeightBytes,
    /// Bytes read and written beyond the first MiB, which a cluster's cache may hold: `max(0, input + output − 2²⁰)`.
    ColdBytes,
}

/// Which convolutions a processor runs by Winograd's algorithm (Lavin and Gray 2016): libraries differ, and it does not pay everywhere.
///
/// All need stride 1, no dilation, one group and at least 16 input channels.
/// Tiles are those of ARM Compute Library: 6×6 inputs for 4×4 outputs of a 3×3 kernel, 8 for 6 of a strip of 3, 8 for 2 of a strip of 7.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Winograd {
    /// None at all.
    None,
    /// Kernels of 3×3.
    #[default]
    Square,
    /// Kernels of 3×3, 1×3, 3×1, 1×7 and 7×1.
    Strips,
}

impl Winograd {
    /// Every choice, in the order of declaration.
    pub const ALL: [Self; 3] = [Self::None, Self::Square, Self::Strips];

    /// The name in profiles.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Square => "square",
            Self::Strips => "strips",
        }
    }
}

impl Feature {
    /// Every feature, in the order of declaration.
    pub const ALL: [Self; 16] = [
        Self::Launch,
        Self::Macs,
        Self::OtherFlops,
        Self::InputBytes,
        Self::WeightBytes,
        Self::OutputBytes,
        Self::MatrixBytes,
        Self::Window,
        Self::GemmMacs,
        Self::GemmMatrixBytes,
        Self::GemmWeightBytes,
        Self::GemmOutputBytes,
        Self::WinogradMacs,
        Self::WinogradTransformBytes,
        Self::WinogradWeightBytes,
        Self::ColdBytes,
    ];

    /// The name in profiles.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Macs => "macs",
            Self::OtherFlops => "other_flops",
            Self::InputBytes => "input_bytes",
            Self::WeightBytes => "weight_bytes",
            Self::OutputBytes => "output_bytes",
            Self::MatrixBytes => "matrix_bytes",
            Self::Window => "window",
            Self::GemmMacs => "gemm_macs",
            Self::GemmMatrixBytes => "gemm_matrix_bytes",
            Self::GemmWeightBytes => "gemm_weight_bytes",
            Self::GemmOutputBytes => "gemm_output_bytes",
            Self::WinogradMacs => "winograd_macs",
            Self::WinogradTransformBytes => "winograd_transform_bytes",
            Self::WinogradWeightBytes => "winograd_weight_bytes",
            Self::ColdBytes => "cold_bytes",
        }
    }

    /// The feature of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|feature| feature.name() == name)
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_found() {
        for feature in Feature::ALL {
            assert_eq!(Feature::from_name(feature.name()), Some(feature));
        }
        assert_eq!(Feature::from_name("mac"), None);
    }
}
