//! Non-negative least squares in relative error, robust against outliers.
//!
//! The algorithm is Lawson and Hanson's (1974), from the crate `nnls`; around it are Huber's weights (1964), found by repetition.
//! A row counts by its relative error, and a little more the longer it takes: relative errors alone let thousands of microseconds decide about the milliseconds that a network consists of, and absolute ones let the largest operator decide everything.

use ndarray::{Array1, Array2};
use nnls::nnls;

/// Errors beyond this many standard deviations count by their size instead of their square; 95% as efficient as least squares on normal errors.
const TUNING: f64 = 1.345;
/// The exponent of time in a row's weight: squared relative errors are weighted by `t^(1/2)`.
const EMPHASIS: f64 = 0.25;
/// Medians of absolute deviations to standard deviations.
const DEVIATION: f64 = 1.4826;
/// A simpler model has to be better by this much of [`misfit`] to be taken instead: less is noise.
pub(super) const MARGIN: f64 = 0.005;
/// Below this, rows agree, and no weight is needed.
const NO_DEVIATION: f64 = 1e-9;
/// A coefficient that makes no more than this part of any row's time is a zero that was rounded.
const NEGLIGIBLE: f64 = 1e-6;
/// Weights settle within ten rounds; more change nothing that is kept.
const ROUNDS: usize = 40;

/// A fitted linear model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Regression {
    /// One for each column, none negative.
    pub(super) coefficients: Vec<f64>,
    /// How much each row counted, from nearly zero to one.
    pub(super) weights: Vec<f64>,
    /// Sum of weighted squared relative errors, each cut at one half: to compare models of the same rows.
    pub(super) loss: f64,
}

/// Fits `times`, all positive, by non-negative combinations of the columns of `rows`.
///
/// A column of zeros gets the coefficient zero.
pub(super) fn fit(rows: &[Vec<f64>], times: &[f64]) -> Regression {
    let columns = rows.first().map_or(0, Vec::len);
    if columns == 0 {
        return Regression {
            coefficients: Vec::new(),
            weights: vec![1.0; rows.len()],
            loss: f64::INFINITY,
        };
    }
    // Relative rows: what a column contributes for each unit of the measured time.
    let relative: Vec<Vec<f64>> = rows
        .iter()
        .zip(times)
        .map(|(row, time)| row.iter().map(|value| value / time).collect())
        .collect();
    // Columns differ by twelve orders of magnitude.
    let scales: Vec<f64> = (0..columns)
        .map(|column| {
            relative
                .iter()
                .fold(0.0, |most: f64, row| most.max(row[column]))
        })
        .collect();
    let mean = times.iter().sum::<f64>() / real(times.len().max(1));
    let emphasis: Vec<f64> = times
        .iter()
        .map(|time| (time / mean).powf(EMPHASIS))
        .collect();
    let mut weights = vec![1.0; rows.len()];
    let mut found = vec![0.0; columns];
    for _ in 0..ROUNDS {
        let solved = solve(&relative, &scales, &emphasis, &weights);
        let errors = errors(&relative, &scales, &solved);
        let settled = solved
            .iter()
            .zip(&found)
            .all(|(new, old)| (new - old).abs() <= 1e-12 * old.abs());
        found = solved;
        if settled {
            break;
        }
        let bound = TUNING * (DEVIATION * median(errors.iter().map(|error| error.abs())));
        if bound <= NO_DEVIATION {
            // Most rows agree exactly, so what does not is wrong altogether.
            weights = errors
                .iter()
                .map(|error| {
                    if error.abs() <= NO_DEVIATION {
                        1.0
                    } else {
                        NO_DEVIATION
                    }
                })
                .collect();
            continue;
        }
        weights = errors
            .iter()
            .map(|error| (bound / error.abs()).min(1.0))
            .collect();
    }
    let errors = errors(&relative, &scales, &found);
    let loss = errors
        .iter()
        .zip(&emphasis)
        .map(|(error, emphasis)| (emphasis * error.abs().min(0.5)).powi(2))
        .sum();
    let coefficients = found
        .iter()
        .zip(&scales)
        .map(|(value, scale)| {
            if *scale > 0.0 && *value > NEGLIGIBLE {
                value / scale
            } else {
                0.0
            }
        })
        .collect();
    Regression {
        coefficients,
        weights,
        loss,
    }
}

