//! Measurements of a board: what its files say, with repetitions averaged and everything odd reported.
//!
//! `docs/calibration.md` describes the files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use paracompile_plan::OpClass;

use super::error::{CalibrateError, MixedUnits, Notice};
use super::geometry::{Concluded, Description, Unusable, geometry};
use super::plausible::{Implausible, POWERS, TIMES, UNIT_RATIO, compare_networks};
use super::regression::{median, real, root_mean_square};
use super::sheet::{Row, Sheet, counted_rows};
use crate::ir::Work;
use crate::soc::shown;

const OPERATORS: &str = "op_times.csv";
const GROUPS: &str = "group_times_power.csv";
const IDLE: &str = "power_states.csv";

const TIME: [(&str, f64); 3] = [("time_ms", 1e-3), ("time_us", 1e-6), ("time_s", 1.0)];
const POWER: [(&str, f64); 2] = [("board_power_mW", 1e-3), ("board_power_W", 1.0)];
const IDLE_POWER: [(&str, f64); 4] = [
    ("idle_mW", 1e-3),
    ("idle_W", 1.0),
    ("interlayer_sleep_median_mW", 1e-3),
    ("interlayer_sleep_median_W", 1.0),
];

/// How many lines of one kind a notice names.
const NAMED_LINES: usize = 5;

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

impl Measurements {
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

