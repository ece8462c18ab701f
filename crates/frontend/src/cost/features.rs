//! The value of each feature of an operator, and the time that a class model makes of them.
//!
//! Units: multiply-accumulates and operations are counts, everything else is bytes or elements; [`Feature`] says what each one is.
//! Dilation is not part of [`Work`], so a dilated 3×3 convolution counts as one for Winograd's algorithm.

use paracompile_plan::Bytes;

use crate::ir::Work;
use crate::soc::{ClassModel, Feature};

/// Winograd's algorithm in tiles of 6×6 inputs for 4×4 outputs: products for each output pixel and pair of channels.
const TILE_RATIO: f64 = 36.0 / 16.0;
/// Elements of a transformed 3×3 kernel.
const TILE_AREA: f64 = 36.0;
/// Fewer input channels do not pay for the transforms.
const LEAST_CHANNELS: u64 = 16;
/// Size of a single-precision element.
const ELEMENT: f64 = 4.0;

/// The value of a feature; never negative, and finite for every work.
pub fn evaluate(feature: Feature, work: &Work) -> f64 {
    let winograd = winograd_channels(work);
    let is_gemm = work.macs > 0 && winograd.is_none();
    let of_gemm = |value: f64| if is_gemm { value } else { 0.0 };
    let of_winograd = |value: &dyn Fn(f64) -> f64| winograd.map_or(0.0, value);
    let matrix = ELEMENT * real(work.rows) * real(work.depth) * real(work.groups);
    match feature {
        Feature::Launch => 1.0,
        Feature::Macs => real(work.macs),
        Feature::OtherFlops => real(work.other_flops),
        Feature::InputBytes => size(work.input_bytes),
        Feature::WeightBytes => size(work.weight_bytes),
        Feature::OutputBytes => size(work.output_bytes),
        Feature::MatrixBytes => matrix,
        Feature::Window => real(work.window),
        Feature::GemmMacs => of_gemm(real(work.macs)),
        Feature::GemmMatrixBytes => of_gemm(matrix),
        Feature::GemmWeightBytes => of_gemm(size(work.weight_bytes)),
        Feature::GemmOutputBytes => of_gemm(size(work.output_bytes)),
        Feature::WinogradMacs => {
            of_winograd(&|channels| TILE_RATIO * real(work.rows) * channels * real(work.columns))
        }
        Feature::WinogradTransformBytes => of_winograd(&|channels| {
            ELEMENT * TILE_RATIO * real(work.rows) * (channels + real(work.columns))
        }),
        Feature::WinogradWeightBytes => {
            of_winograd(&|channels| ELEMENT * TILE_AREA * channels * real(work.columns))
        }
    }
}

/// Seconds that a class model gives: its terms in their order, summed from zero or the largest of them.
pub(super) fn seconds(model: &ClassModel, features: &[Feature], work: &Work) -> f64 {
    let terms = features
        .iter()
        .zip(&model.coefficients)
        .map(|(&feature, coefficient)| coefficient * evaluate(feature, work));
    if model.max {
        terms.fold(0.0, f64::max)
    } else {
        terms.fold(0.0, |sum, term| sum + term)
    }
}

/// Scratch space of an operator: the matrix that im2col writes, or what Winograd's transforms write; nothing for pointwise kernels.
///
/// An estimate for every processor, because profiles do not state it.
pub(super) fn workspace(work: &Work) -> Bytes {
    let has_kernel = work.kernel[0].saturating_mul(work.kernel[1]) > 1;
    if work.macs == 0 || !has_kernel {
        return Bytes::ZERO;
    }
    let bytes = if winograd_channels(work).is_some() {
        evaluate(Feature::WinogradTransformBytes, work)
    } else {
        // One group after the other uses the same space.
        ELEMENT * real(work.rows) * real(work.depth)
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and the cast saturates"
    )]
    Bytes::new(bytes.ceil() as u64)
}

/// Input channels, if Winograd's algorithm suits the convolution.
fn winograd_channels(work: &Work) -> Option<f64> {
    let suits = work.macs > 0 && work.kernel == [3, 3] && work.stride == [1, 1] && work.groups == 1;
    let channels = work.depth / 9;
    (suits && channels >= LEAST_CHANNELS).then(|| real(channels))
}

