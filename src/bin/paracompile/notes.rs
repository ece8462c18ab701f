//! What people should know of a run besides its figures, one sentence each; `None` where there is nothing to say.

use std::collections::BTreeSet;
use std::path::Path;

use paracompile::OpClass;
use paracompile::compile::{Clustering, Compiled};
use paracompile::constraints::{Constraints, PlacementRule};
use paracompile::cost::{CostEntry, CostTable, CostsFile};
use paracompile::front::Front;
use paracompile::import::Warning;
use paracompile::kernels::KernelId;
use paracompile::plan::{Constraint, Plan, Source, read_front, read_plan};
use paracompile::simulate::{Change, Links, SimulateOptions, simulate};
use paracompile::soc::{Processor, ProcessorSet, Soc};

use crate::input::counted;

/// All that there is to say of a run.
pub(crate) fn all(
    soc: &Soc,
    warnings: &[Warning],
    tight: &[String],
    recommended: &Plan,
) -> Vec<String> {
    synthetic(soc)
        .into_iter()
        .chain(assumed_powers(soc))
        .chain(warnings.iter().map(ToString::to_string))
        .chain(demands(recommended))
        .chain(waits(recommended))
        .chain(tight_memories(tight))
        .chain(busy_links(recommended))
        .map(|note| sentence(&note))
        .collect()
}

/// With a capital letter and a full stop, as a page has it.
fn sentence(note: &str) -> String {
    let mut letters = note.chars();
    let first = letters.next().map(char::to_uppercase);
    let first: String = first.into_iter().flatten().collect();
    format!("{first}{}.", letters.as_str())
}

/// Figures of a made-up chip are examples.
pub(crate) fn synthetic(soc: &Soc) -> Option<String> {
    soc.synthetic.then(|| {
        format!(
            "every number of the profile `{}` is assumed; read its figures as an example",
            soc.name
        )
    })
}

/// Energies are no better than the powers that they are made of; a synthetic chip says so of everything.
pub(crate) fn assumed_powers(soc: &Soc) -> Option<String> {
    let is_assumed = |processor: &Processor| {
        let points = &processor.operating_points;
        let mut sources = points.iter().flat_map(|point| &point.power_sources);
        sources.all(|source| *source == Source::Assumed)
    };
    (!soc.synthetic
        && soc
            .processors
            .iter()
            .all(|(_, processor)| is_assumed(processor)))
    .then(|| {
        if knows_power(soc) {
            format!(
                "powers of `{}` are assumed: energies are examples",
                soc.name
            )
        } else {
            format!(
                "powers of `{}` are zero: it was measured without a meter, and energies are unknown",
                soc.name
            )
        }
    })
}

/// Whether any power of the chip is more than zero.
pub(crate) fn knows_power(soc: &Soc) -> bool {
    let powers = soc.processors.iter().flat_map(|(_, processor)| {
        let points = &processor.operating_points;
        points
            .iter()
            .flat_map(|point| point.dynamic_power.values().chain([&point.static_power]))
    });
    powers.into_iter().any(|power| power.value() > 0.0)
}

/// Operators that a file of measured costs leaves to the profile: an interrupted measurement is one reason.
pub(crate) fn estimated(path: &Path, file: &CostsFile, table: &CostTable) -> Option<String> {
    let is_measured = |entry: &CostEntry| entry.source == Source::Measured;
    if !file.entries.iter().any(is_measured) {
        return None;
    }
    let lacks = table.soc.processors.iter().enumerate();
    let lacks = lacks.filter_map(|(index, (_, processor))| {
        let operators = table.operators.iter();
        let costs = operators
            .filter(|(_, costs)| costs[index].is_some())
            .count();
        let entries = file.entries.iter();
        let entries = entries
            .filter(|entry| entry.processor == processor.name)
            .count();
        let lacks = costs.saturating_sub(entries);
        (lacks > 0).then(|| format!("{} on {}", counted(lacks, "operator"), processor.name))
    });
    let lacks: Vec<String> = lacks.collect();
    (!lacks.is_empty()).then(|| {
        format!(
            "{} has no cost of {}: the profile estimates them",
            path.display(),
            few(&lacks)
        )
    })
}

/// What every plan was made to meet.
pub(crate) fn demands(plan: &Plan) -> Option<String> {
    let options: Vec<String> = plan.constraints.iter().map(Constraint::option).collect();
    (!options.is_empty()).then(|| format!("every plan meets {}", few(&options)))
}

/// Some of many, joined.
pub(crate) fn few(options: &[String]) -> String {
    const SHOWN: usize = 6;
    let more = options.len().saturating_sub(SHOWN);
    let mut shown: Vec<String> = options.iter().take(SHOWN).cloned().collect();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    match shown.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => String::new(),
    }
}

/// A plan that is run slower than it could be, for the sake of power.
pub(crate) fn waits(plan: &Plan) -> Option<String> {
    let (least, chosen) = (plan.predicted.interval_ns, plan.pace());
    plan.waits().then(|| {
        format!(
            "the recommended plan admits a frame every {chosen}, though it could every {least}: faster, it would draw more power than is allowed"
        )
    })
}

/// A front under memory limits is not the front of all mappings.
pub(crate) fn tight_memories(names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| {
        format!(
            "{} cannot hold every mapping; the front is the best of the mappings that were tried, and better ones may exist",
            names.join(" and ")
        )
    })
}

