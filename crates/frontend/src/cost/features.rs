//! The value of each feature of an operator, and the time that a class model makes of them.
//!
//! Units: multiply-accumulates and operations are counts, everything else is bytes or elements; [`Feature`] says what each one is.
//! Whether a convolution counts as one for Winograd's algorithm depends on the processor, so every model says what it takes for one.

use paracompile_plan::Bytes;

use crate::ir::Work;
use crate::soc::{ClassModel, Feature, Winograd};

/// Bytes that the caches of a cluster may hold.
const CACHED_BYTES: f64 = 1_048_576.0;
/// Fewer input channels do not pay for the transforms.
const LEAST_CHANNELS: u64 = 16;

/// The value of a feature on a processor that runs these kernels by Winograd's algorithm; never negative, and finite for every work.
pub fn evaluate(feature: Feature, work: &Work, winograd: Winograd) -> f64 {
    let tiles = tiles(work, winograd);
    let is_gemm = work.macs > 0 && tiles.is_none();
    let of_gemm = |value: f64| if is_gemm { value } else { 0.0 };
    let of_tiles = |value: &dyn Fn(Tiles) -> f64| tiles.map_or(0.0, value);
    let element = element(work);
    let matrix = element * real(work.rows) * real(work.depth) * real(work.groups);
    let columns = real(work.columns);
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
            of_tiles(&|tiles| tiles.ratio * real(work.rows) * tiles.channels * columns)
        }
        Feature::WinogradTransformBytes => {
            of_tiles(&|tiles| element * tiles.ratio * real(work.rows) * (tiles.channels + columns))
        }
        Feature::WinogradWeightBytes => {
            of_tiles(&|tiles| element * tiles.inputs * tiles.channels * columns)
        }
        Feature::ColdBytes => {
            (size(work.input_bytes) + size(work.output_bytes) - CACHED_BYTES).max(0.0)
        }
    }
}

/// Seconds that a class model gives: its terms in their order, summed from zero or the largest of them.
pub(super) fn seconds(model: &ClassModel, features: &[Feature], work: &Work) -> f64 {
    let terms = features
        .iter()
        .zip(&model.coefficients)
        .map(|(&feature, coefficient)| coefficient * evaluate(feature, work, model.winograd));
    if model.max {
        terms.fold(0.0, f64::max)
    } else {
        terms.fold(0.0, |sum, term| sum + term)
    }
}

/// How far beyond the measured operators a model is still trusted: a factor on either side.
const TRUSTED_BEYOND: f64 = 4.0;

/// Whether an operator is far from everything that a model was found on; never, where the profile does not say what that was.
///
/// A feature that was always zero says nothing about operators that have it, so they are far.
pub(super) fn is_far(model: &ClassModel, features: &[Feature], work: &Work) -> bool {
    features
        .iter()
        .zip(&model.seen)
        .any(|(&feature, &[least, most])| {
            let value = evaluate(feature, work, model.winograd);
            let lowest = if least > 0.0 {
                least / TRUSTED_BEYOND
            } else {
                0.0
            };
            value < lowest || value > most * TRUSTED_BEYOND
        })
}

/// Scratch space of an operator: the matrix that im2col writes, or what Winograd's transforms write; nothing for pointwise kernels.
///
/// An estimate for every processor, because profiles do not state it.
pub(super) fn workspace(work: &Work) -> Bytes {
    let has_kernel = work.kernel[0].saturating_mul(work.kernel[1]) > 1;
    if work.macs == 0 || !has_kernel {
        return Bytes::ZERO;
    }
    let transformed = evaluate(Feature::WinogradTransformBytes, work, Winograd::Square);
    let bytes = if transformed > 0.0 {
        transformed
    } else {
        // One group after the other uses the same space.
        element(work) * real(work.rows) * real(work.depth)
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and the cast saturates"
    )]
    Bytes::new(bytes.ceil() as u64)
}

/// Tiles of Winograd's algorithm.
#[derive(Clone, Copy)]
struct Tiles {
    /// Elements that a tile reads.
    inputs: f64,
    /// Elements read for each that is written.
    ratio: f64,
    /// Input channels.
    channels: f64,
}

/// The tiles of a convolution, if the algorithm suits it and the processor uses it there.
fn tiles(work: &Work, winograd: Winograd) -> Option<Tiles> {
    // Sums of quantised numbers do not fit their own type, so libraries run quantised convolutions as matrix products.
    let is_plain = work.arithmetic.is_real()
        && work.macs > 0
        && work.stride == [1, 1]
        && work.dilation == [1, 1]
        && work.groups == 1;
    let (inputs, outputs) = match (winograd, work.kernel) {
        (Winograd::Square | Winograd::Strips, [3, 3]) => (36.0, 16.0),
        (Winograd::Strips, [1, 3] | [3, 1]) => (8.0, 6.0),
        (Winograd::Strips, [1, 7] | [7, 1]) => (8.0, 2.0),
        (Winograd::None | Winograd::Square | Winograd::Strips, _) => return None,
    };
    let channels = work.depth / (work.kernel[0] * work.kernel[1]);
    (is_plain && channels >= LEAST_CHANNELS).then(|| Tiles {
        inputs,
        ratio: inputs / outputs,
        channels: real(channels),
    })
}

