//! `paracompile simulate`.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use paracompile::plan::{Plan, read_plan, writable, write_text};
use paracompile::simulate::{
    Change, Contention, Host, Links, SimulateOptions, Simulation, simulate, trace,
};
use serde_json::json;

use crate::args::SimulateArgs;
use crate::check::unreadable;
use crate::failure::{Failure, Kind};
use crate::input::{counted, printed};

/// Runs the command.
pub(crate) fn run(args: &SimulateArgs) -> Result<ExitCode, Failure> {
    if let Some(path) = &args.trace {
        writable(path).map_err(|error| Failure::from_error(Kind::File, &error))?;
    }
    let plan = read_plan(&args.plan).map_err(|error| unreadable(&args.plan, &error))?;
    let frames = usize::try_from(args.frames).unwrap_or(usize::MAX);
    let base = SimulateOptions {
        frames,
        ..SimulateOptions::default()
    };
    let options = SimulateOptions {
        links: if args.serial_links {
            Links::Serial
        } else {
            base.links
        },
        contention: if args.dynamic_contention {
            Contention::Dynamic
        } else {
            base.contention
        },
        host: if args.host { Host::Enqueues } else { base.host },
        ..base
    };
    let run = |options: &SimulateOptions| {
        simulate(&plan, options).map_err(|error| {
            Failure::new(Kind::Plan, format!("{}: {error}", args.plan.display()))
                .with_help("paracompile check tells everything that is wrong with a plan")
        })
    };
    let simulation = run(&options)?;
    let change = if options == base {
        None
    } else {
        Some(Change::between(&run(&base)?, &simulation))
    };
    if let Some(path) = &args.trace {
        write_trace(path, &plan, &simulation)?;
    }
    if args.json {
        let text = serde_json::to_string_pretty(&to_json(&simulation, change.as_ref()))
            .expect("JSON values serialise");
        return printed(&format!("{text}\n"));
    }
    printed(&table(&plan, &simulation, change.as_ref()))
}

fn write_trace(path: &Path, plan: &Plan, simulation: &Simulation) -> Result<(), Failure> {
    write_text(path, &trace(plan, simulation))
        .map_err(|error| Failure::from_error(Kind::File, &error))
}

fn table(plan: &Plan, simulation: &Simulation, change: Option<&Change>) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{} on {}, {}",
        plan.model.name,
        plan.soc.name,
        counted(simulation.frames.len(), "frame")
    );
    let predicted = &plan.predicted;
    for (name, value, foreseen) in [
        (
            "latency of one frame",
            simulation.latency,
            Some(predicted.latency_ns),
        ),
        (
            "latency of the last frame",
            simulation.saturated_latency,
            (simulation.frames.len() == 50).then_some(predicted.saturated_latency_ns),
        ),
        (
            "the same, paced",
            simulation.paced_latency,
            (simulation.frames.len() == 50).then_some(predicted.paced_latency_ns),
        ),
        ("interval", simulation.interval, Some(predicted.interval_ns)),
    ] {
        let note = match foreseen {
            Some(foreseen) if foreseen == value => "as the plan says".to_owned(),
            Some(foreseen) => format!("the plan says {foreseen}"),
            None => String::new(),
        };
        let line = format!("  {name:<26} {:>10}  {note}", value.to_string());
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if plan.waits() {
        let _ = writeln!(
            text,
            "  {:<26} {:>10}  for energy and shares",
            "a frame is admitted every",
            plan.admission_interval_ns.to_string()
        );
    }
    let _ = writeln!(
        text,
        "  {:<26} {:>10}",
        "energy a frame, active",
        match simulation.energy_active.count() {
            // Without a meter nobody knows it.
            0 => "–".to_owned(),
            _ => simulation.energy_active.to_string(),
        }
    );
    for load in &simulation.queues {
        let queue = &plan.queues[load.queue as usize];
        let kind = match queue.kind {
            paracompile::plan::QueueKind::Compute => "compute",
            paracompile::plan::QueueKind::Transfer => "transfer",
        };
        let _ = writeln!(
            text,
            "  {:<26} {:>9.1}%",
            format!("{} {kind}, busy", queue.processor),
            load.share * 100.0
        );
    }
    if let Some(change) = change {
        let _ = writeln!(
            text,
            "against the rules of the model: latency {:+.2}%, interval {:+.2}%{}",
            change.latency * 100.0,
            change.interval * 100.0,
            if change.exceeds(0.02) {
                "; warning: more than 2%"
            } else {
                ""
            }
        );
    }
    text
}

fn to_json(simulation: &Simulation, change: Option<&Change>) -> serde_json::Value {
    json!({
        "frames": simulation.frames.iter().map(|frame| json!({
            "begin_ns": frame.begin,
            "done_ns": frame.done,
        })).collect::<Vec<_>>(),
        "latency_ns": simulation.latency,
        "saturated_latency_ns": simulation.saturated_latency,
        "paced_latency_ns": simulation.paced_latency,
        "interval_ns": simulation.interval,
        "energy_active_nj": simulation.energy_active,
        "queues": simulation.queues.iter().map(|load| json!({
            "queue": load.queue,
            "busy_ns": load.busy,
            "share": load.share,
        })).collect::<Vec<_>>(),
        "change": change.map(|change| json!({
            "latency": change.latency,
            "interval": change.interval,
        })),
    })
}
