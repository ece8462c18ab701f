//! `pararun validate`: every plan of a compile run, executed, beside its predictions.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use paracompile_plan::write_json;
use paracompile_runtime::bind::bind;
use paracompile_runtime::input::gather;
use paracompile_runtime::meter::EnergyMeter;
use paracompile_runtime::model::load_for;
use paracompile_runtime::run::{RunOptions, Task, run as run_plan};
use paracompile_runtime::validate::{
    Agreement, Pair, Validated, Validation, candidates, digest_of_predictions,
};
use paracompile_runtime::weights::{RandomWeights, WeightSource};

use crate::args::ValidateArgs;
use crate::failure::{Failure, Kind};
use crate::run::{bound, weights};
use crate::{problems, table, terminal};

/// Runs the command.
pub(crate) fn run(args: &ValidateArgs, interrupted: &AtomicBool) -> Result<ExitCode, Failure> {
    let (front, candidates) = candidates(&args.directory)
        .map_err(|error| Failure::from_error(Kind::Plan, &error).at(&args.directory))?;
    let Some(first) = candidates.first() else {
        return Err(Failure::new(Kind::Plan, "no plans to run").at(&args.directory));
    };
    let predictions = digest_of_predictions(&candidates);
    let progress = terminal::Progress::new(args.quiet);
    if !args.json && !args.quiet {
        terminal::note(&format!(
            "{} plans; SHA-256 of their predictions, before any runs: {predictions}",
            candidates.len()
        ));
    }
    let program = load_for(&first.plan, &args.model)
        .map_err(|error| problems::model(&error, &args.directory.join(&first.file), &args.model))?;
    let seed = match args.weights {
        WeightSource::File => None,
        WeightSource::Random { seed } => Some(seed),
    };
    let random = seed
        .map(|seed| RandomWeights::of(&program, seed))
        .transpose()
        .map_err(|error| Failure::from_error(Kind::Model, &error).at(&args.model))?;
    let inputs =
        gather(&program, &[], seed.unwrap_or(0)).map_err(|error| problems::input(&error))?;
    let inputs: Vec<Vec<u8>> = inputs.into_iter().map(|tensor| tensor.bytes).collect();
    // All processors of the profile that any plan uses, so that the parts of a device are the same for all plans.
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
    let constants = weights(&program, &binding, random.as_ref())?;
    let bound = bound(&binding);
    let meter = EnergyMeter::find();
    let options = RunOptions {
        frames: usize::try_from(args.frames).unwrap_or(usize::MAX),
        meter: Some(&meter),
        ..RunOptions::default()
    };
    let mut validated = Vec::new();
    for (index, candidate) in candidates.iter().enumerate() {
        progress.show(&format!(
            "{} of {}: {}",
            index + 1,
            candidates.len(),
            candidate.file
        ));
        let used = candidate.plan.processors.iter();
        let used: Vec<&str> = used.map(|processor| processor.name.as_str()).collect();
        let own = bound
            .iter()
            .filter(|bound| used.contains(&bound.processor.as_str()));
        let own: Vec<_> = own.cloned().collect();
        let task = Task {
            plan: &candidate.plan,
            plan_digest: &candidate.digest,
            program: &program,
            constants: &constants,
        };
        let run = run_plan(&task, &own, &inputs, &options, interrupted)
            .map_err(|error| problems::run(&error, &args.directory.join(&candidate.file)))?;
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
        validated.push(Validated::new(candidate, &run.measured));
    }
    progress.clear();
    let complete = validated.len();
    let validation = Validation::new(&front, predictions, validated);
    if let Some(path) = &args.fidelity {
        write_json(path, &validation.fidelity())
            .map_err(|error| Failure::from_error(Kind::File, &error))?;
    }
    if let Some(path) = &args.out {
        write_json(path, &validation).map_err(|error| Failure::from_error(Kind::File, &error))?;
    }
    let text = if args.json {
        let text = serde_json::to_string_pretty(&validation);
        text.map_err(|error| Failure::from_error(Kind::Bug, &error))? + "\n"
    } else {
        report(&validation)
    };
    let printed = terminal::printed(&text)?;
    if complete < candidates.len() {
        let message = format!("interrupted after {complete} of {} plans", candidates.len());
        return Err(Failure::new(Kind::Interrupted, message));
    }
    Ok(printed)
}

fn report(validation: &Validation) -> String {
    let milliseconds =
        |pair: Pair| format!("{:.2} / {:.2}", pair.predicted * 1e3, pair.measured * 1e3);
    let rows = validation.plans.iter().map(|plan| {
        [
            plan.file.clone(),
            milliseconds(plan.latency_s),
            plan.saturated_latency_s
                .map_or_else(|| "-".to_owned(), milliseconds),
            format!(
                "{:.2} / {:.2}",
                plan.throughput_fps.predicted, plan.throughput_fps.measured
            ),
        ]
    });
    let head = ["plan", "latency, ms", "50th in stream, ms", "frames/s"];
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
            agreement.rmspe.map_or_else(|| "-".to_owned(), percent),
            agreement
                .spearman
                .map_or_else(|| "-".to_owned(), |value| format!("{value:.3}")),
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
