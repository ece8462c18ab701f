//! `pararun schedule`: a kernel graph, run by a policy and measured.

use std::fmt::Write;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use paracompile_frontend::import::kernels::{Device, KernelOptions};
use paracompile_plan::{Nanoseconds, writable, writable_folder};
use paracompile_runtime::bind::{DeviceMap, bind};
use paracompile_runtime::execute::Sharing;
use paracompile_runtime::input::write_outputs;
use paracompile_runtime::run::devices;
use paracompile_runtime::schedule::{
    Clustering, Components, Eager, Grouping, Heft, Holes, Policy, Report, Resource,
    ScheduleRequest, Scheduled, What, schedule,
};
use paracompile_runtime::trace::{Lane, LaneKind, Trace, TraceEvent, write_trace};
use paracompile_runtime::users::{KernelProgram, kernel_inputs, kernel_ports};
use serde::Serialize;

use crate::args::{PolicyName, ScheduleArgs};
use crate::failure::{Failure, Kind};
use crate::run::bound;
use crate::{granularity, outputs, problems, table, terminal};

/// Runs the command.
pub(crate) fn run(args: &ScheduleArgs, interrupted: &AtomicBool) -> Result<ExitCode, Failure> {
    const REHEARSALS: usize = 3;
    const PATIENCE: Duration = Duration::from_secs(120);
    if args.cpu_heads.is_some() && args.policy != PolicyName::Clustering {
        return Err(Failure::new(
            Kind::Model,
            "--cpu-heads is a matter of --policy clustering",
        ));
    }
    let granularity = granularity::asked(args)?;
    let trace = args.trace.as_ref().map(|(path, _)| path.as_path());
    outputs::distinct(&[("--trace", trace), ("--output", args.output.as_deref())])?;
    // A run should not end at a file that cannot be written.
    if let Some(path) = trace {
        writable(path).map_err(|error| Failure::from_error(Kind::File, &error))?;
    }
    if let Some(folder) = &args.output {
        writable_folder(folder).map_err(|error| Failure::from_error(Kind::File, &error))?;
    }
    let options = KernelOptions {
        folders: args.sources.kernel_dir.clone(),
        symbols: args.dims.iter().cloned().collect(),
    };
    let program = KernelProgram::load(&args.graph, &options)
        .map_err(|error| problems::kernels(&error, &args.graph))?;
    let inputs =
        kernel_inputs(&program, &args.input, args.seed).map_err(|error| problems::input(&error))?;
    let inputs: Vec<Vec<u8>> = inputs.into_iter().map(|tensor| tensor.bytes).collect();
    let specified = |kind| {
        let queues = program.linked.graph.queues.get(&kind);
        queues.map_or(1, |&queues| queues as usize)
    };
    let resources = resources(&args.device, &args.queues, specified)?;
    let mut policy = policy(args, &program)?;
    let progress = terminal::Progress::new(args.quiet || args.json);
    progress.show("building kernels, and running frames");
    let request = ScheduleRequest {
        frames: usize::try_from(args.frames).unwrap_or(usize::MAX),
        rehearsals: REHEARSALS,
        sharing: Sharing::default(),
        granularity,
        patience: PATIENCE,
        interrupted,
    };
    let report = schedule(&program, &resources, policy.as_mut(), &inputs, request);
    progress.clear();
    let report = report.map_err(|error| problems::schedule(&error, &args.graph))?;
    write_files(args, &program, &resources, &report)?;
    let summary = Summary::new(args, &program, &resources, &report);
    let text = if args.json {
        let text = serde_json::to_string_pretty(&summary);
        text.map_err(|error| Failure::from_error(Kind::Bug, &error))? + "\n"
    } else if args.quiet {
        String::new()
    } else {
        summary.table()
    };
    let printed = terminal::printed(&text)?;
    if report.is_interrupted {
        let message = format!("interrupted after {} frames", report.frames.len());
        return Err(Failure::new(Kind::Interrupted, message));
    }
    Ok(printed)
}

