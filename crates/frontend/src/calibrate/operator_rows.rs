//! Rows of operators: times of the same operator averaged, and what cannot be used named.

use std::collections::{BTreeMap, BTreeSet};

use super::error::{CalibrateError, MixedUnits};
use super::faults::Faults;
use super::geometry::{Description, geometry};
use super::measurement::{GroupKey, Measurements, Operator, TIME, group_number};
use super::plausible::{Implausible, TIMES};
use super::repetition::{Repetition, Told, check_units, deviation, mean, noise};
use super::sheet::{Row, Scaled, Sheet};

impl Measurements {
    /// Reads operators; returns the groups of which one cannot be used.
    #[expect(
        clippy::too_many_lines,
        reason = "one row after the other, and each of its cells may be the end of it"
    )]
    pub(super) fn read_operators(
        &mut self,
        sheet: &Sheet,
        mixed: &mut Vec<MixedUnits>,
    ) -> Result<BTreeSet<GroupKey>, CalibrateError> {
        let columns = OperatorColumns::of(sheet)?;
        let mut gathered: BTreeMap<OperatorKey, Gathered> = BTreeMap::new();
        let mut order = Vec::new();
        let mut unknown = BTreeSet::new();
        let mut faults = Faults::default();
        let mut implausible = Implausible::default();
        for row in &sheet.rows {
            let [network, processor] =
                [columns.network, columns.processor].map(|column| row.text(column).to_owned());
            if network.is_empty() || processor.is_empty() {
                faults.wrong(row, "graph or processor is empty");
                continue;
            }
            let group = match row.optional(columns.group).map(group_number) {
                None => None,
                Some(Some(group)) => Some(group),
                Some(None) => {
                    faults.wrong(row, "group is no number of a group");
                    continue;
                }
            };
            let mut lose = || {
                if let Some(group) = group {
                    unknown.insert((processor.clone(), network.clone(), group));
                }
            };
            let found = match geometry(&columns.described(row)) {
                Ok(found) => found,
                Err(unusable) => {
                    lose();
                    faults.unusable(row, unusable);
                    continue;
                }
            };
            let seconds = match row.quantity(sheet, columns.time) {
                Ok(seconds) => seconds,
                Err(message) => {
                    faults.wrong(row, &message);
                    lose();
                    continue;
                }
            };
            if let Some(seconds) = seconds
                && !implausible.is_plausible(sheet, row, columns.time, seconds, TIMES)
            {
                continue;
            }
            for concluded in found.concluded {
                faults
                    .concluded
                    .entry(concluded)
                    .or_default()
                    .push(row.line);
            }
            let [index, name] = [columns.index, columns.name]
                .map(|column| row.optional(column).unwrap_or_default().to_owned());
            // Without a name nobody knows what is a repetition, so every row is its own.
            let anonymous = if index.is_empty() && name.is_empty() {
                row.line
            } else {
                0
            };
            let key = (
                processor.clone(),
                network.clone(),
                group,
                index,
                name.clone(),
                anonymous,
            );
            let run = columns.run(row);
            let gathered = gathered.entry(key.clone()).or_insert_with(|| {
                order.push(key);
                Gathered {
                    operator: Operator {
                        network,
                        processor,
                        group,
                        name,
                        class: found.class,
                        work: found.work,
                        seconds: None,
                        repetitions: 0,
                        line: row.line,
                    },
                    times: Vec::new(),
                    told: BTreeSet::new(),
                }
            });
            if gathered.operator.work != found.work {
                faults.wrong(
                    row,
                    "another operator has this index and name in the same network",
                );
                continue;
            }
            if let Some(seconds) = seconds {
                if !gathered.told.insert((run, seconds.to_bits())) {
                    faults.repeated.push(row.line);
                    continue;
                }
                gathered.times.push(Repetition {
                    value: seconds,
                    line: row.line,
                });
            }
        }
        implausible.refuse(sheet)?;
        faults.report(sheet, &mut self.notices);
        let mut spread: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for key in order {
            let Some(Gathered {
                mut operator,
                times,
                told: _,
            }) = gathered.remove(&key)
            else {
                continue;
            };
            check_units(&sheet.origin, &times, "s", || described(&operator), mixed);
            if !times.is_empty() {
                operator.seconds = Some(mean(times.iter().map(|time| time.value)));
                operator.repetitions = times.len();
                spread
                    .entry(operator.processor.clone())
                    .or_default()
                    .extend(deviation(&times));
            }
            self.operators.push(operator);
        }
        for (processor, deviations) in spread {
            self.noise.entry(processor).or_default().operator = noise(deviations);
        }
        Ok(unknown)
    }
}

/// What makes rows repetitions of one operator.
type OperatorKey = (String, String, Option<u32>, String, String, u64);

struct Gathered {
    operator: Operator,
    times: Vec<Repetition>,
    told: Told,
}

struct OperatorColumns {
    network: usize,
    processor: usize,
    op_type: usize,
    input: usize,
    output: usize,
    time: Scaled,
    run: [Option<usize>; 2],
    group: Option<usize>,
    index: Option<usize>,
    name: Option<usize>,
    kernel: [Option<usize>; 2],
    groups: Option<usize>,
    stride: Option<usize>,
    dilation: Option<usize>,
    macs: Option<usize>,
}

impl OperatorColumns {
    fn of(sheet: &Sheet) -> Result<Self, CalibrateError> {
        let [network, processor, op_type, input, output] = sheet.columns([
            &["graph", "network"],
            &["processor"],
            &["op_type"],
            &["in_shape_CHW"],
            &["out_shape_CHW"],
        ])?;
        Ok(Self {
            network,
            processor,
            op_type,
            input,
            output,
            time: sheet.required(&TIME)?,
            run: [sheet.column(&["run"])?, sheet.column(&["repetition"])?],
            group: sheet.column(&["group"])?,
            index: sheet.column(&["op_index"])?,
            name: sheet.column(&["op_name"])?,
            kernel: [sheet.column(&["kh"])?, sheet.column(&["kw"])?],
            groups: sheet.column(&["groups"])?,
            stride: sheet.column(&["stride"])?,
            dilation: sheet.column(&["dilation"])?,
            macs: sheet.column(&["macs"])?,
        })
    }

    fn described<'a>(&self, row: &'a Row) -> Description<'a> {
        Description {
            name: row.optional(self.name).unwrap_or_default(),
            op_type: row.text(self.op_type),
            input: row.text(self.input),
            output: row.text(self.output),
            kernel: self.kernel.map(|column| row.optional(column)),
            groups: row.optional(self.groups),
            stride: row.optional(self.stride),
            dilation: row.optional(self.dilation),
            macs: row.optional(self.macs),
        }
    }

    fn run(&self, row: &Row) -> String {
        self.run
            .map(|column| row.optional(column).unwrap_or_default())
            .join("/")
    }
}

/// An operator as people find it again.
fn described(operator: &Operator) -> String {
    if operator.name.is_empty() {
        format!("{} of {}", operator.class, operator.network)
    } else {
        operator.name.clone()
    }
}
