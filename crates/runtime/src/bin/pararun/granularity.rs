//! What `pararun schedule` says of granularity: candidates, what was fused, and why.

use std::fmt::Write;

use paracompile_plan::counted;
use paracompile_runtime::schedule::{Candidate, Granularity, Granulated, Level, Report, Rule};
use paracompile_runtime::users::KernelProgram;
use serde::Serialize;

use crate::args::{GranularityName, PolicyName, ScheduleArgs};
use crate::failure::{Failure, Kind};
use crate::schedule_summary::time;
use crate::table;
use crate::words::NOTHING;

/// What the user asks for.
pub(crate) fn asked(args: &ScheduleArgs) -> Result<Option<Granularity>, Failure> {
    let Some(name) = args.granularity else {
        return Ok(None);
    };
    match args.policy {
        PolicyName::Eager | PolicyName::Heft => Ok(Some(Granularity {
            level: level(name),
            compares: args.compare_levels,
        })),
        PolicyName::Clustering => {
            let message =
                "--granularity: --policy clustering has the components of the specification";
            Err(Failure::new(Kind::Model, message)
                .with_help("leave it out, or choose --policy eager or heft"))
        }
    }
}

fn level(name: GranularityName) -> Option<Level> {
    match name {
        GranularityName::Auto => None,
        GranularityName::Operator => Some(Level::Operator),
        GranularityName::Branch => Some(Level::Branch),
        GranularityName::Segment => Some(Level::Segment),
        GranularityName::Stage => Some(Level::Stage),
    }
}

/// The part of the report.
#[derive(Debug, Serialize)]
pub(crate) struct Choice {
    asked: &'static str,
    /// The rule that made the tasks.
    chosen: String,
    tasks: usize,
    overheads: Vec<DeviceOverheads>,
    candidates: Vec<Considered>,
    /// Tasks of several kernels, in the order of the components.
    fused: Vec<Fused>,
}

/// Overheads of a device, in nanoseconds.
#[derive(Debug, Serialize)]
struct DeviceOverheads {
    device: String,
    /// Between the end of a task and the start of the next one.
    dispatch_ns: i64,
    /// The part of it that the host spends.
    host_ns: i64,
    /// Between kernels of a task.
    launch_ns: i64,
    /// What the host spends on enqueueing a further kernel.
    enqueue_ns: i64,
}

#[derive(Debug, Serialize)]
struct Considered {
    /// All rules that make these tasks.
    rules: Vec<String>,
    tasks: usize,
    simulated_ns: Option<i64>,
    /// The median of frames before the choice, where the simulation left it among the best.
    rehearsed_ns: Option<i64>,
    /// The median of frames that count.
    measured_ns: Option<i64>,
}

#[derive(Debug, Serialize)]
struct Fused {
    component: usize,
    kernels: Vec<String>,
    /// Where it would end first.
    device: String,
    /// What its kernels take there.
    time_ns: i64,
    /// What dispatching it there takes.
    dispatch_ns: i64,
    /// Tasks of the same depth, with it.
    beside: usize,
    why: String,
}

impl Choice {
    /// Of a report, where a granularity was asked for.
    pub(crate) fn of(
        args: &ScheduleArgs,
        program: &KernelProgram,
        devices: &[&str],
        report: &Report,
    ) -> Option<Self> {
        let granulated = report.granularity.as_ref()?;
        let level = args.granularity.and_then(level);
        let overheads = devices.iter().zip(&granulated.overheads.devices);
        Some(Self {
            asked: level.map_or("auto", Level::name),
            chosen: rule(args, report)?,
            tasks: report.components,
            overheads: overheads
                .map(|(device, overhead)| DeviceOverheads {
                    device: (*device).to_owned(),
                    dispatch_ns: overhead.dispatch_ns,
                    host_ns: overhead.host_ns,
                    launch_ns: overhead.launch_ns,
                    enqueue_ns: overhead.enqueue_ns,
                })
                .collect(),
            candidates: granulated.candidates.iter().map(considered).collect(),
            fused: fused(program, devices, granulated, level),
        })
    }

