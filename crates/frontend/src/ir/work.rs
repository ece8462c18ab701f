//! What an operator has to do, independent of any processor: the features of cost models.

use paracompile_plan::Bytes;

use super::DataType;

/// Arithmetic and traffic of one operator.
///
/// A convolution or matrix product is the GEMM `rows × depth` by `depth × columns`, `groups` times:
/// `rows` counts output pixels (times batch), `columns` output channels a group, `depth` kernel window times input channels a group.
/// Other operators have `macs == 0` and the rest zero, but for `window`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Multiply-accumulate operations.
    pub macs: u64,
    /// Other floating-point operations.
    pub other_flops: u64,
    /// GEMM rows (M).
    pub rows: u64,
    /// GEMM columns (N) a group.
    pub columns: u64,
    /// GEMM depth (K) a group.
    pub depth: u64,
    /// Groups, or batch of a batched matrix product.
    pub groups: u64,
    /// Kernel height and width of convolutions and pools; zero elsewhere.
    pub kernel: [u64; 2],
    /// Strides of convolutions and pools; zero elsewhere.
    pub stride: [u64; 2],
    /// Dilations of convolutions and pools; zero elsewhere.
    pub dilation: [u64; 2],
    /// Output elements times window of a pool; zero elsewhere.
    pub window: u64,
    /// Bytes of activations read, each tensor once; a slice or gather reads no more of a tensor than it writes.
    pub input_bytes: Bytes,
    /// Bytes of weights read, by the same rule.
    pub weight_bytes: Bytes,
    /// Bytes written.
    pub output_bytes: Bytes,
    /// The type that it computes in: that of its operands as it reads them, or that of its weights where it quantises its activations first.
    /// A reader of quantised weights alone computes in floating point.
    pub arithmetic: DataType,
}

impl Work {
    /// Floating-point operations, two a multiply-accumulate.
    pub const fn flops(&self) -> u64 {
        self.macs.saturating_mul(2).saturating_add(self.other_flops)
    }
}
