//! `paracompile compare MODEL… --soc …`: our plans beside the baselines.
//!
//! A model or a chip that fails costs its own comparisons alone: the others are printed, then all failures are named together and decide the exit code.
//! A document is updated only if nothing failed, since a row that is missing would go unnoticed there.

use std::process::ExitCode;
use std::time::Instant;

use paracompile::compare::{Comparison, Survey, compare};
use paracompile::compile::{Options, Progress};
use paracompile::constraints::Constraints;
use paracompile::emit::Goal;
use paracompile::front::EnergyAxis;
use paracompile::import::Imported;
use paracompile::mapping::{Budget, Granularity};
use paracompile::partition::CutRule;
use paracompile::plan::StoppedBy;
use serde_json::json;

use crate::args::CompareArgs;
use crate::compare_tables::{markdown, of_model, of_survey};
use crate::document::Document;
use crate::failure::{Failure, Kind};
use crate::input::{Chip, printed};
use crate::map::{effort, failed, in_pool};
use crate::{input, interrupt, queues, terminal};

/// Runs the command.
pub(crate) fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    named_once("--soc", args.soc.iter().map(String::as_str))?;
    let paths: Vec<String> = args
        .models
        .iter()
        .map(|it| it.display().to_string())
        .collect();
    named_once("the model", paths.iter().map(String::as_str))?;
    let mut failures = Vec::new();
    let mut chips: Vec<Chip> = Vec::new();
    for soc in &args.soc {
        match input::soc(soc, &args.processors, args.quiet) {
            Ok(chip) => chips.push(chip),
            Err(failure) => failures.push(failure),
        }
    }
    named_once(
        "the chip",
        chips.iter().map(|chip| chip.chosen.name.as_str()),
    )?;
    let mut models: Vec<Imported> = Vec::new();
    for path in &args.models {
        match input::model(path, &args.dims, args.quiet) {
            Ok(imported) => {
                let digest = &imported.graph.digest;
                if models.iter().any(|known| known.graph.digest == *digest) {
                    return Err(Failure::new(
                        Kind::Usage,
                        format!("{}: the same network as another one", path.display()),
                    )
                    .with_help("a network that is given twice would count twice in means"));
                }
                models.push(imported);
            }
            Err(failure) => failures.push(failure),
        }
    }
    let document = match &args.update {
        Some(path) => {
            let names: Vec<&str> = chips.iter().map(|it| it.chosen.name.as_str()).collect();
            Some(Document::read(path, &names)?)
        }
        None => None,
    };
    interrupt::listen()?;
    let comparisons = in_pool(args.threads, || {
        compare_all(args, &chips, &models, &mut failures)
    })?;
    report(args, &chips, &comparisons, document, failures)
}

/// Every model on every chip, chip by chip; an interrupt ends the list.
fn compare_all(
    args: &CompareArgs,
    chips: &[Chip],
    models: &[Imported],
    failures: &mut Vec<Failure>,
) -> Vec<Comparison> {
    let started = Instant::now();
    let progress = terminal::Progress::new(args.quiet);
    let mut comparisons = Vec::new();
    let all = chips.len() * models.len();
    for (place, (chip, imported)) in chips
        .iter()
        .flat_map(|chip| models.iter().map(move |model| (chip, model)))
        .enumerate()
    {
        let graph = &imported.graph;
        let subject = format!("{} on {}", graph.name, chip.chosen.name);
        let show = |text: &str| {
            progress.show(&format!(
                "{:5.1} s  {} of {all}, {subject}: {text}",
                started.elapsed().as_secs_f64(),
                place + 1,
            ));
        };
        let stop = || interrupt::asked().then_some(StoppedBy::Interrupt);
        let queues = queues::every_count(&chip.chosen);
        let options = Options {
            goal: Goal::Balanced,
            granularity: Granularity::Auto,
            cuts: CutRule::default(),
            max_stages: None,
            gap_millionths: 0,
            effort: effort(args.effort),
            energy: EnergyAxis::ByProduct,
            points: None,
            queues: &queues,
            tasks: None,
            clustering: None,
            budget: Budget::until(&stop),
            constraints: &Constraints::NONE,
            progress: Progress(&show),
        };
        let compared = input::costs(graph, chip, None, None)
            .and_then(|table| compare(graph, &table, &options).map_err(|error| failed(&error)));
        progress.clear();
        if interrupt::asked() {
            failures.push(Failure::new(
                Kind::Interrupted,
                format!("{subject}: interrupted; it and what comes behind it is left out"),
            ));
            break;
        }
        match compared {
            Ok(comparison) => comparisons.push(comparison),
            Err(failure) => failures.push(failure.about(&subject)),
        }
    }
    comparisons
}

fn report(
    args: &CompareArgs,
    chips: &[Chip],
    comparisons: &[Comparison],
    document: Option<Document>,
    failures: Vec<Failure>,
) -> Result<ExitCode, Failure> {
    let on = |chip: &Chip| -> Vec<&Comparison> {
        comparisons
            .iter()
            .filter(|comparison| comparison.soc == chip.chosen.name)
            .collect()
    };
    let surveyed: Vec<(Vec<&Comparison>, Survey)> = chips
        .iter()
        .map(|chip| (on(chip), Survey::of(&chip.chosen.name, &on(chip))))
        .filter(|(comparisons, _)| !comparisons.is_empty())
        .collect();
    if args.json {
        let text = serde_json::to_string_pretty(&json!({
            "schema": 1,
            "comparisons": comparisons,
            "surveys": surveyed.iter().map(|(_, survey)| survey).collect::<Vec<_>>(),
            "failures": failures.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }))
        .expect("comparisons serialise");
        printed(&format!("{text}\n"))?;
    } else if args.markdown {
        for (comparisons, survey) in &surveyed {
            printed(&format!(
                "## On {}\n\n{}",
                survey.soc,
                markdown(comparisons, survey)
            ))?;
        }
    } else if let Some(document) = document.filter(|_| failures.is_empty()) {
        let tables: Vec<(&str, String)> = surveyed
            .iter()
            .map(|(comparisons, survey)| (survey.soc.as_str(), markdown(comparisons, survey)))
            .collect();
        document.write(&tables)?;
    } else if args.update.is_none() {
        let mut parts: Vec<String> = comparisons.iter().map(of_model).collect();
        parts.extend(
            surveyed
                .iter()
                .filter(|(comparisons, _)| comparisons.len() > 1)
                .map(|(comparisons, survey)| of_survey(survey, comparisons.len())),
        );
        printed(&parts.join("\n"))?;
    }
    match Failure::all(failures) {
        Some(failure) => Err(failure),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// What is given twice would count twice in means.
fn named_once<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Failure> {
    let mut seen = Vec::new();
    for name in names {
        if seen.contains(&name) {
            return Err(Failure::new(
                Kind::Usage,
                format!("{what} {name}: given twice"),
            ));
        }
        seen.push(name);
    }
    Ok(())
}
