//! What makes figures of a measurement doubtful, and what plans made of them will be off by, as sentences.

use super::contention::MeasuredContention;
use super::run::{MeasuredTask, ProfileReport};
use super::statistics::{median, real};

/// Processors of one chip seldom slow each other by more than this.
const DOUBTFUL: f64 = 2.0;
/// Of the cores, how many others may keep busy.
const QUIET: f64 = 0.25;
/// Of the time of a task, what a wait may take until plans that split a network are noticeably off.
const SHORT: f64 = 0.1;
/// How many names are told; the others are counted.
const NAMED: usize = 5;

/// Says so if other programs keep the machine busy; where the system does not tell, nothing.
pub fn other_load() -> Option<String> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    let load = text.split_whitespace().next()?.parse().ok()?;
    let cores = std::thread::available_parallelism().ok()?;
    load_notice(load, cores.get())
}

fn load_notice(load: f64, cores: usize) -> Option<String> {
    (load > QUIET * real(cores)).then(|| {
        let cores = if cores == 1 { "core".to_owned() } else { format!("{cores} cores") };
        format!(
            "other programs keep this machine busy (load {load:.1} on {cores}): times and contention will be too large; measure on a machine that does nothing else"
        )
    })
}

/// What of the contention cannot be that of processors alone.
pub(super) fn contention(measured: &[MeasuredContention]) -> Option<String> {
    let factors = measured.iter().flat_map(|together| &together.factors);
    let largest = factors.copied().fold(0.0, f64::max);
    (largest > DOUBTFUL).then(|| {
        format!(
            "a contention of x{largest:.2} is more than processors cost each other: contention measured on a machine with other work is too large by any factor; measure again when nothing else runs"
        )
    })
}

/// Waits that are long beside the tasks between which they stand.
pub(super) fn waits(report: &ProfileReport) -> Vec<String> {
    let notices = report.hops.iter().filter_map(|(one, other, wait)| {
        let is_theirs = |task: &&MeasuredTask| task.processor == *one || task.processor == *other;
        let tasks = report.tasks.iter().filter(is_theirs);
        let times = tasks.flat_map(|task| std::iter::repeat_n(task.seconds.median, task.occurrences));
        let task = median(&times.collect::<Vec<_>>())?;
        (*wait > SHORT * task).then(|| {
            format!(
                "a wait between {one} and {other} takes {:.0}% of the median task: plans that split such a network over both will be slower than predicted",
                100.0 * wait / task
            )
        })
    });
    notices.collect()
}

/// What an interrupt left unmeasured: tasks on processors, or only what comes behind them.
pub(super) fn interrupted(missing: &[String], all: usize) -> String {
    if missing.is_empty() {
        return "the measurement was interrupted: power, contention or sharing is missing"
            .to_owned();
    }
    let shown = missing.iter().take(NAMED).map(String::as_str);
    let mut shown: Vec<&str> = shown.collect();
    let more = missing.len().saturating_sub(NAMED);
    let more = format!("{more} more");
    if missing.len() > NAMED {
        shown.push(&more);
    }
    let verb = if missing.len() == 1 { "is" } else { "are" };
    format!(
        "the measurement was interrupted: {} of {all} tasks {verb} not measured, which plans will estimate ({}), nor are contention and sharing",
        missing.len(),
        shown.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_may_take_a_quarter_of_the_cores() {
        assert_eq!(load_notice(0.5, 2), None);
        let told = load_notice(1.3, 2).unwrap();
        assert!(told.starts_with("other programs keep this machine busy (load 1.3 on 2 cores)"));
    }

    #[test]
    fn a_factor_that_processors_cannot_have_is_told() {
        let of = |factors: [f64; 2]| {
            let set = vec!["a".to_owned(), "b".to_owned()];
            contention(&[MeasuredContention {
                set,
                factors: factors.to_vec(),
            }])
        };
        assert_eq!(of([1.0, 1.9]), None);
        assert!(of([1.0, 2.4]).unwrap().contains("x2.40"));
    }

    #[test]
    fn what_is_not_measured_is_counted_and_named() {
        let names: Vec<String> = (0..7).map(|index| format!("t{index} on a")).collect();
        assert_eq!(
            interrupted(&names, 9),
            "the measurement was interrupted: 7 of 9 tasks are not measured, which plans will estimate (t0 on a, t1 on a, t2 on a, t3 on a, t4 on a, 2 more), nor are contention and sharing"
        );
        assert!(interrupted(&names[..1], 9).contains("1 of 9 tasks is not"));
        assert!(interrupted(&[], 9).contains("power, contention or sharing"));
    }
}