/// The devices of `--device` with the queues of `--queues`, or as many as `otherwise` says for what they are.
pub(crate) fn resources(
    maps: &[DeviceMap],
    queues: &[(String, usize)],
    otherwise: impl Fn(Device) -> usize,
) -> Result<Vec<Resource>, Failure> {
    let names: Vec<String> = maps.iter().map(|map| map.processor.clone()).collect();
    for (name, _) in queues {
        if !names.contains(name) {
            let message = format!("--queues {name}=…: there is no such device");
            return Err(Failure::new(Kind::Device, message)
                .with_help(format!("devices of --device: {}", names.join(", "))));
        }
    }
    let binding = bind(&names, maps).map_err(|error| problems::bind(&error))?;
    let resources = bound(&binding).into_iter().map(|bound| {
        let mut resource = Resource { bound, queues: 1 };
        let name = &resource.bound.processor;
        let asked = queues.iter().rev().find(|(other, _)| other == name);
        resource.queues = match asked {
            Some(&(_, count)) => count,
            None => otherwise(resource.kind()),
        };
        resource
    });
    Ok(resources.collect())
}

fn policy(args: &ScheduleArgs, program: &KernelProgram) -> Result<Box<dyn Policy>, Failure> {
    Ok(match args.policy {
        PolicyName::Eager => Box::new(Eager),
        PolicyName::Heft => Box::new(Heft),
        PolicyName::Clustering => {
            let graph = &program.linked.graph;
            let grouping = match args.cpu_heads {
                Some(_) => Grouping::Joined,
                None => Grouping::Specified,
            };
            let components = Components::new(graph, grouping);
            let all = components
                .map(|components| components.all)
                .unwrap_or_default();
            if let Some(count) = args.cpu_heads
                && count > all.len()
            {
                let message = format!(
                    "--cpu-heads {count}: the kernel graph has {} components",
                    all.len()
                );
                return Err(Failure::new(Kind::Model, message).at(&args.graph));
            }
            let preferred = all.iter().map(|component| {
                let first = component.kernels.first();
                first.and_then(|&kernel| graph.kernels[kernel].device)
            });
            Box::new(Clustering {
                grouping,
                on_cpu: args.cpu_heads,
                preferred: preferred.collect(),
            })
        }
    })
}

fn write_files(
    args: &ScheduleArgs,
    program: &KernelProgram,
    resources: &[Resource],
    report: &Report,
) -> Result<(), Failure> {
    let file = |error: &dyn std::error::Error| Failure::from_error(Kind::File, error);
    if let Some(folder) = &args.output {
        let outputs = kernel_ports(program, &report.outputs);
        write_outputs(folder, &outputs).map_err(|error| file(&error))?;
    }
    if let (Some((path, format)), Some((number, frame))) = (&args.trace, report.typical()) {
        write_trace(path, *format, &trace(resources, number, frame))
            .map_err(|error| file(&error))?;
    }
    Ok(())
}

/// The trace of a frame.
fn trace(resources: &[Resource], number: usize, frame: &Scheduled) -> Trace {
    let mut trace = Trace::default();
    let mut first = Vec::new();
    let names = devices(
        &resources
            .iter()
            .map(|one| one.bound.clone())
            .collect::<Vec<_>>(),
    );
    for resource in resources {
        first.push(trace.lanes.len());
        for queue in 0..resource.queues {
            let name = &resource.bound.processor;
            trace.lanes.push(Lane {
                device: format!("{name} on {}", names[name]),
                queue: format!("queue {queue}"),
                kind: LaneKind::Measured,
            });
        }
    }
    let time = |nanoseconds: i64| u64::try_from(nanoseconds).unwrap_or(0);
    for command in &frame.commands {
        let what = match command.what {
            What::Write => "write for ",
            What::Launch => "",
            What::Read => "read of ",
        };
        trace.events.push(TraceEvent {
            lane: first[command.unit] + command.queue,
            name: format!("{what}{}", command.kernel),
            frame: number as u64,
            stage: 0,
            start_ns: time(command.start_ns),
            end_ns: time(command.end_ns),
        });
    }
    trace
}

