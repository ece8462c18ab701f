//! Dynamic power by a regression over utilisation.
//!
//! While a group of operators runs, the board draws its idle power, a constant of the busy processor, and so much for each billion operations a second.
//! The meter lags: a short group reads low, as if power rose exponentially from idle, so groups are compared with what the meter would show.

use std::collections::BTreeMap;

use paracompile_plan::OpClass;

use super::group::{Family, family};
use super::measurement::{GroupKey, Measurements, Operator};
use super::recipe::{ClassFit, round};
use super::regression::{fit, root_mean_square};

/// Groups that a coefficient needs.
const LEAST_GROUPS: usize = 4;

/// How fast the meter follows, in seconds: with this one, energies of left-out networks came out best on all three processors of the VIM3.
pub(super) const RISE: f64 = 0.002;

/// Power of a busy processor above the idle board.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PowerFit {
    /// Watts whenever it is busy.
    pub(super) constant: f64,
    /// Watts for each 10⁹ operations a second.
    pub(super) per_gigaflops: f64,
    /// Groups that it was found on.
    pub(super) groups: usize,
    /// Root mean square of relative errors of the whole board's power over these groups.
    pub(super) error: f64,
    /// Watts above idle while an operator of the class runs.
    pub(super) by_class: BTreeMap<OpClass, f64>,
}

/// The part of the power above idle that the meter shows as the mean over `seconds` that begin at idle.
pub(super) fn shown_part(seconds: f64) -> f64 {
    let lags = seconds / RISE;
    if lags > 0.0 {
        1.0 - (1.0 - (-lags).exp()) / lags
    } else {
        0.0
    }
}

/// The power of a processor, where enough groups have one.
pub(super) fn fit_power(
    measured: &Measurements,
    processor: &str,
    models: &BTreeMap<OpClass, ClassFit>,
    idle: f64,
) -> Option<PowerFit> {
    let mut operations: BTreeMap<GroupKey, f64> = BTreeMap::new();
    for operator in measured.operators_of(processor) {
        if let Some(group) = operator.group {
            let key = (processor.to_owned(), operator.network.clone(), group);
            *operations.entry(key).or_default() += gigaflops(operator);
        }
    }
    // Energies above idle, so that a group counts by how long it takes.
    let groups: Vec<(f64, f64, f64)> = operations
        .into_iter()
        .filter_map(|(key, operations)| {
            let group = measured.groups.get(&key)?;
            let above = group.watts? - idle;
            // A group that reads below idle was not seen by the meter at all.
            (above > 0.0 && group.is_complete).then_some((group.seconds, above, operations))
        })
        .collect();
    if groups.len() < LEAST_GROUPS {
        return None;
    }
    let rows: Vec<Vec<f64>> = groups
        .iter()
        .map(|&(seconds, _, operations)| {
            let part = shown_part(seconds);
            vec![part * seconds, part * operations]
        })
        .collect();
    let joules: Vec<f64> = groups
        .iter()
        .map(|(seconds, above, _)| seconds * above)
        .collect();
    let found = fit(&rows, &joules).coefficients;
    let errors = rows.iter().zip(&groups).map(|(row, (seconds, above, _))| {
        let predicted = (row[0] * found[0] + row[1] * found[1]) / seconds;
        (predicted + idle) / (above + idle) - 1.0
    });
    let speeds = speeds(measured, processor, models);
    let product = speeds.get(&OpClass::Conv).copied().unwrap_or(0.0);
    let by_class = OpClass::ALL
        .into_iter()
        .map(|class| {
            let guessed = match family(class) {
                Family::Product => product,
                Family::FullyConnected | Family::Streaming => 0.0,
            };
            let speed = speeds.get(&class).copied().unwrap_or(guessed);
            (class, round(found[0] + found[1] * speed))
        })
        .collect();
    Some(PowerFit {
        constant: round(found[0]),
        per_gigaflops: round(found[1]),
        groups: groups.len(),
        error: root_mean_square(errors),
        by_class,
    })
}

/// Billions of operations a second of each measured class, as far as they are multiplications and additions.
fn speeds(
    measured: &Measurements,
    processor: &str,
    models: &BTreeMap<OpClass, ClassFit>,
) -> BTreeMap<OpClass, f64> {
    let mut sums: BTreeMap<OpClass, (f64, f64)> = BTreeMap::new();
    for operator in measured.operators_of(processor) {
        let predicted = || {
            models
                .get(&operator.class)
                .map(|model| model.seconds(&operator.work))
        };
        if let Some(seconds) = operator.seconds.or_else(predicted) {
            let sum = sums.entry(operator.class).or_default();
            sum.0 += gigaflops(operator);
            sum.1 += seconds;
        }
    }
    sums.into_iter()
        .filter(|(_, (_, seconds))| *seconds > 0.0)
        .map(|(class, (operations, seconds))| (class, operations / seconds))
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "powers are known to two digits")]
fn gigaflops(operator: &Operator) -> f64 {
    2e-9 * operator.work.macs as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meter_shows_little_of_a_short_group_and_all_of_a_long_one() {
        assert!(shown_part(0.0).abs() < 1e-12);
        assert!(shown_part(0.1 * RISE) < 0.06);
        assert!((shown_part(RISE) - (-1.0f64).exp()).abs() < 1e-12);
        assert!(shown_part(100.0 * RISE) > 0.98);
    }
}
