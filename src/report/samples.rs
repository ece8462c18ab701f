//! A small run for tests of the page.

use paracompile_plan::Plan;
use paracompile_plan::facts::{CostFacts, ModelFacts};
use paracompile_plan::front::{EnergyAxis, Front};
use paracompile_plan::plan::StoppedBy;

use crate::emit::fixtures::{CHAIN, Scenario, hand};
use crate::emit::{self, Candidate, FrontRequest, Goal, arrange};
use crate::pareto::Epsilon;

fn scenario(stages: &[&[usize]]) -> Scenario {
    hand(&CHAIN, &[3], stages, |_| {})
}

/// A plan of a chain of three operators; each stage is a placement of those that follow.
pub(super) fn plan(stages: &[&[usize]]) -> Plan {
    let scenario = scenario(stages);
    scenario.plan(&scenario.estimate())
}

/// What a compile run leaves.
pub(super) struct Run {
    pub(super) front: Front,
    pub(super) plans: Vec<(String, Plan)>,
    pub(super) model: ModelFacts,
    pub(super) costs: CostFacts,
}

impl Run {
    pub(super) fn plans(&self) -> Vec<(&str, &Plan)> {
        let plans = self.plans.iter();
        plans.map(|(file, plan)| (file.as_str(), plan)).collect()
    }
}

/// A front of two plans and one baseline.
pub(super) fn run() -> Run {
    let scenarios = [
        scenario(&[&[0, 0, 0]]),
        scenario(&[&[1, 1, 1]]),
        scenario(&[&[0, 0], &[1]]),
    ];
    let candidates: Vec<Candidate> = scenarios.iter().map(Scenario::candidate).collect();
    let arrangement = arrange(&scenarios[0].table.soc, &candidates, Epsilon::EXACT);
    let plan = |scenario: &Scenario| scenario.plan(&scenario.estimate());
    let entries = arrangement.entries.iter();
    let plans: Vec<Plan> = entries
        .map(|entry| plan(&scenarios[entry.candidate]))
        .collect();
    let baselines = [("single:p1".to_owned(), plan(&scenarios[1]))];
    let front = emit::front(&FrontRequest {
        arrangement: &arrangement,
        plans: &plans,
        baselines: &baselines,
        candidates: &candidates,
        effort: "normal",
        stopped_by: StoppedBy::Complete,
        energy: EnergyAxis::ByProduct,
        energy_slack: 0.0,
        operating_points: None,
        queues: std::collections::BTreeMap::new(),
        soc: &scenarios[0].table.soc,
        goal: Goal::Balanced,
    })
    .expect("there are candidates");
    let files = arrangement.entries.iter().map(|entry| entry.file.clone());
    let mut plans: Vec<(String, Plan)> = files.zip(plans).collect();
    let [(_, baseline)] = baselines;
    plans.push((front.baselines[0].file.clone(), baseline));
    Run {
        front,
        plans,
        model: scenarios[0].model.clone(),
        costs: scenarios[0].costs.clone(),
    }
}