fn size(bytes: Bytes) -> f64 {
    real(bytes.count())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "models are far less exact than 53 bits"
)]
fn real(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use paracompile_plan::plan::Source;

    use super::*;

    /// 8×8 pixels, 16 to 32 channels.
    fn convolution(kernel: u64, stride: u64) -> Work {
        let depth = kernel * kernel * 16;
        Work {
            macs: 64 * 32 * depth,
            rows: 64,
            columns: 32,
            depth,
            groups: 1,
            kernel: [kernel, kernel],
            stride: [stride, stride],
            input_bytes: Bytes::new(4096),
            weight_bytes: Bytes::new(4 * 32 * depth),
            output_bytes: Bytes::new(8192),
            ..Work::default()
        }
    }

    fn value(feature: Feature, work: &Work) -> u64 {
        let value = evaluate(feature, work);
        assert!(value >= 0.0 && value.fract().abs() < f64::EPSILON);
        format!("{value:.0}").parse().unwrap()
    }

    #[test]
    fn a_3x3_convolution_with_stride_1_has_winograd_features() {
        let work = convolution(3, 1);
        assert_eq!(value(Feature::WinogradMacs, &work), 64 * 16 * 32 * 9 / 4);
        assert_eq!(value(Feature::WinogradTransformBytes, &work), 9 * 64 * 48);
        assert_eq!(value(Feature::WinogradWeightBytes, &work), 4 * 36 * 16 * 32);
        assert_eq!(value(Feature::GemmMacs, &work), 0);
        assert_eq!(value(Feature::Macs, &work), work.macs);
    }

    #[test]
    fn other_products_have_gemm_features() {
        let few_channels = Work {
            depth: 9 * 15,
            ..convolution(3, 1)
        };
        let grouped = Work {
            groups: 2,
            ..convolution(3, 1)
        };
        for work in [convolution(3, 2), convolution(5, 1), few_channels, grouped] {
            assert_eq!(value(Feature::GemmMacs, &work), work.macs);
            assert_eq!(value(Feature::WinogradMacs, &work), 0);
            assert_eq!(
                value(Feature::GemmMatrixBytes, &work),
                4 * work.rows * work.depth * work.groups
            );
        }
    }

    #[test]
    fn every_feature_of_any_work_is_finite() {
        let huge = Work {
            macs: u64::MAX,
            other_flops: u64::MAX,
            rows: u64::MAX,
            columns: u64::MAX,
            depth: u64::MAX,
            groups: u64::MAX,
            kernel: [u64::MAX; 2],
            stride: [u64::MAX; 2],
            window: u64::MAX,
            input_bytes: Bytes::MAX,
            weight_bytes: Bytes::MAX,
            output_bytes: Bytes::MAX,
        };
        for feature in Feature::ALL {
            assert!(evaluate(feature, &huge).is_finite(), "{feature}");
        }
        assert_eq!(workspace(&huge), Bytes::MAX);
    }

    #[test]
    fn a_model_sums_its_terms_or_takes_the_largest() {
        let mut model = ClassModel {
            features: vec!["launch".to_owned(), "output_bytes".to_owned()],
            coefficients: vec![0.5, 0.25],
            max: false,
            source: Source::Assumed,
        };
        let features = [Feature::Launch, Feature::OutputBytes];
        let work = Work {
            output_bytes: Bytes::new(8),
            ..Work::default()
        };
        assert!((seconds(&model, &features, &work) - 2.5).abs() < 1e-12);
        model.max = true;
        assert!((seconds(&model, &features, &work) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn scratch_space_is_what_im2col_or_the_transforms_write() {
        assert_eq!(workspace(&convolution(1, 1)), Bytes::ZERO);
        assert_eq!(workspace(&convolution(5, 1)), Bytes::new(4 * 64 * 25 * 16));
        assert_eq!(workspace(&convolution(3, 1)), Bytes::new(9 * 64 * 48));
    }
}