    /// Reads operators; returns the groups of which one cannot be used.
    #[expect(
        clippy::too_many_lines,
        reason = "one row after the other, and each of its cells may be the end of it"
    )]
    fn read_operators(
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
            let seconds = match columns.time.map(|time| row.quantity(sheet, time)) {
                None | Some(Ok(None)) => None,
                Some(Ok(Some(seconds))) => Some(seconds),
                Some(Err(message)) => {
                    faults.wrong(row, &message);
                    lose();
                    continue;
                }
            };
            if let (Some(seconds), Some(time)) = (seconds, columns.time)
                && !implausible.is_plausible(sheet, row, time, seconds, TIMES)
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

    #[expect(
        clippy::too_many_lines,
        reason = "one row after the other, and each of its cells may be the end of it"
    )]
    fn read_groups(
        &mut self,
        sheet: &Sheet,
        unknown: &BTreeSet<GroupKey>,
        mixed: &mut Vec<MixedUnits>,
    ) -> Result<(), CalibrateError> {
        let [network, processor, group] =
            sheet.columns([&["graph", "network"], &["processor"], &["group"]])?;
        let Some(time) = sheet.scaled(&TIME)? else {
            return Err(missing(sheet, &TIME));
        };
        let power = sheet.scaled(&POWER)?;
        let metric = sheet.column(&["metric"])?;
        let run_columns = [sheet.column(&["run"])?, sheet.column(&["repetition"])?];
        let mut faults = Faults::default();
        let mut implausible = Implausible::default();
        let mut all_powers = Vec::new();
        let mut gathered: BTreeMap<GroupKey, GatheredGroup> = BTreeMap::new();
        // Times and energies of each run of a network, to see how much runs differ.
        let mut runs: BTreeMap<(String, String), BTreeMap<String, Run>> = BTreeMap::new();
        for row in &sheet.rows {
            // Loading inputs and handing out results are not the network's work.
            if row.optional(metric).is_some_and(|metric| metric != "task") {
                continue;
            }
            if row.text(network).is_empty() || row.text(processor).is_empty() {
                faults.wrong(row, "graph or processor is empty");
                continue;
            }
            let Some(group) = group_number(row.text(group)) else {
                faults.wrong(row, "group is no number of a group");
                continue;
            };
            let seconds = match row.quantity(sheet, time) {
                Ok(Some(seconds)) => seconds,
                Ok(None) => {
                    faults.wrong(row, "the time is empty");
                    continue;
                }
                Err(message) => {
                    faults.wrong(row, &message);
                    continue;
                }
            };
            let watts = match power.map(|power| row.quantity(sheet, power)) {
                None | Some(Ok(None)) => None,
                Some(Ok(watts)) => watts,
                Some(Err(message)) => {
                    faults.wrong(row, &message);
                    continue;
                }
            };
            if !implausible.is_plausible(sheet, row, time, seconds, TIMES) {
                continue;
            }
            if let (Some(watts), Some(power)) = (watts, power) {
                if !implausible.is_plausible(sheet, row, power, watts, POWERS) {
                    continue;
                }
                all_powers.push(Repetition {
                    value: watts,
                    line: row.line,
                });
            }
            let [processor, network] =
                [processor, network].map(|column| row.text(column).to_owned());
            let run = run_columns
                .map(|column| row.optional(column).unwrap_or_default())
                .join("/");
            let total = runs
                .entry((processor.clone(), network.clone()))
                .or_default()
                .entry(run.clone())
                .or_default();
            total.groups.insert(group);
            total.seconds += seconds;
            total.joules += seconds * watts.unwrap_or(f64::NAN);
            let gathered = gathered.entry((processor, network, group)).or_default();
            if !gathered.told.insert((run, seconds.to_bits())) {
                faults.repeated.push(row.line);
                continue;
            }
            gathered.times.push(Repetition {
                value: seconds,
                line: row.line,
            });
            gathered.powers.extend(watts);
        }
        implausible.refuse(sheet)?;
        faults.report(sheet, &mut self.notices);
        // The board's power holds its idle power, so even different groups are not that far apart.
        let of_all = || "power of the board".to_owned();
        check_units(&sheet.origin, &all_powers, "W", of_all, mixed);
        let mut spread: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (key, gathered) in gathered {
            let GatheredGroup { times, powers, .. } = gathered;
            check_units(
                &sheet.origin,
                &times,
                "s",
                || format!("group {} of {}", key.2, shown(&key.1)),
                mixed,
            );
            spread
                .entry(key.0.clone())
                .or_default()
                .extend(deviation(&times));
            let measured = Group {
                seconds: mean(times.iter().map(|time| time.value)),
                watts: (!powers.is_empty()).then(|| mean(powers.iter().copied())),
                is_complete: !unknown.contains(&key),
            };
            self.groups.insert(key, measured);
        }
        for (processor, deviations) in spread {
            self.noise.entry(processor).or_default().group = noise(deviations);
        }
        self.add_noise_of_runs(runs);
        Ok(())
    }

    fn add_noise_of_runs(&mut self, runs: BTreeMap<(String, String), BTreeMap<String, Run>>) {
        let mut spread: BTreeMap<String, [Vec<f64>; 2]> = BTreeMap::new();
        for ((processor, _), runs) in runs {
            let most = runs.values().map(|run| run.groups.len()).max().unwrap_or(0);
            let whole: Vec<&Run> = runs
                .values()
                .filter(|run| run.groups.len() == most)
                .collect();
            let [times, energies] = spread.entry(processor).or_default();
            times.extend(relative_deviation(whole.iter().map(|run| run.seconds)));
            energies.extend(relative_deviation(whole.iter().map(|run| run.joules)));
        }
        for (processor, [times, energies]) in spread {
            let noise_of = self.noise.entry(processor).or_default();
            noise_of.network = noise(times);
            noise_of.energy = noise(energies.into_iter().filter(|value| value.is_finite()));
        }
    }

    /// Two files in different units are found by what both measure.
    fn compare_levels(&mut self, operators: &Sheet, mixed: &mut Vec<MixedUnits>) {
        let mut sums: BTreeMap<GroupKey, (f64, u64)> = BTreeMap::new();
        for operator in &self.operators {
            if let (Some(group), Some(seconds)) = (operator.group, operator.seconds) {
                let key = (operator.processor.clone(), operator.network.clone(), group);
                let sum = sums.entry(key).or_insert((0.0, operator.line));
                sum.0 += seconds;
            }
        }
        let apart: Vec<_> = sums
            .into_iter()
            .filter_map(|(key, (sum, line))| {
                let whole = self.groups.get(&key)?.seconds;
                let [small, large] = [sum.min(whole), sum.max(whole)];
                (large > UNIT_RATIO * small).then_some((key, line, sum, whole))
            })
            .collect();
        // One group may be odd; a unit shows in all.
        if let Some(((_, network, group), line, sum, whole)) = apart.first() {
            mixed.push(MixedUnits {
                origin: operators.origin.clone(),
                first: *line,
                small: sum.min(*whole),
                second: *line,
                large: sum.max(*whole),
                unit: "s",
                what: format!(
                    "operators of group {group} of {} against {GROUPS}, and {} more alike",
                    shown(network),
                    counted_rows(apart.len() - 1)
                ),
            });
        }
    }

    /// Groups that were timed and that no operator belongs to: names or numbers of the two files differ.
    fn name_lone_groups(&mut self, sheet: &Sheet, unknown: &BTreeSet<GroupKey>) {
        let members: BTreeSet<GroupKey> = self
            .operators
            .iter()
            .filter_map(|one| Some((one.processor.clone(), one.network.clone(), one.group?)))
            .collect();
        let lone: Vec<String> = self
            .groups
            .keys()
            .filter(|key| !members.contains(*key) && !unknown.contains(*key))
            .map(|(processor, network, group)| {
                format!(
                    "group {group} of {} on {}",
                    shown(network),
                    shown(processor)
                )
            })
            .collect();
        if !lone.is_empty() {
            let more = lone.len().saturating_sub(NAMED_LINES);
            let mut named = lone[..lone.len() - more].join(", ");
            if more > 0 {
                let _ = write!(named, ", and {more} more");
            }
            self.notices.push(Notice::new(
                sheet.origin.clone(),
                format!("no operator of {OPERATORS} belongs to {named}"),
                "not fitted; processor, network and group have to be alike in both files",
            ));
        }
    }

    fn read_idle(&mut self, sheet: &Sheet) -> Result<(), CalibrateError> {
        let Some(power) = sheet.scaled(&IDLE_POWER)? else {
            return Err(missing(sheet, &IDLE_POWER));
        };
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

/// What makes rows repetitions of one operator.
type OperatorKey = (String, String, Option<u32>, String, String, u64);

struct Gathered {
    operator: Operator,
    times: Vec<Repetition>,
    told: Told,
}

#[derive(Default)]
struct GatheredGroup {
    times: Vec<Repetition>,
    powers: Vec<f64>,
    told: Told,
}

/// Runs, each with the bits of a time: numbers that are written alike are equal bit for bit.
type Told = BTreeSet<(String, u64)>;

#[derive(Clone, Copy)]
struct Repetition {
    value: f64,
    line: u64,
}

#[derive(Default)]
struct Run {
    groups: BTreeSet<u32>,
    seconds: f64,
    joules: f64,
}

struct OperatorColumns {
    network: usize,
    processor: usize,
    op_type: usize,
    input: usize,
    output: usize,
    time: Option<super::sheet::Scaled>,
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
        let Some(time) = sheet.scaled(&TIME)? else {
            return Err(missing(sheet, &TIME));
        };
        Ok(Self {
            network,
            processor,
            op_type,
            input,
            output,
            time: Some(time),
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

/// What is wrong with rows, gathered so that a thousand rows make one notice.
#[derive(Default)]
struct Faults {
    wrong: BTreeMap<String, Vec<u64>>,
    unknown_types: BTreeMap<String, Vec<u64>>,
    concluded: BTreeMap<Concluded, Vec<u64>>,
    repeated: Vec<u64>,
}

impl Faults {
    fn wrong(&mut self, row: &Row, message: &str) {
        self.wrong
            .entry(message.to_owned())
            .or_default()
            .push(row.line);
    }

    fn unusable(&mut self, row: &Row, unusable: Unusable) {
        match unusable {
            Unusable::UnknownType(word) => {
                self.unknown_types.entry(word).or_default().push(row.line);
            }
            Unusable::Wrong(message) => self.wrong(row, &message),
        }
    }

    fn report(self, sheet: &Sheet, notices: &mut Vec<Notice>) {
        let mut say = |lines: &[u64], what: String, instead: &str| {
            notices.push(Notice::new(
                sheet.origin.clone(),
                format!("{what} ({})", named(lines)),
                instead,
            ));
        };
        for (message, lines) in &self.wrong {
            say(
                lines,
                message.clone(),
                "left out, with the group that it belongs to",
            );
        }
        for (word, lines) in &self.unknown_types {
            let known: Vec<&str> = OpClass::ALL.into_iter().map(OpClass::name).collect();
            say(
                lines,
                format!(
                    "op_type `{}` is not known; known are pool, dwconv, fc, lrn, batchnorm, reshape, {}",
                    shown(word),
                    known.join(", ")
                ),
                "left out, with the group that it belongs to",
            );
        }
        for (concluded, lines) in &self.concluded {
            let (what, instead) = match concluded {
                Concluded::PoolKind(class) => (
                    "op_type `pool` says no kind".to_owned(),
                    format!("taken as {class} by name and shapes"),
                ),
                Concluded::WindowFromName => (
                    "kh and kw of a pool are empty".to_owned(),
                    "its window read off its name".to_owned(),
                ),
                Concluded::UsualWindow => (
                    "kh and kw of a pool are empty, and its name says no window".to_owned(),
                    "3x3 taken".to_owned(),
                ),
                Concluded::OtherMacs => (
                    "macs is not what the shapes make".to_owned(),
                    "the shapes' count taken".to_owned(),
                ),
            };
            say(lines, what, &instead);
        }
        if !self.repeated.is_empty() {
            say(
                &self.repeated,
                "the row repeats another one of the same run, time included".to_owned(),
                "counted once",
            );
        }
    }
}

/// `line 3` or `12 rows, the first at lines 3, 4, 5, 9, 11`.
fn named(lines: &[u64]) -> String {
    let first: Vec<String> = lines.iter().take(NAMED_LINES).map(u64::to_string).collect();
    match lines.len() {
        1 => format!("line {}", first.join("")),
        count if count <= NAMED_LINES => format!("lines {}", first.join(", ")),
        count => format!(
            "{}, the first at lines {}",
            counted_rows(count),
            first.join(", ")
        ),
    }
}

fn missing(sheet: &Sheet, units: &[(&'static str, f64)]) -> CalibrateError {
    let names: Vec<&'static str> = units.iter().map(|(name, _)| *name).collect();
    match sheet.columns([names.as_slice()]) {
        Err(error) => error,
        Ok(_) => CalibrateError::Empty {
            origin: sheet.origin.clone(),
            what: "quantity",
        },
    }
}

fn check_units(
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

/// An operator as people find it again.
fn described(operator: &Operator) -> String {
    if operator.name.is_empty() {
        format!("{} of {}", operator.class, operator.network)
    } else {
        operator.name.clone()
    }
}

/// The number of a group; programs that keep gaps in a column write its integers as decimals.
fn group_number(text: &str) -> Option<u32> {
    text.strip_suffix(".0").unwrap_or(text).parse().ok()
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().sum::<f64>() / real(values.count().max(1))
}

fn deviation(times: &[Repetition]) -> Option<f64> {
    relative_deviation(times.iter().map(|time| time.value))
}

/// Standard deviation over mean, from two values on.
fn relative_deviation(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let count = values.clone().count();
    let mean = mean(values.clone());
    let squares: f64 = values.map(|value| (value / mean - 1.0).powi(2)).sum();
    (count > 1).then(|| (squares / real(count - 1)).sqrt())
}

fn noise(deviations: impl IntoIterator<Item = f64>) -> Option<f64> {
    let deviations: Vec<f64> = deviations.into_iter().collect();
    (!deviations.is_empty()).then(|| root_mean_square(deviations))
}
