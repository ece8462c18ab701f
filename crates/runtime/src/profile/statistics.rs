//! What repeated measurements say: a median without outliers and how sure it is, and a line through points.
//!
//! Times on a machine with other work have a long tail on one side, so medians and order statistics are used throughout (Hoefler and
//! Belli 2015); nothing is assumed to be normal.

use serde::Serialize;

/// Samples that differ from the median by more than so many standard deviations, told from the median deviation, are outliers.
const REJECTED_BEYOND: f64 = 5.0;
/// Median absolute deviation to standard deviation, were the samples normal.
const DEVIATION: f64 = 1.4826;
/// Half the width of a 95% interval of a median, in ranks a root of the number of samples.
const RANKS: f64 = 0.98;

/// A measured quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Median of the samples that are no outliers.
    pub median: f64,
    /// Lower end of its 95% confidence interval.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
    /// Samples that count.
    pub samples: usize,
    /// Samples that were rejected.
    pub outliers: usize,
}

impl Estimate {
    /// What `samples` say; `None` of nothing, or where one of them is no number.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let middle = median(samples)?;
        let deviations: Vec<f64> = samples
            .iter()
            .map(|sample| (sample - middle).abs())
            .collect();
        let bound = REJECTED_BEYOND * DEVIATION * median(&deviations)?;
        let mut kept: Vec<f64> = samples
            .iter()
            .zip(&deviations)
            .filter(|(_, deviation)| **deviation <= bound)
            .map(|(sample, _)| *sample)
            .collect();
        kept.sort_by(f64::total_cmp);
        let (low, high) = interval(&kept);
        Some(Self {
            median: median(&kept)?,
            low,
            high,
            samples: kept.len(),
            outliers: samples.len() - kept.len(),
        })
    }

    /// Half the width of the interval for each unit of the median.
    pub fn relative_error(&self) -> f64 {
        if self.median > 0.0 {
            (self.high - self.low) / 2.0 / self.median
        } else {
            0.0
        }
    }
}

/// The 95% confidence interval of the median of sorted samples: two of them, by their ranks; all that there is where they are few.
fn interval(sorted: &[f64]) -> (f64, f64) {
    let half = RANKS * real(sorted.len()).sqrt();
    let middle = real(sorted.len()) / 2.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped at zero, and less than the number of samples"
    )]
    let (first, last) = (
        (middle - half).floor().max(0.0) as usize,
        (middle + half).ceil() as usize,
    );
    (sorted[first], sorted[last.min(sorted.len() - 1)])
}

/// The median; `None` of nothing, or where a sample is no number.
pub(super) fn median(samples: &[f64]) -> Option<f64> {
    if samples.is_empty() || samples.iter().any(|sample| !sample.is_finite()) {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    Some(if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    })
}

/// The value that a quarter of the samples does not exceed; `None` of nothing, or where a sample is no number.
pub(super) fn lower_quartile(samples: &[f64]) -> Option<f64> {
    let middle = median(samples)?;
    let lower: Vec<f64> = samples
        .iter()
        .copied()
        .filter(|sample| *sample <= middle)
        .collect();
    median(&lower)
}

/// A constant and a rate, neither negative, so that `constant + rate · x` has the least squared relative error over points `(x, y)` with
/// positive `y`.
pub(super) fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let mut sums = [0.0; 5];
    for &(x, y) in points {
        let (one, slope) = (1.0 / y, x / y);
        for (sum, term) in sums
            .iter_mut()
            .zip([one * one, one * slope, slope * slope, one, slope])
        {
            *sum += term;
        }
    }
    let [ones, mixed, slopes, one, slope] = sums;
    let determinant = ones * slopes - mixed * mixed;
    let (constant, rate) = (
        (one * slopes - slope * mixed) / determinant,
        (slope * ones - one * mixed) / determinant,
    );
    let ratio = |sum: f64, square: f64| if square > 0.0 { sum / square } else { 0.0 };
    // Where one would be negative, or points are of one size, the other one explains everything.
    if !(constant >= 0.0 && determinant > f64::EPSILON * ones * slopes) {
        (0.0, ratio(slope, slopes))
    } else if rate >= 0.0 {
        (constant, rate)
    } else {
        (ratio(one, ones), 0.0)
    }
}

/// A count as a number.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of samples and sizes in bytes are far below 2^53"
)]
pub(super) fn real(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= 1e-9 * expected.abs().max(1e-3)
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_ones() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn the_lower_quartile_is_the_median_of_the_lower_half() {
        assert_eq!(lower_quartile(&[8.0, 1.0, 3.0, 2.0, 9.0]), Some(2.0));
        assert_eq!(lower_quartile(&[5.0]), Some(5.0));
        assert_eq!(lower_quartile(&[]), None);
    }

    #[test]
    fn a_preempted_sample_is_an_outlier_and_changes_nothing() {
        let quiet = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01];
        let mut loud = quiet.to_vec();
        loud.push(40.0);
        let (quiet, loud) = (Estimate::of(&quiet).unwrap(), Estimate::of(&loud).unwrap());
        assert_eq!((quiet.outliers, loud.outliers), (0, 1));
        assert!(close(loud.median, quiet.median) && loud.high <= 1.02);
    }

    #[test]
    fn equal_samples_leave_no_doubt() {
        let certain = Estimate::of(&[2.0; 9]).unwrap();
        assert!(close(certain.low, 2.0) && close(certain.high, 2.0));
        assert!(certain.relative_error().abs() < 1e-12);
    }

    #[test]
    fn two_modes_are_both_kept() {
        let modes = [1.0, 1.0, 1.1, 1.0, 2.0, 2.0, 2.1, 2.0];
        let estimate = Estimate::of(&modes).unwrap();
        assert_eq!(estimate.outliers, 0);
        assert!(estimate.relative_error() > 0.2);
    }

    #[test]
    fn a_line_is_found_again_whatever_the_sizes() {
        let points: Vec<(f64, f64)> = [1e3, 1e4, 1e6, 1e8]
            .iter()
            .map(|x| (*x, 2e-5 + 1e-9 * x))
            .collect();
        let (constant, rate) = line(&points);
        assert!(
            close(constant, 2e-5) && close(rate, 1e-9),
            "{constant} {rate}"
        );
    }

    #[test]
    fn a_line_never_falls_and_never_starts_below_zero() {
        assert_eq!(
            line(&[(1.0, 2.0), (2.0, 1.0)]).1.to_bits(),
            0.0_f64.to_bits()
        );
        assert_eq!(
            line(&[(1.0, 1.0), (2.0, 4.0)]).0.to_bits(),
            0.0_f64.to_bits()
        );
        let (constant, rate) = line(&[(5.0, 10.0)]);
        assert!(constant.abs() < 1e-12 && close(rate, 2.0));
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_median(samples in prop::collection::vec(1e-6f64..1.0, 1..60)) {
            let estimate = Estimate::of(&samples).unwrap();
            prop_assert!(estimate.low <= estimate.median && estimate.median <= estimate.high);
            prop_assert_eq!(estimate.samples + estimate.outliers, samples.len());
        }
    }
}
