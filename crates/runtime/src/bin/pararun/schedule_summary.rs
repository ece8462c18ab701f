//! What `pararun schedule` reports: the document that `--measured` keeps, and what `--json` and the table say beside it.

use std::fmt::Write;

use paracompile_plan::device_use::DeviceUse;
use paracompile_plan::plan::SCHEMA;
use paracompile_plan::scheduled::{
    CommandKind, Schedule, ScheduleKind, ScheduledCommand, ScheduledDevice,
};
use paracompile_plan::{Nanoseconds, counted};
use paracompile_runtime::execute::Bound;
use paracompile_runtime::run::devices;
use paracompile_runtime::schedule::{Executed, Report, Resource, Scheduled, What};
use paracompile_runtime::users::KernelProgram;
use serde::Serialize;

use crate::args::{PolicyName, ScheduleArgs};
use crate::{granularity, table};

/// What a person or a program wants to know.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    /// The document.
    #[serde(flatten)]
    pub(crate) schedule: Schedule,
    /// The share of the total time of all devices in which kernels ran, in the frame whose total time is the median.
    executing: f64,
    /// When nothing ran on each device in that frame.
    holes: Vec<Holes>,
    /// What was dispatched as one, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    granularity: Option<granularity::Choice>,
}

/// Time in which a device does nothing.
#[derive(Debug, Serialize)]
struct Holes {
    /// The longest time without a command.
    largest_ns: Nanoseconds,
    /// All of it.
    total_ns: Nanoseconds,
}

impl Holes {
    fn of(usage: &DeviceUse) -> Self {
        let largest = usage.largest_hole.map(|(from, to)| to - from);
        Self {
            largest_ns: largest.unwrap_or(Nanoseconds::ZERO),
            total_ns: usage.idle,
        }
    }
}

impl Summary {
    pub(crate) fn new(
        args: &ScheduleArgs,
        program: &KernelProgram,
        resources: &[Resource],
        report: &Report,
    ) -> Self {
        let schedule = document(args, program, resources, report);
        let names: Vec<&str> = schedule
            .devices
            .iter()
            .map(|device| device.name.as_str())
            .collect();
        Self {
            executing: schedule.executing(),
            holes: schedule.device_use().iter().map(Holes::of).collect(),
            granularity: granularity::Choice::of(args, program, &names, report),
            schedule,
        }
    }

    /// Lines for a person.
    pub(crate) fn table(&self) -> String {
        let schedule = &self.schedule;
        let groups = if schedule.rule.is_some() {
            "task"
        } else {
            "component"
        };
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{}: {} in {} by {}, {}\n",
            schedule.graph,
            counted(schedule.kernels as usize, "kernel"),
            counted(schedule.components as usize, groups),
            schedule.policy,
            counted(schedule.frames as usize, "frame")
        );
        let rows = schedule.devices.iter().zip(&self.holes);
        let rows = rows.map(|(device, holes)| {
            [
                device.name.clone(),
                device.device.clone(),
                device.queues.to_string(),
                device.kernels.to_string(),
                holes.largest_ns.to_string(),
                holes.total_ns.to_string(),
            ]
        });
        let head = [
            "name",
            "device",
            "queues",
            "kernels",
            "largest hole",
            "idle",
        ];
        text.push_str(&table::table(&head, rows));
        text.push('\n');
        let rows = [
            ("total time", schedule.total_ns),
            ("device span", schedule.device_span_ns),
            ("total without device span", schedule.overhead_ns),
            ("host, choosing and enqueueing", schedule.host_ns),
        ];
        let rows = rows.map(|(name, value)| [name.to_owned(), value.to_string()]);
        let executing = format!("{:.1} %", 100.0 * self.executing);
        let rows = rows
            .into_iter()
            .chain([["share of time executing".to_owned(), executing]]);
        text.push_str(&table::table(&["median of frames", ""], rows));
        if let Some(granularity) = &self.granularity {
            text.push('\n');
            text.push_str(&granularity.table());
        }
        text
    }
}

/// Nanoseconds with a unit that fits.
pub(crate) fn time(time: i64) -> String {
    nanoseconds(time).to_string()
}

/// What a program wants to know.
fn document(
    args: &ScheduleArgs,
    program: &KernelProgram,
    resources: &[Resource],
    report: &Report,
) -> Schedule {
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let median = |figure: fn(&Scheduled) -> i64| nanoseconds(report.median(figure));
    let commands = report
        .typical()
        .map_or(&[][..], |(_, frame)| &frame.commands);
    let bound: Vec<Bound> = resources.iter().map(|one| one.bound.clone()).collect();
    let names = devices(&bound);
    let devices = resources.iter().enumerate().map(|(index, resource)| {
        let is_launch = |command: &&Executed| command.unit == index && command.what == What::Launch;
        ScheduledDevice {
            name: resource.bound.processor.clone(),
            device: names[&resource.bound.processor].clone(),
            queues: count(resource.queues),
            kernels: count(commands.iter().filter(is_launch).count()),
        }
    });
    let commands = commands.iter().map(|command| ScheduledCommand {
        kernel: command.kernel.clone(),
        function: command.function.clone(),
        component: count(command.component),
        what: match command.what {
            What::Write => CommandKind::Write,
            What::Launch => CommandKind::Launch,
            What::Read => CommandKind::Read,
        },
        device: command.device.clone(),
        queue: count(command.queue),
        start_ns: nanoseconds(command.start_ns),
        end_ns: nanoseconds(command.end_ns),
    });
    Schedule {
        schema: SCHEMA,
        kind: ScheduleKind::Schedule,
        graph: program.linked.graph.name.clone(),
        policy: policy_name(args.policy).to_owned(),
        rule: granularity::rule(args, report),
        devices: devices.collect(),
        kernels: count(program.linked.graph.kernels.len()),
        components: count(report.components),
        frames: count(report.frames.len()),
        total_ns: median(|frame| frame.total_ns),
        device_span_ns: median(|frame| frame.device_span_ns),
        overhead_ns: median(Scheduled::overhead_ns),
        host_ns: median(|frame| frame.host_ns),
        commands: commands.collect(),
    }
}

/// Times begin with the frame; the clock of a device may be off by more than what lies between.
fn nanoseconds(time: i64) -> Nanoseconds {
    Nanoseconds::new(u64::try_from(time).unwrap_or(0))
}

const fn policy_name(policy: PolicyName) -> &'static str {
    match policy {
        PolicyName::Clustering => "clustering",
        PolicyName::Eager => "eager",
        PolicyName::Heft => "heft",
    }
}
