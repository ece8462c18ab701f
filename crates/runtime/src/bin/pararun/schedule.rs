//! `pararun schedule`: a kernel graph, run by a policy and measured.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use paracompile_frontend::import::kernels::Device;
use paracompile_plan::scheduled::Schedule;
use paracompile_plan::{writable, writable_folder, write_json};
use paracompile_runtime::bind::{DeviceMap, bind};
use paracompile_runtime::execute::Sharing;
use paracompile_runtime::input::write_outputs;
use paracompile_runtime::run::devices;
use paracompile_runtime::schedule::{
    Clustering, Components, Eager, Grouping, Heft, Policy, Report, Resource, ScheduleRequest,
    Scheduled, What, schedule,
};
use paracompile_runtime::trace::{Lane, LaneKind, Trace, TraceEvent, write_trace};
use paracompile_runtime::users::{KernelProgram, kernel_ports};

use crate::args::{PolicyName, ScheduleArgs};
use crate::failure::{Failure, Kind};
use crate::run::bound;
use crate::schedule_summary::Summary;
use crate::{granularity, kernels, outputs, problems, terminal};

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
    let measured = args.measured.as_deref();
    outputs::distinct(&[
        ("--measured", measured),
        ("--trace", trace),
        ("--output", args.output.as_deref()),
    ])?;
    // A run should not end at a file that cannot be written.
    for path in measured.into_iter().chain(trace) {
        writable(path).map_err(|error| Failure::from_error(Kind::File, &error))?;
    }
    if let Some(folder) = &args.output {
        writable_folder(folder).map_err(|error| Failure::from_error(Kind::File, &error))?;
    }
    let path = args.graph.path.as_path();
    let program = kernels::load(path, &args.graph.sources, &args.graph.dims)?;
    let inputs = kernels::inputs(&program, &args.input, args.seed)?;
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
    let report = report.map_err(|error| problems::schedule(&error, path))?;
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
    // What was measured is told even where it cannot be kept.
    write_files(args, &program, &resources, &report, &summary.schedule)?;
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
            if let Some(count) = args.cpu_heads {
                kernels::judge_heads(count, all.len(), &args.graph.path)?;
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
    document: &Schedule,
) -> Result<(), Failure> {
    let file = |error: &dyn std::error::Error| Failure::from_error(Kind::File, error);
    if let Some(path) = &args.measured {
        write_json(path, document).map_err(|error| file(&error))?;
    }
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
