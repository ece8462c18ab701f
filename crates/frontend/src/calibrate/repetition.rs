//! Repetitions of a measurement: how much they differ, and whether by a factor of a unit.

use std::collections::BTreeSet;

use super::error::MixedUnits;
use super::plausible::UNIT_RATIO;
use super::regression::{real, root_mean_square};
use crate::soc::shown;

/// Runs, each with the bits of a time: numbers that are written alike are equal bit for bit.
pub(super) type Told = BTreeSet<(String, u64)>;

#[derive(Clone, Copy)]
pub(super) struct Repetition {
    pub(super) value: f64,
    pub(super) line: u64,
}

pub(super) fn check_units(
    origin: &str,
    times: &[Repetition],
    unit: &'static str,
    what: impl FnOnce() -> String,
    mixed: &mut Vec<MixedUnits>,
) {
    let by_time = |a: &&Repetition, b: &&Repetition| a.value.total_cmp(&b.value);
    let (Some(least), Some(most)) = (times.iter().min_by(by_time), times.iter().max_by(by_time))
    else {
        return;
    };
    if most.value > UNIT_RATIO * least.value && mixed.len() < 20 {
        mixed.push(MixedUnits {
            origin: origin.to_owned(),
            first: least.line,
            small: least.value,
            second: most.line,
            large: most.value,
            unit,
            what: shown(&what()),
        });
    }
}

pub(super) fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().sum::<f64>() / real(values.count().max(1))
}

pub(super) fn deviation(times: &[Repetition]) -> Option<f64> {
    relative_deviation(times.iter().map(|time| time.value))
}

/// Standard deviation over mean, from two values on.
pub(super) fn relative_deviation(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let count = values.clone().count();
    let mean = mean(values.clone());
    let squares: f64 = values.map(|value| (value / mean - 1.0).powi(2)).sum();
    (count > 1).then(|| (squares / real(count - 1)).sqrt())
}

pub(super) fn noise(deviations: impl IntoIterator<Item = f64>) -> Option<f64> {
    let deviations: Vec<f64> = deviations.into_iter().collect();
    (!deviations.is_empty()).then(|| root_mean_square(deviations))
}