/// How far predictions are from measured times: the root mean square of relative errors, where long times count a little more as in a fit, and no error counts for more than the whole time.
///
/// It compares models of the same rows, whatever they were fitted by, without letting one outlier decide.
pub(super) fn misfit(pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (sum, weight) = pairs.fold((0.0, 0.0), |(sum, weight), (predicted, measured)| {
        let emphasis = measured.powf(2.0 * EMPHASIS);
        let error = (predicted / measured - 1.0).abs().min(1.0);
        (sum + emphasis * error * error, weight + emphasis)
    });
    if weight > 0.0 {
        f64::sqrt(sum / weight)
    } else {
        0.0
    }
}

/// The median; zero of nothing.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.is_empty() {
        0.0
    } else if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

/// Root of the mean square; zero of nothing.
pub(super) fn root_mean_square(values: impl IntoIterator<Item = f64>) -> f64 {
    let (count, sum) = values.into_iter().fold((0.0, 0.0), |(count, sum), value| {
        (count + 1.0, sum + value * value)
    });
    if count > 0.0 {
        f64::sqrt(sum / count)
    } else {
        0.0
    }
}

/// Least squares of `emphasis · √weight · (relative · x − 1)`, with columns scaled to one.
fn solve(relative: &[Vec<f64>], scales: &[f64], emphasis: &[f64], weights: &[f64]) -> Vec<f64> {
    let columns = scales.len();
    let factors: Vec<f64> = emphasis
        .iter()
        .zip(weights)
        .map(|(emphasis, weight)| emphasis * weight.sqrt())
        .collect();
    // The solver wants more rows than columns; rows of zeros change no sum of squares.
    let height = relative.len() + columns + 1;
    let mut matrix = Array2::zeros((height, columns));
    let mut target = Array1::zeros(height);
    for (index, (row, factor)) in relative.iter().zip(&factors).enumerate() {
        target[index] = *factor;
        for (column, (value, scale)) in row.iter().zip(scales).enumerate() {
            if *scale > 0.0 {
                matrix[(index, column)] = factor * value / scale;
            }
        }
    }
    let (solution, _) = nnls(matrix.view(), target.view());
    solution.iter().map(|value| value.max(0.0)).collect()
}

