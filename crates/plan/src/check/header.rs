//! What the head of a plan says about the model and about its own shape.

use super::network::Network;
use super::violation::{Place, Violation, compare};
use crate::plan::{Constraint, Figure, Label, Plan, SCHEMA, Strategy};

/// Adds every difference.
pub(super) fn judge(plan: &Plan, network: &Network<'_>, found: &mut Vec<Violation>) {
    compare(found, &Place::Plan, "schema", &plan.schema, &SCHEMA);
    model(plan, network, found);
    let shape: Vec<usize> = (plan.stages.iter())
        .map(|stage| stage.processors.len())
        .collect();
    compare(
        found,
        &Place::Plan,
        "strategy",
        &plan.strategy,
        &Strategy::of(&shape),
    );
    admission(plan, found);
    labels(plan, found);
    contention(plan, found);
}

fn model(plan: &Plan, network: &Network<'_>, found: &mut Vec<Violation>) {
    let at = Place::Model;
    let facts = network.facts;
    let stated = &plan.model;
    let names = |tensors: &[usize]| -> Vec<&str> {
        tensors.iter().map(|&tensor| network.name(tensor)).collect()
    };
    let fused = plan.tasks.iter().any(|task| task.operators.len() > 1);
    let read = facts.rewrites.iter().map(String::as_str);
    let rewrites: Vec<&str> = read.chain(fused.then_some("fusion")).collect();
    compare(found, &at, "name", &stated.name, &facts.name);
    compare(found, &at, "kind", &stated.kind, &facts.kind);
    compare(
        found,
        &at,
        "graph_digest",
        &stated.graph_digest,
        &facts.graph_digest,
    );
    compare(found, &at, "dims", &stated.dims, &facts.dims);
    compare(found, &at, "rewrites", &texts(&stated.rewrites), &rewrites);
    compare(
        found,
        &at,
        "inputs",
        &texts(&stated.inputs),
        &names(&facts.inputs),
    );
    compare(
        found,
        &at,
        "outputs",
        &texts(&stated.outputs),
        &names(&facts.outputs),
    );
}

/// Frames are admitted at the interval, or more rarely where power is limited.
fn admission(plan: &Plan, found: &mut Vec<Violation>) {
    let limits_power = plan.constraints.iter().any(|constraint| {
        matches!(
            constraint,
            Constraint::Require {
                figure: Figure::PowerActive | Figure::PowerBoard,
                ..
            }
        )
    });
    let least = plan.predicted.interval_ns;
    if plan.admission_interval_ns < least || !limits_power {
        compare(
            found,
            &Place::Plan,
            "admission_interval_ns",
            &plan.admission_interval_ns,
            &least,
        );
    }
}

fn texts(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

fn labels(plan: &Plan, found: &mut Vec<Violation>) {
    let mut previous = None;
    for &label in &plan.labels {
        let fits = match label {
            Label::HybridLatency | Label::HybridThroughput => plan.strategy == Strategy::Hybrid,
            Label::MinLatency | Label::MaxThroughput | Label::MinEnergy | Label::Balanced => true,
        };
        if !fits || previous >= Some(label) {
            found.push(Violation::WrongLabel {
                label: label.name(),
            });
        }
        previous = Some(label);
    }
}

/// Sets name processors of the plan, factors members of the set; the factors themselves need the profile.
fn contention(plan: &Plan, found: &mut Vec<Violation>) {
    for (index, entry) in plan.contention.iter().enumerate() {
        let strangers = (entry.set.iter())
            .filter(|name| !(plan.processors.iter()).any(|processor| processor.name == **name))
            .map(|name| ("set", name));
        let outsiders = (entry.factor.keys())
            .filter(|name| !entry.set.contains(name))
            .map(|name| ("factor", name));
        for (field, name) in strangers.chain(outsiders) {
            found.push(Violation::UnknownReference {
                at: Place::Contention(index),
                field,
                value: name.clone(),
            });
        }
    }
}
