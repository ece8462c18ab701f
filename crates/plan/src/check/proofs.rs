//! Proofs against the figures that they are about (rule M9); whether a bound is true is beyond a checker.

use super::violation::{Place, Violation, compare};
use crate::Nanoseconds;
use crate::plan::{Plan, Proof};

/// Adds what contradicts the rest of the plan.
pub(super) fn judge(plan: &Plan, found: &mut Vec<Violation>) {
    for (index, stage) in plan.stages.iter().enumerate() {
        proof(
            &Place::Stage(index),
            &stage.proof,
            stage.time_alone_ns,
            found,
        );
    }
    let at = Place::Plan;
    proof(&at, &plan.proof, plan.predicted.latency_ns, found);
    let bounds: Nanoseconds = plan.stages.iter().map(|stage| stage.proof.bound_ns).sum();
    compare(
        found,
        &at,
        "proof.bound_ns",
        &plan.proof.bound_ns.count(),
        &bounds.count(),
    );
    let worst = plan.stages.iter().map(|stage| stage.proof.stopped_by).max();
    if let Some(worst) = worst.filter(|&worst| plan.proof.stopped_by < worst) {
        compare(
            found,
            &at,
            "proof.stopped_by",
            &plan.proof.stopped_by,
            &worst,
        );
    }
}

fn proof(at: &Place, proof: &Proof, value: Nanoseconds, found: &mut Vec<Violation>) {
    compare(
        found,
        at,
        "proof.value_ns",
        &proof.value_ns.count(),
        &value.count(),
    );
    if proof.bound_ns > proof.value_ns {
        found.push(Violation::BoundAboveValue {
            at: at.clone(),
            bound: proof.bound_ns.count(),
            value: proof.value_ns.count(),
        });
    }
    for (field, text) in [
        ("proof.method", &proof.method),
        ("proof.scope", &proof.scope),
    ] {
        if text.trim().is_empty() {
            found.push(Violation::Empty {
                at: at.clone(),
                field,
            });
        }
    }
}
