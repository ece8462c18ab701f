//! Values that no board shows: what a wrong unit makes of times and powers.
//!
//! A profile bounds its numbers, so what lies outside is refused where it was read and not where it would be written.
//! Units are told by size alone; whether a plausible value is right is not judged here.

use std::collections::BTreeMap;

use paracompile_plan::OpClass;

use super::error::{CalibrateError, MixedUnits, Notice};
use super::measurement::Operator;
use super::regression::median;
use super::sheet::{Row, Scaled, Sheet};
use crate::soc::shown;

/// Values of one quantity that differ more than this are in different units: no board is that unsteady.
pub(super) const UNIT_RATIO: f64 = 300.0;
/// One operator differs less than this between networks on one processor.
const NETWORK_RATIO: f64 = 30.0;
/// So many operators in common tell that a network is in another unit, and not that an operator is odd.
const ENOUGH_SHARED: usize = 3;
/// How many values or networks an error names.
const NAMED: usize = 5;

/// What a quantity can be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    least: f64,
    most: f64,
    unit: &'static str,
}

/// From a clock cycle or so to a quarter of an hour for one operator or group.
pub(super) const TIMES: Limits = Limits {
    least: 1e-9,
    most: 1e3,
    unit: "s",
};

/// Of a whole board, from one that sleeps to more than any socket's fuse likes.
pub(super) const POWERS: Limits = Limits {
    least: 1e-6,
    most: 1e3,
    unit: "W",
};

/// Implausible values, gathered.
#[derive(Debug, Default)]
pub(super) struct Implausible {
    values: Vec<String>,
    more: usize,
}

impl Implausible {
    /// Whether the value lies within the limits; if not, that is kept.
    pub(super) fn is_plausible(
        &mut self,
        sheet: &Sheet,
        row: &Row,
        scaled: Scaled,
        value: f64,
        limits: Limits,
    ) -> bool {
        if (limits.least..=limits.most).contains(&value) {
            return true;
        }
        if self.values.len() == NAMED {
            self.more += 1;
            return false;
        }
        let column = sheet.name(scaled.column);
        let (than, limit) = if value < limits.least {
            ("less", limits.least)
        } else {
            ("more", limits.most)
        };
        let (stem, unit) = column.rsplit_once('_').unwrap_or(("", &column));
        let unit = match unit {
            "mW" => "milliwatts",
            "W" => "watts",
            "ms" => "milliseconds",
            "us" => "microseconds",
            "s" => "seconds",
            _ => stem,
        };
        self.values.push(format!(
            "line {}: {column} is {}, {than} than {limit:?} {}; is {column} in {unit}?",
            row.line,
            shown(row.text(scaled.column)),
            limits.unit
        ));
        false
    }

    /// An error where there was one.
    pub(super) fn refuse(self, sheet: &Sheet) -> Result<(), CalibrateError> {
        if self.values.is_empty() {
            return Ok(());
        }
        Err(CalibrateError::Implausible {
            origin: sheet.origin.clone(),
            count: self.values.len() + self.more,
            values: self.values,
        })
    }
}

/// Networks whose times of operators differ from other networks' times of the same operators by a factor of a unit; those with few in common are named alone.
pub(super) fn compare_networks(
    operators: &[Operator],
    origin: &str,
    mixed: &mut Vec<MixedUnits>,
    notices: &mut Vec<Notice>,
) {
    type Ratio<'a> = (f64, &'a Operator, &'a Operator);
    type Key<'a> = (&'a str, OpClass, String);
    let mut alike: BTreeMap<Key<'_>, BTreeMap<&str, &Operator>> = BTreeMap::new();
    for operator in operators.iter().filter(|one| one.seconds.is_some()) {
        let key = (
            operator.processor.as_str(),
            operator.class,
            format!("{:?}", operator.work),
        );
        alike
            .entry(key)
            .or_default()
            .entry(&operator.network)
            .or_insert(operator);
    }
    let seconds = |operator: &Operator| operator.seconds.unwrap_or(f64::NAN);
    // Each with the ratio of its time to the usual one, by processor and network.
    let mut ratios: BTreeMap<(&str, &str), Vec<Ratio<'_>>> = BTreeMap::new();
    for ((processor, _, _), networks) in alike.into_iter().filter(|(_, all)| all.len() > 1) {
        let mut sorted: Vec<&Operator> = networks.into_values().collect();
        sorted.sort_by(|a, b| seconds(a).total_cmp(&seconds(b)));
        let usual = sorted[(sorted.len() - 1) / 2];
        for operator in sorted {
            ratios
                .entry((processor, operator.network.as_str()))
                .or_default()
                .push((seconds(operator) / seconds(usual), operator, usual));
        }
    }
    for ((processor, network), found) in ratios {
        let ratio = median(
            found
                .iter()
                .map(|(ratio, _, _)| *ratio)
                .collect::<Vec<f64>>(),
        );
        if (1.0 / NETWORK_RATIO..=NETWORK_RATIO).contains(&ratio) {
            continue;
        }
        let Some((_, odd, usual)) = found
            .iter()
            .find(|(one, _, _)| !(1.0 / NETWORK_RATIO..=NETWORK_RATIO).contains(one))
        else {
            continue;
        };
        if found.len() < ENOUGH_SHARED {
            notices.push(Notice::new(
                format!("{origin}:{}", odd.line),
                format!(
                    "network {} on {} takes {ratio:.3e} times as long for an operator as {} at line {}",
                    shown(network),
                    shown(processor),
                    shown(&usual.network),
                    usual.line
                ),
                "taken as it is; check the unit",
            ));
        } else if mixed.len() < NAMED {
            let (small, large) = if seconds(odd) < seconds(usual) {
                (odd, usual)
            } else {
                (usual, odd)
            };
            mixed.push(MixedUnits {
                origin: origin.to_owned(),
                first: small.line,
                small: seconds(small),
                second: large.line,
                large: seconds(large),
                unit: "s",
                what: format!(
                    "the same operator; network {} on {} takes {ratio:.3e} times as long as other networks for the {} operators that it shares with them",
                    shown(network),
                    shown(processor),
                    found.len()
                ),
            });
        }
    }
}