/// Bytes of an element as the operator computes with it.
fn element(work: &Work) -> f64 {
    real(work.arithmetic.bits()) / 8.0
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
    use crate::ir::DataType;

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
            dilation: [1, 1],
            input_bytes: Bytes::new(4096),
            weight_bytes: Bytes::new(4 * 32 * depth),
            output_bytes: Bytes::new(8192),
            ..Work::default()
        }
    }

    fn value(feature: Feature, work: &Work) -> u64 {
        let value = evaluate(feature, work, Winograd::default());
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
        let dilated = Work {
            dilation: [2, 2],
            ..convolution(3, 1)
        };
        for work in [
            convolution(3, 2),
            convolution(5, 1),
            few_channels,
            grouped,
            dilated,
        ] {
            assert_eq!(value(Feature::GemmMacs, &work), work.macs);
            assert_eq!(value(Feature::WinogradMacs, &work), 0);
            assert_eq!(
                value(Feature::GemmMatrixBytes, &work),
                4 * work.rows * work.depth * work.groups
            );
        }
    }

    #[test]
    fn a_processor_decides_which_kernels_are_tiled() {
        let strip = |kernel: [u64; 2]| Work {
            kernel,
            depth: kernel[0] * kernel[1] * 16,
            ..convolution(3, 1)
        };
        let tiled = |work: &Work, winograd| evaluate(Feature::WinogradMacs, work, winograd) > 0.0;
        for kernel in [[1, 3], [3, 1], [1, 7], [7, 1]] {
            assert!(tiled(&strip(kernel), Winograd::Strips), "{kernel:?}");
            assert!(!tiled(&strip(kernel), Winograd::Square), "{kernel:?}");
        }
        assert!(!tiled(&strip([1, 5]), Winograd::Strips));
        assert!(!tiled(&convolution(3, 1), Winograd::None));
        // Two outputs of a strip of seven take eight inputs.
        let macs = evaluate(Feature::WinogradMacs, &strip([1, 7]), Winograd::Strips);
        assert!((macs - 4.0 * 64.0 * 16.0 * 32.0).abs() < 1e-6);
    }

    #[test]
    fn what_exceeds_the_cache_is_cold() {
        let moving = |mebibytes: u64| Work {
            input_bytes: Bytes::new(mebibytes << 19),
            output_bytes: Bytes::new(mebibytes << 19),
            ..Work::default()
        };
        assert_eq!(value(Feature::ColdBytes, &moving(1)), 0);
        assert_eq!(value(Feature::ColdBytes, &moving(3)), 2 << 20);
    }

    #[test]
    fn operators_beyond_four_times_the_measured_range_are_far() {
        let model = ClassModel {
            dtype: "any".to_owned(),
            features: vec!["launch".to_owned(), "macs".to_owned()],
            coefficients: vec![1e-5, 1e-11],
            max: false,
            winograd: Winograd::default(),
            seen: vec![[1.0, 1.0], [100.0, 1000.0]],
            source: Source::Fitted,
        };
        let features = [Feature::Launch, Feature::Macs];
        let far = |macs| {
            let work = Work {
                macs,
                ..Work::default()
            };
            is_far(&model, &features, &work)
        };
        assert_eq!(
            [24, 25, 500, 4000, 4001].map(far),
            [true, false, false, false, true]
        );
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
            dilation: [u64::MAX; 2],
            window: u64::MAX,
            input_bytes: Bytes::MAX,
            weight_bytes: Bytes::MAX,
            output_bytes: Bytes::MAX,
            arithmetic: DataType::Double,
        };
        for feature in Feature::ALL {
            for winograd in Winograd::ALL {
                assert!(evaluate(feature, &huge, winograd).is_finite(), "{feature}");
            }
        }
        assert_eq!(workspace(&huge), Bytes::MAX);
    }

    #[test]
    fn a_model_sums_its_terms_or_takes_the_largest() {
        let mut model = ClassModel {
            dtype: "any".to_owned(),
            features: vec!["launch".to_owned(), "output_bytes".to_owned()],
            coefficients: vec![0.5, 0.25],
            max: false,
            winograd: Winograd::default(),
            seen: Vec::new(),
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
