//! `paracompile report`: the page of a run, made again from its files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use paracompile::cost::{CostFacts, cost_facts};
use paracompile::facts::model_facts;
use paracompile::front::Front;
use paracompile::ir::VerifiedGraph;
use paracompile::partition::fuse_for;
use paracompile::pipeline::MemoryDemand;
use paracompile::plan::{Plan, read_front, read_plan, write_text};
use paracompile::report::{Known, ReportError, Request, html};

use crate::args::ReportArgs;
use crate::check::{points, unreadable};
use crate::failure::{Failure, Kind};
use crate::input::Chip;
use crate::{input, notes};

/// The page's name beside `front.json`.
pub(crate) const REPORT: &str = "report.html";
const WITHOUT_MODEL: &str = "This page was made from plan files alone: classes of operators, sources of their times and sizes of memories are missing.";

/// Runs the command.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let front = front(&args.directory)?;
    let output = output(args)?;
    let plans = plans(&args.directory, &front)?;
    let plans: Vec<(&str, &Plan)> = plans.iter().map(|(file, plan)| (*file, plan)).collect();
    let page = if let (Some(model), Some(soc)) = (&args.model, &args.soc) {
        let chip = input::soc(soc, &args.processors, true)?;
        let imported = input::model(model, &args.dims, true)?;
        let graph = &imported.graph;
        let recommended = plans.iter().find(|(file, _)| *file == front.recommended);
        let points = recommended.map(|(_, plan)| points(plan, &chip.chosen));
        let costs = args.costs.as_deref();
        let table = input::costs(graph, &chip, costs, points.as_deref())?;
        let elsewhere = costs_at_points(graph, &chip, costs, &plans)?;
        let tight = MemoryDemand::new(&fuse_for(graph, &table), &table).names();
        let notes = recommended.map(|(_, plan)| {
            let soc = &chip.chosen;
            notes::all(soc, &imported.warnings, &tight, plan)
        });
        html(&Request {
            front: &front,
            plans: &plans,
            known: Some(Known {
                model: &model_facts(graph),
                costs: &cost_facts(graph, &table),
                elsewhere: &elsewhere,
            }),
            notes: &notes.unwrap_or_default(),
        })
    } else {
        html(&Request {
            front: &front,
            plans: &plans,
            known: None,
            notes: &[WITHOUT_MODEL.to_owned()],
        })
    };
    let page = page.map_err(|error| refused(&args.directory, &error))?;
    write_text(&output, &page).map_err(|error| Failure::from_error(Kind::File, &error))?;
    input::printed(&format!("Written to {}\n", output.display()))
}

/// Costs at the operating points of plans: tables enough that each point of each processor is in one.
///
/// Empty where one table says it all, which the caller has.
pub(crate) fn costs_at_points(
    graph: &VerifiedGraph,
    chip: &Chip,
    measured: Option<&Path>,
    plans: &[(&str, &Plan)],
) -> Result<Vec<CostFacts>, Failure> {
    let soc = &chip.chosen;
    let mut used: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); soc.processors.len()];
    for (_, plan) in plans {
        for (used, point) in used.iter_mut().zip(points(plan, soc)) {
            used.insert(point);
        }
    }
    let used: Vec<Vec<usize>> = used.into_iter().map(Vec::from_iter).collect();
    let most = used.iter().map(Vec::len).max().unwrap_or(0);
    if most <= 1 {
        return Ok(Vec::new());
    }
    (0..most)
        .map(|row| {
            let points: Vec<usize> = used
                .iter()
                .map(|used| used[row.min(used.len() - 1)])
                .collect();
            let table = input::costs(graph, chip, measured, Some(&points))?;
            Ok(cost_facts(graph, &table))
        })
        .collect()
}

/// Where to write; the page of the run itself is not replaced by one that knows less.
fn output(args: &ReportArgs) -> Result<PathBuf, Failure> {
    if let Some(output) = &args.output {
        return Ok(output.clone());
    }
    let page = args.directory.join(REPORT);
    if args.model.is_none() && page.exists() {
        return Err(Failure::new(
            Kind::Usage,
            format!(
                "{}: without the model and the chip the new page would know less than this one may",
                page.display()
            ),
        )
        .with_help("give --model and --soc as the run had them, or another file with -o"));
    }
    Ok(page)
}

fn front(directory: &Path) -> Result<Front, Failure> {
    let path = directory.join("front.json");
    read_front(&path).map_err(|error| {
        Failure::from_error(Kind::Plan, &error)
            .with_help("give a directory that paracompile MODEL --soc NAME wrote")
    })
}

/// Every plan that the front names, once.
fn plans<'f>(directory: &Path, front: &'f Front) -> Result<Vec<(&'f str, Plan)>, Failure> {
    let own = front.plans.iter().map(|plan| plan.file.as_str());
    let fastest = front.best_by_strategy.values();
    let best = fastest
        .chain(front.most_frames_by_strategy.values())
        .filter_map(|best| best.plan.as_deref());
    let baselines = front.baselines.iter();
    let baselines = baselines.map(|baseline| baseline.file.as_str());
    let mut files: Vec<&str> = own.chain(best).chain(baselines).collect();
    files.sort_unstable();
    files.dedup();
    files
        .into_iter()
        .map(|file| {
            let path: PathBuf = directory.join(file);
            let plan = read_plan(&path).map_err(|error| unreadable(&path, &error))?;
            Ok((file, plan))
        })
        .collect()
}

fn refused(directory: &Path, error: &ReportError) -> Failure {
    Failure::new(Kind::Plan, format!("{}: {error}", directory.display())).with_help(
        "give the --model, --dim, --soc and --costs that the run had; paracompile check tells everything that is wrong with a plan",
    )
}