/// Relative errors: predicted over measured, less one.
fn errors(relative: &[Vec<f64>], scales: &[f64], found: &[f64]) -> Vec<f64> {
    relative
        .iter()
        .map(|row| {
            let terms = row.iter().zip(scales).zip(found);
            let predicted: f64 = terms
                .filter(|((_, scale), _)| **scale > 0.0)
                .map(|((value, scale), coefficient)| value / scale * coefficient)
                .sum();
            predicted - 1.0
        })
        .collect()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "tables have at most a million rows"
)]
pub(super) fn real(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Rows of two rates and a constant over four orders of magnitude.
    fn rows() -> Vec<Vec<f64>> {
        (0..24)
            .map(|i| {
                let i = f64::from(i);
                vec![
                    1.0,
                    10f64.powf(5.0 + (i * 0.37) % 4.0),
                    10f64.powf(4.0 + (i * 0.73) % 3.0),
                ]
            })
            .collect()
    }

    fn times(rows: &[Vec<f64>], coefficients: &[f64]) -> Vec<f64> {
        rows.iter()
            .map(|row| row.iter().zip(coefficients).map(|(x, c)| x * c).sum())
            .collect()
    }

    fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (found - expected).abs() <= tolerance * expected.abs().max(1e-18),
                "{found:e} is not {expected:e}"
            );
        }
    }

    #[test]
    fn exact_rows_give_their_coefficients_back() {
        let rows = rows();
        let truth = [3e-5, 4e-11, 2e-10];
        let found = fit(&rows, &times(&rows, &truth));
        assert_close(&found.coefficients, &truth, 1e-9);
        assert!(found.loss < 1e-15);
    }

    #[test]
    fn one_outlier_in_six_moves_nothing_much() {
        let rows = rows();
        let truth = [3e-5, 4e-11, 2e-10];
        let mut times = times(&rows, &truth);
        for (index, time) in times.iter_mut().enumerate() {
            *time *= match index % 6 {
                0 => 8.0,
                _ => 1.0 + 0.02 * f64::from(u8::try_from(index % 5).unwrap()) - 0.04,
            };
        }
        let found = fit(&rows, &times);
        assert_close(&found.coefficients, &truth, 0.15);
        for (index, weight) in found.weights.iter().enumerate() {
            assert_eq!(index % 6 == 0, *weight < 0.3, "{index}: {weight}");
        }
    }

    #[test]
    fn a_rate_that_would_be_negative_is_zero() {
        let rows: Vec<Vec<f64>> = (1..9).map(|i| vec![1.0, f64::from(i)]).collect();
        let falling: Vec<f64> = (1..9).map(|i| 10.0 - f64::from(i)).collect();
        let found = fit(&rows, &falling);
        assert!(found.coefficients[1].abs() < 1e-12 && found.coefficients[0] > 0.0);
    }

    #[test]
    fn columns_that_say_nothing_or_the_same_do_no_harm() {
        let rows: Vec<Vec<f64>> = (1..9)
            .map(|i| vec![f64::from(i), 0.0, 2.0 * f64::from(i), 0.0])
            .collect();
        let times: Vec<f64> = (1..9).map(|i| 5.0 * f64::from(i)).collect();
        let found = fit(&rows, &times).coefficients;
        assert!((found[0] + 2.0 * found[2] - 5.0).abs() < 1e-9, "{found:?}");
        assert!(found[1].abs() < 1e-300 && found[3].abs() < 1e-300);
        let single = fit(&rows[..1], &times[..1]).coefficients;
        assert!(
            (single[0] + 2.0 * single[2] - 5.0).abs() < 1e-9,
            "{single:?}"
        );
    }

    #[test]
    fn medians_are_in_the_middle() {
        assert!((median([3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12);
        assert!((median([4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-12);
        assert!(median([]).abs() < 1e-12);
    }

    proptest! {
        /// The conditions of Karush, Kuhn and Tucker decide whether a point is the minimum, whoever found it.
        #[test]
        fn solutions_are_minima(
            cells in prop::collection::vec(0.0f64..1.0, 12..90),
            columns in 1usize..6,
            repeat in any::<bool>(),
        ) {
            let mut rows: Vec<Vec<f64>> = cells.chunks_exact(columns).map(<[f64]>::to_vec).collect();
            if repeat && columns > 1 {
                for row in &mut rows {
                    row[1] = row[0];
                }
            }
            prop_assume!(!rows.is_empty());
            let ones = vec![1.0; rows.len()];
            let scales = vec![1.0; columns];
            let x = solve(&rows, &scales, &ones, &ones);
            let errors = errors(&rows, &scales, &x);
            for (column, value) in x.iter().enumerate() {
                let gradient: f64 = rows.iter().zip(&errors).map(|(row, e)| row[column] * e).sum();
                prop_assert!(*value >= 0.0);
                prop_assert!(gradient >= -1e-7, "downhill along {column}: {gradient}");
                prop_assert!(*value < 1e-12 || gradient.abs() < 1e-7, "slope at {value}: {gradient}");
            }
        }
    }
}
