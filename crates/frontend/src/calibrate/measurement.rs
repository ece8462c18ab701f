//! Measurements of a board: what its files say, with repetitions averaged and everything odd reported.
//!
//! `docs/calibration.md` describes the files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use paracompile_plan::OpClass;

use super::error::{CalibrateError, Notice};
use super::faults::Faults;
use super::plausible::{Implausible, POWERS, compare_networks};
use super::regression::median;
use super::sheet::Sheet;
use crate::ir::Work;

pub(super) const OPERATORS: &str = "op_times.csv";
pub(super) const GROUPS: &str = "group_times_power.csv";
const IDLE: &str = "power_states.csv";

pub(super) const TIME: [(&str, f64); 3] = [("time_ms", 1e-3), ("time_us", 1e-6), ("time_s", 1.0)];
pub(super) const POWER: [(&str, f64); 2] = [("board_power_mW", 1e-3), ("board_power_W", 1.0)];
const IDLE_POWER: [(&str, f64); 4] = [
    ("idle_mW", 1e-3),
    ("idle_W", 1.0),
    ("interlayer_sleep_median_mW", 1e-3),
    ("interlayer_sleep_median_W", 1.0),
];

/// What was measured on a board, checked and averaged.
#[derive(Clone, Debug, Default)]
pub struct Measurements {
    /// Operators in the order of their first appearance.
    pub(super) operators: Vec<Operator>,
    /// Groups of operators, sorted.
    pub(super) groups: BTreeMap<GroupKey, Group>,
    /// Power of the board while nothing runs.
    pub(super) idle: Option<f64>,
    /// How much repetitions differ, by processor.
    pub(super) noise: BTreeMap<String, Noise>,
    /// What is missing or odd, and what was done instead.
    pub notices: Vec<Notice>,
}

/// An operator of a network on a processor.
#[derive(Clone, Debug)]
pub(super) struct Operator {
    pub(super) network: String,
    pub(super) processor: String,
    pub(super) group: Option<u32>,
    pub(super) name: String,
    pub(super) class: OpClass,
    pub(super) work: Work,
    /// Mean over repetitions, in seconds; `None` where only its group was timed.
    pub(super) seconds: Option<f64>,
    /// How many repetitions there were.
    pub(super) repetitions: usize,
    /// Line of its first row.
    pub(super) line: u64,
}

/// Processor, network and group.
pub(super) type GroupKey = (String, String, u32);

/// A group of operators that was timed as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// Mean over repetitions.
    pub(super) seconds: f64,
    /// Mean power of the whole board meanwhile.
    pub(super) watts: Option<f64>,
    /// Whether all of its operators are known.
    pub(super) is_complete: bool,
}

/// Relative standard deviations between repetitions: what no model can predict.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Noise {
    pub(super) operator: Option<f64>,
    pub(super) group: Option<f64>,
    pub(super) network: Option<f64>,
    pub(super) energy: Option<f64>,
}

/// An operator that was timed by a program of ours, which knows what it does.
#[derive(Clone, Debug)]
pub struct TimedOperator {
    /// The network that it is of.
    pub network: String,
    /// The processor's name in the profile.
    pub processor: String,
    /// Its own name.
    pub name: String,
    /// Its class.
    pub class: OpClass,
    /// What it does.
    pub work: Work,
    /// How long it takes; what takes no time tells nothing and is left out.
    pub seconds: f64,
    /// Samples behind that time.
    pub repetitions: usize,
}

impl Measurements {
    /// The same measurements without files: each row an operator of its own.
    pub fn of_operators(rows: impl IntoIterator<Item = TimedOperator>) -> Self {
        let timed = rows.into_iter().zip(1..);
        let timed = timed.filter(|(row, _)| row.seconds > 0.0 && row.seconds.is_finite());
        Self {
            operators: timed
                .map(|(row, line)| Operator {
                    network: row.network,
                    processor: row.processor,
                    group: None,
                    name: row.name,
                    class: row.class,
                    work: row.work,
                    seconds: Some(row.seconds),
                    repetitions: row.repetitions,
                    line,
                })
                .collect(),
            ..Self::default()
        }
    }

    /// Reads a directory of measurements: `op_times.csv`, and where there are any `group_times_power.csv` and `power_states.csv`.
    pub fn read(directory: &Path) -> Result<Self, CalibrateError> {
        let mut notices = Vec::new();
        let operators = Sheet::read(&directory.join(OPERATORS), "operator", &mut notices)?;
        let mut optional = |name: &str, what, without: &str| {
            let path = directory.join(name);
            if path.exists() {
                return Sheet::read(&path, what, &mut notices).map(Some);
            }
            notices.push(Notice::new(
                path.display().to_string(),
                "there is no such file",
                without,
            ));
            Ok(None)
        };
        let groups = optional(
            GROUPS,
            "group",
            "powers are those of the base profile, and processors need operator times",
        )?;
        let idle = optional(
            IDLE,
            "state",
            "the base profile's `board.base_w` counts as idle",
        )?;
        Self::from_sheets(&operators, groups.as_ref(), idle.as_ref(), notices)
    }