/// What a person or a program wants to know.
#[derive(Debug, Serialize)]
struct Summary {
    schema: u32,
    graph: String,
    policy: &'static str,
    devices: Vec<UsedDevice>,
    kernels: usize,
    components: usize,
    frames: usize,
    /// Medians over the frames.
    total_ns: i64,
    device_span_ns: i64,
    /// Total time without the device span.
    overhead_ns: i64,
    /// What the host spent on choosing and enqueueing.
    host_ns: i64,
    /// The share of the total time of all devices in which kernels ran, in the frame whose total time is the median.
    executing: f64,
    /// What was dispatched as one, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    granularity: Option<granularity::Choice>,
    /// The commands of the frame whose total time is the median.
    commands: Vec<paracompile_runtime::schedule::Executed>,
}

#[derive(Debug, Serialize)]
pub(crate) struct UsedDevice {
    pub(crate) name: String,
    device: String,
    queues: usize,
    /// Launches in the frame whose total time is the median.
    kernels: usize,
    /// When nothing ran on it in that frame.
    holes: Holes,
}

impl Summary {
    fn new(
        args: &ScheduleArgs,
        program: &KernelProgram,
        resources: &[Resource],
        report: &Report,
    ) -> Self {
        let typical = report.typical().map(|(_, frame)| frame.clone());
        let typical = typical.unwrap_or_default();
        let commands = &typical.commands;
        let names = devices(
            &resources
                .iter()
                .map(|one| one.bound.clone())
                .collect::<Vec<_>>(),
        );
        let used = resources.iter().enumerate().map(|(index, resource)| {
            let is_launch = |command: &&paracompile_runtime::schedule::Executed| {
                command.unit == index && command.what == What::Launch
            };
            UsedDevice {
                name: resource.bound.processor.clone(),
                device: names[&resource.bound.processor].clone(),
                queues: resource.queues,
                kernels: commands.iter().filter(is_launch).count(),
                holes: typical.holes(index),
            }
        });
        let used: Vec<UsedDevice> = used.collect();
        Self {
            schema: 1,
            graph: program.linked.graph.name.clone(),
            policy: match args.policy {
                PolicyName::Clustering => "clustering",
                PolicyName::Eager => "eager",
                PolicyName::Heft => "heft",
            },
            executing: typical.executing(used.len()),
            granularity: granularity::Choice::of(args, program, &used, report),
            devices: used,
            kernels: program.linked.graph.kernels.len(),
            components: report.components,
            frames: report.frames.len(),
            total_ns: report.median(|frame| frame.total_ns),
            device_span_ns: report.median(|frame| frame.device_span_ns),
            overhead_ns: report.median(Scheduled::overhead_ns),
            host_ns: report.median(|frame| frame.host_ns),
            commands: typical.commands,
        }
    }

    fn table(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{}: {} kernels in {} components by {}, {} frames\n",
            self.graph, self.kernels, self.components, self.policy, self.frames
        );
        let rows = self.devices.iter().map(|device| {
            [
                device.name.clone(),
                device.device.clone(),
                device.queues.to_string(),
                device.kernels.to_string(),
                time(device.holes.largest_ns),
                time(device.holes.total_ns),
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
            ("total time", self.total_ns),
            ("device span", self.device_span_ns),
            ("total without device span", self.overhead_ns),
            ("host, choosing and enqueueing", self.host_ns),
        ];
        let rows = rows.map(|(name, value)| [name.to_owned(), time(value)]);
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
pub(crate) fn time(nanoseconds: i64) -> String {
    Nanoseconds::new(u64::try_from(nanoseconds).unwrap_or(0)).to_string()
}
