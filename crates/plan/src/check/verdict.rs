//! The two questions: is a plan a valid execution order, and is every figure in it right.

use super::dataflow::Dataflow;
use super::network::Network;
use super::order::Order;
use super::placement::Placement;
use super::profile::Profile;
use super::violation::Violation;
use super::{
    buffers, commands, components, constraints, energy, frames, granularity, header, kernels,
    memory, progress, proofs, queues, timing, transfers,
};
use crate::facts::{CostFacts, ModelFacts};
use crate::plan::Plan;

/// Every violation that can be seen without costs: a plan without any is a complete, deadlock-free execution order of the model.
///
/// The plan may come from anywhere; the facts must be consistent in themselves (indices in range), as importers make them.
/// Where a reference leads nowhere, what would follow it is not judged.
pub fn check_structure(plan: &Plan, model: &ModelFacts) -> Vec<Violation> {
    let network = Network::new(model);
    let mut found = Vec::new();
    head(plan, &network, &mut found);
    if let Some(placement) = Placement::resolve(plan, &network, &mut found) {
        constraints::judge(&placement, &mut found);
        let flow = Dataflow::derive(&placement, None);
        structure(&placement, flow, &mut found);
    }
    sorted(found)
}

/// Every violation: structure, and each figure recomputed from the facts.
pub fn check(plan: &Plan, model: &ModelFacts, costs: &CostFacts) -> Vec<Violation> {
    let network = Network::new(model);
    let mut found = Vec::new();
    head(plan, &network, &mut found);
    let profile = Profile::judge(plan, costs, &mut found);
    let placement = Placement::resolve(plan, &network, &mut found);
    if let Some(placement) = placement {
        let work = profile.and_then(|profile| {
            let work = timing::work(&placement, &profile, &mut found)?;
            Some((profile, work))
        });
        let needs = work.as_ref().map(|(_, work)| timing::workspaces(work));
        let flow = Dataflow::derive(&placement, needs.as_ref());
        constraints::judge(&placement, &mut found);
        let structure = structure(&placement, flow, &mut found);
        if let (Some((profile, work)), Some((flow, order))) = (work, structure) {
            figures(&placement, &profile, &work, &flow, &order, &mut found);
        }
    }
    sorted(found)
}

fn head(plan: &Plan, network: &Network<'_>, found: &mut Vec<Violation>) {
    header::judge(plan, network, found);
    proofs::judge(plan, found);
}

/// Judges everything but figures; returns what those need, if tasks and transfers can be put in order.
fn structure(
    placement: &Placement<'_>,
    mut flow: Dataflow,
    found: &mut Vec<Violation>,
) -> Option<(Dataflow, Order)> {
    buffers::judge(placement, &flow, found);
    kernels::judge(placement, found);
    components::judge(placement, found);
    granularity::judge(placement, found);
    queues::judge(placement, &flow, found);
    commands::judge_setup(placement, &flow, found);
    if !transfers::judge(placement, &mut flow, found) {
        return None;
    }
    progress::judge(placement, &flow, found);
    let order = Order::derive(placement, &flow, found)?;
    commands::judge_frame(placement, &flow, &order, found);
    Some((flow, order))
}

fn figures(
    placement: &Placement<'_>,
    profile: &Profile<'_>,
    work: &[timing::Work],
    flow: &Dataflow,
    order: &Order,
    found: &mut Vec<Violation>,
) {
    let Some(moves) = timing::moves(placement, flow, profile, found) else {
        return;
    };
    let factors = timing::slowdowns(placement, profile, false);
    let durations = timing::durations(placement, profile, work, &factors);
    let used = timing::schedule(order, &durations, &moves);
    let factors_alone = timing::slowdowns(placement, profile, true);
    let durations = timing::durations(placement, profile, work, &factors_alone);
    let alone = timing::schedule(order, &durations, &moves);
    timing::judge(placement, work, &moves, &used, &alone, found);
    frames::judge(placement, flow, &used, &alone, found);
    energy::judge(placement, profile, work, &factors, &moves, &used, found);
    memory::judge(placement, flow, &used, &profile.facts.memories, found);
}

fn sorted(mut found: Vec<Violation>) -> Vec<Violation> {
    found.sort_unstable();
    found.dedup();
    found
}