/// What the model leaves out, where it would be noticed: moves that queue for a link.
pub(crate) fn busy_links(plan: &Plan) -> Option<String> {
    let base = SimulateOptions::default();
    let serial = SimulateOptions {
        links: Links::Serial,
        ..base
    };
    let (Ok(base), Ok(serial)) = (simulate(plan, &base), simulate(plan, &serial)) else {
        // A plan that passes the checker runs, so that only a limit on frames can stand in the way.
        return None;
    };
    let change = Change::between(&base, &serial);
    change.exceeds(0.02).then(|| {
        format!(
            "if moves over one link wait for each other, the recommended plan would have latency {:+.1}% and interval {:+.1}%; `paracompile simulate PLAN --serial-links` shows it",
            change.latency * 100.0,
            change.interval * 100.0
        )
    })
}

/// An earlier run in the same directory, where it was about something else: its files are replaced.
pub(crate) fn replaced(directory: &Path, front: &Front, recommended: &Plan) -> Option<String> {
    let old = read_front(&directory.join("front.json")).ok()?;
    let plan = read_plan(&directory.join(&old.recommended)).ok();
    let mut differences = Vec::new();
    if let Some(plan) = &plan {
        if plan.model.graph_digest != recommended.model.graph_digest {
            differences.push("with another graph".to_owned());
        } else if plan.model.dims != recommended.model.dims || operators(&old) != operators(front) {
            differences.push("that read the model otherwise".to_owned());
        }
        if plan.soc.digest != recommended.soc.digest {
            differences.push("with another profile or other costs".to_owned());
        }
    }
    let processors = processors(&old);
    if processors != self::processors(front) {
        let names: Vec<&str> = processors.into_iter().collect();
        differences.push(format!("on {}", names.join(", ")));
    }
    (!differences.is_empty()).then(|| {
        format!(
            "replaces an earlier run of `{}` on `{}` in {}, {}; --out keeps both",
            old.model,
            old.soc,
            directory.display(),
            differences.join(", ")
        )
    })
}

/// Names of all processors that a plan of the front or a baseline uses.
fn processors(front: &Front) -> BTreeSet<&str> {
    let plans = front.plans.iter().map(|plan| &plan.figures);
    let baselines = front.baselines.iter().map(|baseline| &baseline.figures);
    plans
        .chain(baselines)
        .flat_map(|figures| &figures.stages)
        .flat_map(|stage| &stage.processors)
        .map(String::as_str)
        .collect()
}

/// How many operators of the model the plans run: with `--as-written`, more of the same graph.
fn operators(front: &Front) -> u64 {
    let stages = front.plans.first().map(|plan| &plan.figures.stages);
    stages
        .into_iter()
        .flatten()
        .fold(0, |sum, stage| sum.saturating_add(stage.operators))
}

/// What is no baseline, and why: processors by themselves, and a clustering that was asked for.
pub(crate) fn no_baselines(
    compiled: &Compiled,
    table: &CostTable,
    constraints: &Constraints,
    clustering: Option<Clustering<'_>>,
) -> Vec<String> {
    let clustering = clustering.and_then(|it| no_clustering(compiled, constraints, it));
    let alone = not_alone(compiled, table, constraints);
    alone.into_iter().chain(clustering).collect()
}

/// Why the clustering of a specification is no baseline; nothing where it is one, or where tasks are not those that it is of.
fn no_clustering(
    compiled: &Compiled,
    constraints: &Constraints,
    clustering: Clustering<'_>,
) -> Option<String> {
    let mut baselines = compiled.front.baselines.iter();
    let is_there = baselines.any(|baseline| baseline.name == "clustering");
    let operators = &compiled.segments.graph.ops;
    if is_there || operators.iter().any(|(_, op)| op.members.len() > 1) {
        return None;
    }
    let breaks = |rule: &&PlacementRule| {
        operators.iter().any(|(_, op)| {
            let kernel = KernelId::from_index(op.members[0].index());
            let device = clustering
                .configuration
                .device_of(clustering.clusters, kernel);
            rule.concerns(op) && rule.leaves(ProcessorSet::only(device)).is_empty()
        })
    };
    Some(constraints.placements.iter().find(breaks).map_or_else(
        || "the chip cannot hold the clustering of the file".to_owned(),
        |rule| format!("the clustering of the file would break {rule}"),
    ))
}

/// Processors that are no baseline by themselves, and why.
fn not_alone(compiled: &Compiled, table: &CostTable, constraints: &Constraints) -> Vec<String> {
    let baselines = &compiled.front.baselines;
    let mut lines = Vec::new();
    for (id, processor) in table.soc.processors.iter() {
        let single = format!("single:{}", processor.name);
        if baselines.iter().any(|baseline| baseline.name == single) {
            continue;
        }
        let operators = compiled.segments.graph.ops.iter();
        let lacks: BTreeSet<OpClass> = operators
            .filter(|(_, op)| table.group(&op.members, id).is_none())
            .map(|(_, op)| op.class)
            .collect();
        let lacks: Vec<&str> = lacks.into_iter().map(OpClass::name).collect();
        let own = ProcessorSet::only(id);
        let mut rules = constraints.placements.iter();
        let excluded = rules.find(|rule| rule.leaves(own).is_empty());
        lines.push(if let Some(rule) = excluded.filter(|_| lacks.is_empty()) {
            format!("{} alone would break {rule}", processor.name)
        } else if lacks.is_empty() {
            // What runs everything and is no plan has no room for it.
            format!("{} alone cannot hold the network", processor.name)
        } else {
            format!("{} alone cannot run: {}", processor.name, lacks.join(", "))
        });
    }
    lines
}
