//! `paracompile check`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use paracompile::cost::cost_facts;
use paracompile::facts::model_facts;
use paracompile::plan::{FileKind, Plan, ReadError, Violation, check, read_plan};
use paracompile::soc::Soc;

use crate::args::CheckArgs;
use crate::failure::{Failure, Kind};
use crate::input;
use crate::input::counted;
use crate::terminal;

/// How many violations of one plan are printed; the rest are counted.
const SHOWN: usize = 50;
/// How many correct plans are named one by one; more are counted.
const NAMED: usize = 12;

/// Runs the command: exit code 1 with every violation.
pub(crate) fn run(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let plans = plans(&args.path)?;
    let imported = input::model(&args.model, &args.dims, true)?;
    let chip = input::soc(&args.soc, &[], true)?;
    let mut model = model_facts(&imported.graph);
    // Plans of one run can be at different operating points.
    let mut costs = BTreeMap::<Vec<usize>, _>::new();
    let mut text = String::new();
    let mut wrong = 0;
    // Violations beside another digest.
    let mut follow = 0;
    // Plans of one run share the digest of their chip, so that one line says it of all.
    let mut digests: BTreeMap<String, usize> = BTreeMap::new();
    for (path, plan) in &plans {
        refuse_strangers(
            path,
            plan,
            &imported.graph.name,
            &imported.graph.digest,
            &chip.chosen,
        )?;
        // The file may have been renamed: the digest says whose plan it is.
        model.name.clone_from(&plan.model.name);
        let points = points(plan, &chip.chosen);
        if !costs.contains_key(&points) {
            let measured = args.costs.as_deref();
            let table = input::costs(&imported.graph, &chip, measured, Some(&points))?;
            costs.insert(points.clone(), cost_facts(&imported.graph, &table));
        }
        let (digest, violations): (Vec<Violation>, Vec<Violation>) = check(
            plan,
            &model,
            &costs[&points],
        )
        .into_iter()
        .partition(
            |violation| matches!(violation, Violation::Differs { field, .. } if *field == "digest"),
        );
        for violation in &digest {
            *digests.entry(violation.to_string()).or_default() += 1;
        }
        if violations.is_empty() && digest.is_empty() {
            if plans.len() <= NAMED {
                let _ = writeln!(text, "{}: correct", path.display());
            }
            continue;
        }
        wrong += 1;
        if !digest.is_empty() {
            // Figures of another profile or of other costs differ all over, which says nothing about the plan.
            follow += violations.len();
            continue;
        }
        let _ = writeln!(
            text,
            "{}: {}",
            path.display(),
            counted(violations.len(), "violation")
        );
        for violation in violations.iter().take(SHOWN) {
            let _ = writeln!(text, "  {violation}");
        }
        if violations.len() > SHOWN {
            let _ = writeln!(text, "  … and {} more", violations.len() - SHOWN);
        }
    }
    for (violation, count) in &digests {
        let _ = writeln!(text, "{}: {violation}", counted(*count, "plan"));
    }
    if follow > 0 {
        let _ = writeln!(
            text,
            "  {} beside that, which may all follow from it",
            counted(follow, "violation")
        );
    }
    if wrong == 0 && plans.len() > 1 {
        let _ = writeln!(text, "{} correct", counted(plans.len(), "plan"));
    }
    terminal::print(&text).map_err(|error| Failure::from_error(Kind::File, &error))?;
    if wrong > 0 {
        let verb = if wrong == 1 { "is" } else { "are" };
        let failure = Failure::new(
            Kind::No,
            format!("{wrong} of {} {verb} wrong", counted(plans.len(), "plan")),
        );
        return Err(if digests.is_empty() {
            failure
        } else {
            failure.with_help(format!(
                "the digest of the chip differs: give the profile `{}` that the plans were made with, and with --costs the measured costs, if there were some",
                args.soc
            ))
        });
    }
    Ok(ExitCode::SUCCESS)
}

/// The operating point of each processor of the chip in a plan; the first where the plan does not use it, or names a point that the profile lacks, which the checker then says.
pub(crate) fn points(plan: &Plan, soc: &Soc) -> Vec<usize> {
    soc.processors
        .iter()
        .map(|(_, processor)| {
            let used = plan
                .processors
                .iter()
                .find(|used| used.name == processor.name);
            used.and_then(|used| {
                let mut points = processor.operating_points.iter();
                points.position(|point| point.name == used.operating_point)
            })
            .unwrap_or(0)
        })
        .collect()
}

/// A plan of another model or chip is a wrong question, not a wrong plan.
fn refuse_strangers(
    path: &Path,
    plan: &Plan,
    name: &str,
    digest: &str,
    soc: &Soc,
) -> Result<(), Failure> {
    if plan.model.graph_digest != digest {
        return Err(Failure::new(
            Kind::Plan,
            format!(
                "{}: this plan is for another model\n  the plan's: `{}`, digest {}\n  the one given: `{name}`, digest {digest}",
                path.display(),
                plan.model.name,
                plan.model.graph_digest,
            ),
        )
        .with_help("give --model the file, and --dim the bindings, that the plan was made from"));
    }
    if plan.soc.name != soc.name {
        return Err(Failure::new(
            Kind::Plan,
            format!(
                "{}: this plan is for the chip `{}`, not for `{}`",
                path.display(),
                plan.soc.name,
                soc.name
            ),
        )
        .with_help(format!("--soc {}", plan.soc.name)));
    }
    Ok(())
}

/// The plan itself, or all in `plans/` and `baselines/` of an output directory, or all in a directory of plans.
fn plans(path: &Path) -> Result<Vec<(PathBuf, Plan)>, Failure> {
    let mut files = Vec::new();
    if path.is_dir() {
        let nested = ["plans", "baselines"].map(|name| path.join(name));
        let folders: Vec<&Path> = if nested[0].is_dir() {
            nested
                .iter()
                .map(PathBuf::as_path)
                .filter(|folder| folder.is_dir())
                .collect()
        } else {
            vec![path]
        };
        for folder in folders {
            let entries = fs::read_dir(folder).map_err(|error| {
                Failure::new(Kind::File, format!("{}: {error}", folder.display()))
            })?;
            let mut found: Vec<PathBuf> = entries
                .filter_map(|entry| entry.ok().map(|entry| entry.path()))
                .filter(|file| {
                    file.extension()
                        .is_some_and(|extension| extension == "json")
                })
                .collect();
            found.sort();
            files.append(&mut found);
        }
        if files.is_empty() {
            return Err(Failure::new(
                Kind::Usage,
                format!("{}: there is no plan in this directory", path.display()),
            )
            .with_help("give a plan file, or a directory that paracompile wrote"));
        }
    } else {
        files.push(path.to_owned());
    }
    files
        .into_iter()
        .map(|file| match read_plan(&file) {
            Ok(plan) => Ok((file, plan)),
            Err(error) => Err(unreadable(&file, &error)),
        })
        .collect()
}

/// Why a plan file cannot be read; a front, a model or a directory are common mistakes.
pub(crate) fn unreadable(file: &Path, error: &ReadError) -> Failure {
    match FileKind::of(file).filter(|kind| *kind != FileKind::Plan) {
        Some(kind) => Failure::new(
            Kind::Plan,
            format!("{}: this is {kind}, not a plan", file.display()),
        )
        .with_help(kind.remedy()),
        None => Failure::from_error(Kind::Plan, error),
    }
}