    /// The measurements that these tables hold.
    pub(super) fn from_sheets(
        operators: &Sheet,
        groups: Option<&Sheet>,
        idle: Option<&Sheet>,
        notices: Vec<Notice>,
    ) -> Result<Self, CalibrateError> {
        let mut all = Self {
            notices,
            ..Self::default()
        };
        let mut mixed = Vec::new();
        let unknown = all.read_operators(operators, &mut mixed)?;
        compare_networks(
            &all.operators,
            &operators.origin,
            &mut mixed,
            &mut all.notices,
        );
        if let Some(sheet) = groups {
            all.read_groups(sheet, &unknown, &mut mixed)?;
            all.name_lone_groups(sheet, &unknown);
            all.compare_levels(operators, &mut mixed);
        }
        if !mixed.is_empty() {
            return Err(CalibrateError::MixedUnits(mixed));
        }
        if let Some(sheet) = idle {
            all.read_idle(sheet)?;
        }
        if all.operators.is_empty() {
            return Err(CalibrateError::NothingUsable {
                origin: operators.origin.clone(),
                notices: all.notices,
            });
        }
        Ok(all)
    }

    /// Names of the measured processors, sorted.
    pub fn processors(&self) -> BTreeSet<String> {
        let operators = self
            .operators
            .iter()
            .map(|operator| operator.processor.clone());
        operators
            .chain(
                self.groups
                    .keys()
                    .map(|(processor, _, _)| processor.clone()),
            )
            .collect()
    }

    /// The same with other names of processors: of each pair the first becomes the second.
    pub fn renamed(mut self, names: &BTreeMap<String, String>) -> Result<Self, CalibrateError> {
        let known = self.processors();
        if let Some(name) = names.keys().find(|name| !known.contains(*name)) {
            return Err(CalibrateError::RenamedNothing {
                name: name.clone(),
                known: known.into_iter().collect(),
            });
        }
        let renamed = |name: &String| names.get(name).unwrap_or(name).clone();
        let mut taken: BTreeMap<String, String> = BTreeMap::new();
        for name in known {
            if let Some(first) = taken.insert(renamed(&name), name.clone()) {
                let name_of_both = renamed(&name);
                return Err(CalibrateError::RenamedTogether {
                    first,
                    second: name,
                    name: name_of_both,
                });
            }
        }
        for operator in &mut self.operators {
            operator.processor = renamed(&operator.processor);
        }
        self.groups = self
            .groups
            .into_iter()
            .map(|((processor, network, group), measured)| {
                ((renamed(&processor), network, group), measured)
            })
            .collect();
        self.noise = self
            .noise
            .into_iter()
            .map(|(name, noise)| (renamed(&name), noise))
            .collect();
        Ok(self)
    }

    /// What was measured on one processor, without one network.
    pub(super) fn without(&self, network: &str) -> Self {
        Self {
            operators: self
                .operators
                .iter()
                .filter(|operator| operator.network != network)
                .cloned()
                .collect(),
            groups: self
                .groups
                .iter()
                .filter(|((_, of, _), _)| of != network)
                .map(|(key, group)| (key.clone(), *group))
                .collect(),
            idle: self.idle,
            noise: BTreeMap::new(),
            notices: Vec::new(),
        }
    }

    /// The operators of a processor.
    pub(super) fn operators_of<'a>(
        &'a self,
        processor: &'a str,
    ) -> impl Iterator<Item = &'a Operator> + Clone {
        self.operators
            .iter()
            .filter(move |operator| operator.processor == processor)
    }

    /// Whether single operators were timed on the processor, and not groups alone.
    pub(super) fn times_operators(&self, processor: &str) -> bool {
        self.operators_of(processor)
            .any(|operator| operator.seconds.is_some())
    }

    fn read_idle(&mut self, sheet: &Sheet) -> Result<(), CalibrateError> {
        let power = sheet.required(&IDLE_POWER)?;
        let mut faults = Faults::default();
        let mut implausible = Implausible::default();
        let mut powers = Vec::new();
        for row in &sheet.rows {
            match row.quantity(sheet, power) {
                Ok(Some(watts)) => {
                    if implausible.is_plausible(sheet, row, power, watts, POWERS) {
                        powers.push(watts);
                    }
                }
                Ok(None) => {}
                Err(message) => faults.wrong(row, &message),
            }
        }
        implausible.refuse(sheet)?;
        faults.report(sheet, &mut self.notices);
        self.idle = (!powers.is_empty()).then(|| median(powers));
        Ok(())
    }
}

/// The number of a group; programs that keep gaps in a column write its integers as decimals.
pub(super) fn group_number(text: &str) -> Option<u32> {
    text.strip_suffix(".0").unwrap_or(text).parse().ok()
}