    /// Lines for a person.
    pub(crate) fn table(&self) -> String {
        /// Lines of either table at most.
        const LINES: usize = 8;
        let mut text = format!(
            "granularity {}: {}",
            self.chosen,
            counted(self.tasks, "task")
        );
        if self.asked == "auto" {
            let _ = write!(text, ", best of {}", self.candidates.len());
        }
        text.push('\n');
        let rows = self.overheads.iter().map(|one| {
            [
                one.device.clone(),
                time(one.dispatch_ns),
                time(one.launch_ns),
            ]
        });
        text.push_str(&table::table(
            &["device", "dispatch of a task", "launch within a task"],
            rows,
        ));
        text.push('\n');
        let known = |time_ns: Option<i64>| time_ns.map_or_else(|| NOTHING.to_owned(), time);
        let mut candidates: Vec<&Considered> = self.candidates.iter().collect();
        candidates.sort_by_key(|one| (one.measured_ns.is_none(), one.simulated_ns));
        let shown = candidates.iter().take(LINES);
        let rows = shown.map(|one| {
            [
                one.rules.first().cloned().unwrap_or_default(),
                one.tasks.to_string(),
                known(one.simulated_ns),
                known(one.rehearsed_ns),
                known(one.measured_ns),
            ]
        });
        let head = ["candidate", "tasks", "simulated", "rehearsed", "measured"];
        text.push_str(&table::table(&head, rows));
        more(&mut text, candidates.len(), LINES, "candidates");
        if !self.fused.is_empty() {
            text.push('\n');
        }
        for one in self.fused.iter().take(LINES) {
            let first = one.kernels.first().map_or("", String::as_str);
            let last = one.kernels.last().map_or("", String::as_str);
            let _ = writeln!(text, "{first} to {last}: {}", one.why);
        }
        more(&mut text, self.fused.len(), LINES, "fused tasks");
        text
    }
}

fn more(text: &mut String, count: usize, shown: usize, what: &str) {
    if count > shown {
        let _ = writeln!(text, "and {} more {what}: --json has all", count - shown);
    }
}

/// The rule by which kernels became tasks, where a granularity was asked for: the level, or the first that leads to what was chosen.
pub(crate) fn rule(args: &ScheduleArgs, report: &Report) -> Option<String> {
    let granulated = report.granularity.as_ref()?;
    let chosen = &granulated.candidates[granulated.chosen];
    let asked = args.granularity.and_then(level);
    asked.map_or_else(
        || chosen.rules.first().map(Rule::to_string),
        |level| Some(level.name().to_owned()),
    )
}

fn considered(candidate: &Candidate) -> Considered {
    Considered {
        rules: candidate.rules.iter().map(Rule::to_string).collect(),
        tasks: candidate.components.all.len(),
        simulated_ns: candidate.simulated_ns,
        rehearsed_ns: candidate.rehearsed_ns,
        measured_ns: candidate.measured_ns,
    }
}

fn fused(
    program: &KernelProgram,
    devices: &[&str],
    granulated: &Granulated,
    level: Option<Level>,
) -> Vec<Fused> {
    let chosen = &granulated.candidates[granulated.chosen];
    let rule = level.map(Rule::Level).or(chosen.rules.first().copied());
    let tasks = chosen.components.all.iter().zip(&granulated.reasons);
    tasks
        .enumerate()
        .filter(|(_, (task, _))| task.kernels.len() > 1)
        .map(|(component, (task, reason))| {
            let device = devices[reason.device].to_owned();
            let what = match rule {
                Some(Rule::Adaptive { factor, .. }) => {
                    format!("what was under {factor} times that was fused")
                }
                Some(Rule::Level(level)) => format!("level {}", level.name()),
                None => String::new(),
            };
            let why = format!(
                "{} kernels take {} on {device}, where dispatching a task takes {}; {what}; {} ready beside each other",
                task.kernels.len(),
                time(reason.time_ns),
                time(reason.dispatch_ns),
                reason.beside,
            );
            let names = task.kernels.iter();
            Fused {
                component,
                kernels: names.map(|&id| program.kernel(id).name.clone()).collect(),
                device,
                time_ns: reason.time_ns,
                dispatch_ns: reason.dispatch_ns,
                beside: reason.beside,
                why,
            }
        })
        .collect()
}
