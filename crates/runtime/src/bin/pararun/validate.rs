//! `pararun validate`: every plan of a compile run, executed, beside its predictions.

use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};

use paracompile_plan::measured::Measured;
use paracompile_plan::{counted, writable, write_json};
use paracompile_runtime::bind::bind;
use paracompile_runtime::model::load_model;
use paracompile_runtime::validate::{
    Agreement, Candidate, Pair, Validated, Validation, candidates, digest_of_predictions,
};
use paracompile_runtime::weights::WeightSource;

use crate::args::ValidateArgs;
use crate::check::tell_spare;
use crate::failure::{Failure, Kind};
use crate::words::{NOTHING, time};
use crate::{check, outputs, problems, table, terminal};

/// Runs the command.
pub(crate) fn run(args: &ValidateArgs, interrupted: &AtomicBool) -> Result<ExitCode, Failure> {
    outputs::distinct(&[
        ("--out", args.out.as_deref()),
        ("--fidelity", args.fidelity.as_deref()),
    ])?;
    for path in args.fidelity.iter().chain(&args.out) {
        writable(path).map_err(|error| Failure::from_error(Kind::File, &error))?;
    }
    let (front, candidates) = candidates(&args.directory)
        .map_err(|error| problems::directory(&error, &args.directory))?;
    let Some(first) = candidates.first() else {
        return Err(Failure::new(Kind::Plan, "no plans to run").at(&args.directory));
    };
    let predictions = digest_of_predictions(&candidates);
    let progress = terminal::Progress::new(args.quiet);
    if !args.json && !args.quiet {
        terminal::note(&format!(
            "{}; SHA-256 of the predictions, before anything runs: {predictions}",
            counted(candidates.len(), "plan")
        ));
    }
    let model = load_model(&first.plan, &args.model, &args.sources.kernel_dir)
        .map_err(|error| problems::model(&error, &args.directory.join(&first.file), &args.model))?;
    let seed = match args.weights {
        WeightSource::File => None,
        WeightSource::Random { seed } => Some(seed),
    };
    // What the runs will need is tried before the first of them.
    check::inputs(&model, &[], seed.unwrap_or(0))?;
    let mut processors: Vec<String> = Vec::new();
    for processor in candidates
        .iter()
        .flat_map(|candidate| &candidate.plan.processors)
    {
        if !processors.contains(&processor.name) {
            processors.push(processor.name.clone());
        }
    }
    let binding = bind(&processors, &args.map).map_err(|error| problems::bind(&error))?;
    if !args.quiet {
        tell_spare(&binding, "the plans do");
    }
    let mut validated = Vec::new();
    let mut failed = Vec::new();
    for (index, candidate) in candidates.iter().enumerate() {
        progress.show(&format!(
            "{} of {}: {}",
            index + 1,
            candidates.len(),
            candidate.file
        ));
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
        match measure(args, candidate) {
            Ok(plan) => validated.push(plan),
            // A terminal interrupts the plan that runs too.
            Err(_) if interrupted.load(Ordering::Relaxed) => break,
            Err(why) => failed.push((candidate.file.clone(), why)),
        }
    }
    progress.clear();
    let (measured, all) = (validated.len(), candidates.len());
    let complete = measured + failed.len();
    let validation = Validation::new(&front, predictions, validated);
    let text = if args.json {
        let text = serde_json::to_string_pretty(&validation);
        text.map_err(|error| Failure::from_error(Kind::Bug, &error))? + "\n"
    } else {
        report(&validation)
    };
    let printed = terminal::printed(&text)?;
    // What was measured is told even where it cannot be kept.
    let files = [&args.fidelity, &args.out];
    for path in files.into_iter().flatten().filter(|_| measured < all) {
        terminal::note(&if measured == 0 {
            format!("no plan was measured: {} is not written", path.display())
        } else {
            format!("{} holds {measured} of {all} plans", path.display())
        });
    }
    if let Some(path) = args.fidelity.as_ref().filter(|_| measured > 0) {
        write_json(path, &validation.fidelity())
            .map_err(|error| Failure::from_error(Kind::File, &error))?;
    }
    if let Some(path) = args.out.as_ref().filter(|_| measured > 0) {
        write_json(path, &validation).map_err(|error| Failure::from_error(Kind::File, &error))?;
    }
    if !failed.is_empty() && !interrupted.load(Ordering::Relaxed) {
        let lines: Vec<String> = failed
            .iter()
            .map(|(file, why)| format!("{file}: {why}"))
            .collect();
        let all = counted(candidates.len(), "plan");
        let message = format!("{} of {all} did not run", failed.len());
        return Err(Failure::new(Kind::Device, message).with_help(lines.join("\n")));
    }
    if complete < candidates.len() {
        let all = counted(all, "plan");
        let message = format!("interrupted after {measured} of {all}");
        return Err(Failure::new(Kind::Interrupted, message));
    }
    Ok(printed)
}

/// Runs a plan in a process of its own: a driver that crashes costs one plan, and none finds the leavings of another.
fn measure(args: &ValidateArgs, candidate: &Candidate) -> Result<Validated, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command
        .arg("run")
        .arg(args.directory.join(&candidate.file))
        .arg("--model")
        .arg(&args.model)
        .args(["--weights", &args.weights.to_string()])
        .args(["--frames", &args.frames.to_string(), "--json"]);
    for folder in &args.sources.kernel_dir {
        command.arg("--kernel-dir").arg(folder);
    }
    // All maps, so that the parts of a device are the same for all plans.
    for map in &args.map {
        command.args(["--map", &map.to_string()]);
    }
    let done = command.output().map_err(|error| error.to_string())?;
    if done.status.success() {
        let measured: Result<Measured, _> = serde_json::from_slice(&done.stdout);
        let measured = measured.map_err(|error| error.to_string())?;
        return Validated::new(candidate, &measured).ok_or_else(|| "too few frames".to_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let said: Vec<&str> = said
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last = &said[said.len().saturating_sub(3)..];
    Err(format!("{}: {}", done.status, last.join(" ")))
}

fn report(validation: &Validation) -> String {
    let times = |pair: Pair| format!("{} / {}", time(pair.predicted), time(pair.measured));
    let nothing = || NOTHING.to_owned();
    let rows = validation.plans.iter().map(|plan| {
        [
            plan.file.clone(),
            times(plan.latency_s),
            plan.saturated_latency_s.map_or_else(nothing, times),
            format!(
                "{:.2} / {:.2}",
                plan.throughput_fps.predicted, plan.throughput_fps.measured
            ),
        ]
    });
    let head = ["plan", "latency", "50th in stream", "frames/s"];
    let mut text = format!(
        "{} on {}: predicted / measured\n\n",
        validation.model, validation.soc
    );
    text.push_str(&table::table(&head, rows));
    text.push('\n');
    let agreement = |name: &str, agreement: Agreement| {
        let percent = |value: f64| format!("{:.1}%", 100.0 * value);
        [
            name.to_owned(),
            agreement.rmspe.map_or_else(nothing, percent),
            agreement
                .spearman
                .map_or_else(nothing, |value| format!("{value:.3}")),
        ]
    };
    let rows = [
        agreement("latency", validation.latency),
        agreement("50th in stream", validation.saturated_latency),
        agreement("throughput", validation.throughput),
    ];
    text.push_str(&table::table(&["", "RMSPE", "Spearman"], rows));
    text
}
