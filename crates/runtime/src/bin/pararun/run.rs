//! `pararun run`: a plan, executed and measured.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use paracompile_frontend::import::onnx::{Program, ValueId};
use paracompile_plan::measured::Measured;
use paracompile_plan::{Bytes, Nanoseconds, Plan, counted, writable, writable_folder, write_json};
use paracompile_runtime::bind::{Binding, BoundProcessor};
use paracompile_runtime::execute::Bound;
use paracompile_runtime::input::{HostTensor, write_outputs};
use paracompile_runtime::interpret::{constants, stored};
use paracompile_runtime::meter::EnergyMeter;
use paracompile_runtime::model::Model;
use paracompile_runtime::run::{Model as Of, Run, RunOptions, Task, run as run_plan};
use paracompile_runtime::solo::Solo;
use paracompile_runtime::trace::{Trace, write_trace};
use paracompile_runtime::users::kernel_ports;
use paracompile_runtime::validate::digest_of_file;
use paracompile_runtime::weights::RandomWeights;

use crate::args::{Pace, RunArgs};
use crate::check::{Ready, ready};
use crate::failure::{Failure, Kind};
use crate::words::{NOTHING, rate};
use crate::{outputs, problems, table, terminal};

/// Runs the command.
pub(crate) fn run(args: &RunArgs, interrupted: &AtomicBool) -> Result<ExitCode, Failure> {
    outputs::distinct(&[
        ("--measured", args.measured.as_deref()),
        (
            "--trace",
            args.trace.as_ref().map(|(path, _)| path.as_path()),
        ),
        ("--output", args.output.as_deref()),
    ])?;
    let Ready {
        plan,
        model,
        binding,
        inputs,
        random,
    } = ready(&args.plan, args.quiet)?;
    // A run should not end at a file that cannot be written.
    for path in args
        .measured
        .iter()
        .chain(args.trace.as_ref().map(|(path, _)| path))
    {
        writable(path).map_err(|error| Failure::from_error(Kind::File, &error))?;
    }
    if let Some(folder) = &args.output {
        writable_folder(folder).map_err(|error| Failure::from_error(Kind::File, &error))?;
    }
    let progress = terminal::Progress::new(args.quiet || args.json);
    let constants = match &model {
        Model::Network(program) => {
            progress.show("reading weights");
            weights(program, &binding, random.as_ref())?
        }
        Model::Kernels(_) => BTreeMap::new(),
    };
    progress.show("building kernels, and running frames");
    let digest = digest_of_file(&args.plan.plan)
        .map_err(|error| Failure::from_error(Kind::File, &error).at(&args.plan.plan))?;
    let bound = bound(&binding);
    let inputs: Vec<Vec<u8>> = inputs.into_iter().map(|tensor| tensor.bytes).collect();
    let task = Task {
        plan: &plan,
        plan_digest: &digest,
        model: match &model {
            Model::Network(program) => Of::Network {
                program,
                constants: &constants,
            },
            Model::Kernels(program) => Of::Kernels(program),
        },
    };
    let options = RunOptions {
        frames: usize::try_from(args.frames).unwrap_or(usize::MAX),
        alone: usize::try_from(args.frames.min(10)).unwrap_or(10),
        is_paced: args.pace == Pace::Plan,
        meter: Some(&EnergyMeter::find()),
        ..RunOptions::default()
    };
    let done = run_plan(&task, &bound, &inputs, &options, interrupted);
    progress.clear();
    let run = done.map_err(|error| problems::run(&error, &args.plan.plan))?;
    let text = if args.json {
        let text = serde_json::to_string_pretty(&run.measured);
        text.map_err(|error| Failure::from_error(Kind::Bug, &error))? + "\n"
    } else if args.quiet {
        String::new()
    } else {
        report(&plan, &run)
    };
    let printed = terminal::printed(&text)?;
    // What was measured is told even where it cannot be kept.
    write_files(args, &plan, &model, &constants, &run)?;
    if run.measured.interrupted {
        return Err(Failure::new(
            Kind::Interrupted,
            format!("interrupted after {}", frames(run.measured.frames)),
        ));
    }
    Ok(printed)
}

/// The elements of all constants that operators read.
pub(crate) fn weights(
    program: &Program,
    binding: &Binding,
    random: Option<&RandomWeights>,
) -> Result<BTreeMap<ValueId, Vec<u8>>, Failure> {
    let first = binding.processors.first();
    let device = first.map(|processor| &processor.device);
    let device = device.ok_or_else(|| Failure::new(Kind::Plan, "the plan uses no processor"))?;
    let solo = Solo::new(device).map_err(|error| problems::opencl(&error))?;
    let mut file = stored(program);
    let mut source = |value: ValueId| match random.and_then(|random| random.bytes(value)) {
        Some(bytes) => Ok(Some(bytes)),
        None => file(value),
    };
    constants(program, &solo, &mut source).map_err(|error| problems::constants(&error))
}

/// Processors as the library takes them.
pub(crate) fn bound(binding: &Binding) -> Vec<Bound> {
    let bound = |processor: &BoundProcessor| Bound {
        processor: processor.name.clone(),
        device: processor.device.clone(),
        id: processor.id,
        units: processor.units,
    };
    binding.processors.iter().map(bound).collect()
}

