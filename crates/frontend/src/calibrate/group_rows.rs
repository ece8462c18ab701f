//! Rows of groups: times and powers of the same group averaged, held against those of its operators.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::error::{CalibrateError, MixedUnits, Notice};
use super::faults::{Faults, NAMED_LINES};
use super::measurement::{
    GROUPS, Group, GroupKey, Measurements, OPERATORS, POWER, TIME, group_number,
};
use super::plausible::{Implausible, POWERS, TIMES, UNIT_RATIO};
use super::repetition::{
    Repetition, Told, check_units, deviation, mean, noise, relative_deviation,
};
use super::sheet::{Sheet, counted_rows};
use crate::soc::shown;

impl Measurements {
    #[expect(
        clippy::too_many_lines,
        reason = "one row after the other, and each of its cells may be the end of it"
    )]
    pub(super) fn read_groups(
        &mut self,
        sheet: &Sheet,
        unknown: &BTreeSet<GroupKey>,
        mixed: &mut Vec<MixedUnits>,
    ) -> Result<(), CalibrateError> {
        let [network, processor, group] =
            sheet.columns([&["graph", "network"], &["processor"], &["group"]])?;
        let time = sheet.required(&TIME)?;
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
    pub(super) fn compare_levels(&mut self, operators: &Sheet, mixed: &mut Vec<MixedUnits>) {
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
    pub(super) fn name_lone_groups(&mut self, sheet: &Sheet, unknown: &BTreeSet<GroupKey>) {
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
}

#[derive(Default)]
struct GatheredGroup {
    times: Vec<Repetition>,
    powers: Vec<f64>,
    told: Told,
}

#[derive(Default)]
struct Run {
    groups: BTreeSet<u32>,
    seconds: f64,
    joules: f64,
}
