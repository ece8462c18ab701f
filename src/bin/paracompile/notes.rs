//! What people should know of a run besides its figures, one sentence each; `None` where there is nothing to say.

use paracompile::import::Warning;
use paracompile::plan::{Plan, Source};
use paracompile::simulate::{Change, Links, SimulateOptions, simulate};
use paracompile::soc::{Processor, Soc};

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
        format!(
            "powers of `{}` are assumed: energies are examples",
            soc.name
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
            "if moves over one link wait for each other, the recommended plan changes: latency {:+.1}%, interval {:+.1}%",
            change.latency * 100.0,
            change.interval * 100.0
        )
    })
}