fn write_files(
    args: &RunArgs,
    plan: &Plan,
    model: &Model,
    constants: &BTreeMap<ValueId, Vec<u8>>,
    run: &Run,
) -> Result<(), Failure> {
    let file = |error: &dyn std::error::Error| Failure::from_error(Kind::File, error);
    if let Some(path) = &args.measured {
        write_json(path, &run.measured).map_err(|error| file(&error))?;
    }
    if let Some((path, format)) = &args.trace {
        let device = |processor: &str| {
            let known = run.measured.devices.get(processor);
            known.cloned().unwrap_or_else(|| "the host".to_owned())
        };
        let trace = Trace::of_run(plan, &run.order, &run.labels, &run.timeline, device);
        write_trace(path, *format, &trace).map_err(|error| file(&error))?;
    }
    if let Some(folder) = &args.output {
        let outputs = match model {
            Model::Network(program) => outputs(program, constants, &run.outputs)?,
            Model::Kernels(program) => kernel_ports(program, &run.outputs),
        };
        write_outputs(folder, &outputs).map_err(|error| file(&error))?;
    }
    Ok(())
}

/// The outputs of a network by name.
fn outputs(
    program: &Program,
    constants: &BTreeMap<ValueId, Vec<u8>>,
    computed: &[Vec<u8>],
) -> Result<Vec<(String, HostTensor)>, Failure> {
    let ids = program.imported.graph.outputs.iter();
    let ids = ids.map(|id| program.tensors[id.index()]);
    let computed: BTreeMap<ValueId, &Vec<u8>> = ids.zip(computed).collect();
    let mut outputs = Vec::new();
    for &id in &program.outputs {
        let value = &program.values[id];
        // An output that no input can change is a constant, and no plan computes it.
        let bytes = computed.get(&id).copied().or_else(|| constants.get(&id));
        let Some(bytes) = bytes else {
            let message = format!("output `{}` has no elements that are known", value.name);
            return Err(Failure::new(Kind::Bug, message));
        };
        let tensor = HostTensor {
            dtype: value.dtype,
            shape: value.shape.clone(),
            bytes: bytes.clone(),
        };
        outputs.push((value.name.clone(), tensor));
    }
    Ok(outputs)
}

/// What a person wants to know of a run.
fn report(plan: &Plan, run: &Run) -> String {
    let measured = &run.measured;
    let predicted = &plan.predicted;
    let mut text = String::new();
    let stages: Vec<String> = plan
        .stages
        .iter()
        .map(|stage| stage.processors.join("+"))
        .collect();
    let _ = writeln!(
        text,
        "{}: {} on {}, {} {}",
        measured.model,
        plan.strategy.name(),
        stages.join(" | "),
        frames(measured.frames),
        pace(measured.admission_interval_ns)
    );
    for (processor, device) in &measured.devices {
        let _ = writeln!(text, "  {processor}: {device}");
    }
    text.push('\n');
    let row = |name: &str, predicted: String, measured: String, ratio: String| {
        [name.to_owned(), predicted, measured, ratio]
    };
    let time = |name: &str, predicted: Nanoseconds, measured: Nanoseconds| {
        row(
            name,
            predicted.to_string(),
            measured.to_string(),
            off(predicted.to_seconds(), measured.to_seconds()),
        )
    };
    let nothing = || NOTHING.to_owned();
    let mut rows = vec![
        time(
            "latency, one frame alone",
            predicted.latency_ns,
            measured.latency_ns,
        ),
        row(
            "  95th percentile",
            nothing(),
            measured.latency_p95_ns.to_string(),
            nothing(),
        ),
    ];
    if let Some(saturated) = measured.saturated_latency_ns {
        rows.push(time(
            "50th frame in stream",
            predicted.saturated_latency_ns,
            saturated,
        ));
    }
    rows.push(match measured.interval_ns {
        Some(interval) => time("interval", predicted.interval_ns, interval),
        None => row(
            "interval",
            predicted.interval_ns.to_string(),
            nothing(),
            nothing(),
        ),
    });
    rows.push(row(
        "frames a second",
        rate(Some(predicted.interval_ns)),
        rate(measured.interval_ns),
        nothing(),
    ));
    for (index, (stage, times)) in plan.stages.iter().zip(&measured.stages).enumerate() {
        let name = format!(
            "stage {} ({}), alone",
            index + 1,
            stage.processors.join("+")
        );
        rows.push(time(&name, stage.time_alone_ns, times.time_alone_ns));
        rows.push(time("  in the stream", stage.time_ns, times.time_ns));
    }
    rows.push(row(
        "device span of a frame alone",
        nothing(),
        measured.device_span_ns.to_string(),
        nothing(),
    ));
    if let Some(energy) = measured.energy_nj {
        rows.push(row(
            "energy a frame, metered devices",
            nothing(),
            energy.to_string(),
            nothing(),
        ));
    }
    text.push_str(&table::table(
        &["", "predicted", "measured", "predicted is"],
        rows,
    ));
    text.push_str(&costs(measured));
    text
}

fn frames(count: u32) -> String {
    counted(count as usize, "frame")
}

/// When the frames of a stream were admitted.
fn pace(interval: Option<Nanoseconds>) -> String {
    interval.map_or_else(
        || "as fast as the first stage takes them".to_owned(),
        |interval| format!("admitted every {interval}"),
    )
}

/// What a frame costs the host, and the plan memory.
fn costs(measured: &Measured) -> String {
    let commands = measured.commands.max(1);
    let each = Nanoseconds::new(measured.enqueue_ns.count() / u64::from(commands));
    format!(
        "\nhost: {} to enqueue the {} of a frame, {each} each\nmemory: {} allocated\n",
        measured.enqueue_ns,
        counted(commands as usize, "command"),
        Bytes::new(measured.allocated_bytes)
    )
}

/// How far a prediction is off.
fn off(predicted: f64, measured: f64) -> String {
    let error = predicted / measured - 1.0;
    if error.is_finite() {
        format!("{:+.1}%", 100.0 * error)
    } else {
        NOTHING.to_owned()
    }
}
