//! A case through the compiler.

use paracompile::compile::{Options, Progress};
use paracompile::constraints::Constraints;
use paracompile::emit::Goal;
use paracompile::estimate::Estimate;
use paracompile::front::EnergyAxis;
use paracompile::mapping::{Budget, Effort, Granularity};
use paracompile::partition::{CutRule, Segments};
use paracompile_plan::{Plan, check};
use paracompile_testkit::case::{Built, Case, Cuts, Mapping};

/// What the compiler makes of a case.
pub(crate) struct Compiled {
    /// The plans that no other one dominates.
    pub(crate) plans: Vec<Plan>,
    /// What the checker and the estimator say against them.
    pub(crate) faults: Vec<String>,
}

/// Compiles a case; the error is the message that a user would see.
///
/// The compiler chooses its cut points itself; for a case that names them it cuts wherever two operators lie between gates.
pub(crate) fn compile(case: &Case) -> Result<Compiled, String> {
    let built = case.build().map_err(|error| error.to_string())?;
    let mut faults = Vec::new();
    let (found, segments) = whole(case, &built)?;
    faults.extend(cut_faults(case, &segments));
    // Both come from the case: what the compiler believes of model and chip has no part in the judgement.
    let model = case.model_facts().map_err(|error| error.to_string())?;
    let costs = case.cost_facts().map_err(|error| error.to_string())?;
    for (plan, estimate) in &found {
        let violations = check(plan, &model, &costs);
        faults.extend(violations.iter().map(ToString::to_string));
        faults.extend(disagreement(plan, estimate));
    }
    Ok(Compiled {
        plans: found.into_iter().map(|(plan, _)| plan).collect(),
        faults,
    })
}

/// The compiler as users have it: the plans of its front.
fn whole(case: &Case, built: &Built) -> Result<(Vec<(Plan, Estimate)>, Segments), String> {
    let cuts = match case.limits.cuts {
        Cuts::Gates => CutRule::default(),
        Cuts::Positions(_) | Cuts::EveryDownSet => CutRule {
            block: 2,
            apart: 1,
            ..CutRule::default()
        },
    };
    let processors = built.costs.soc.processors.iter();
    let queues: Vec<Vec<usize>> = processors
        .map(|(_, processor)| (1..=processor.sharing.len()).collect())
        .collect();
    let options = Options {
        goal: Goal::Balanced,
        granularity: match case.limits.mapping {
            Some(Mapping::Coarse) => Granularity::Coarse,
            Some(Mapping::Fine) => Granularity::Fine,
            Some(Mapping::Auto) | None => Granularity::Auto,
        },
        cuts,
        max_stages: case.limits.max_stages,
        gap_millionths: 0,
        effort: Effort::Normal,
        energy: EnergyAxis::ByProduct,
        points: None,
        queues: &queues,
        tasks: None,
        clustering: None,
        budget: Budget::UNLIMITED,
        constraints: &Constraints::NONE,
        progress: Progress(&|_| {}),
    };
    let compiled = paracompile::compile::compile(&built.graph, &built.costs, &options)
        .map_err(|error| error.to_string())?;
    let on_front = |file: &str| compiled.front.plans.iter().any(|plan| plan.file == file);
    let plans = compiled
        .files
        .iter()
        .filter(|file| on_front(&file.file))
        .map(|file| (file.plan.clone(), file.estimate.clone()))
        .collect();
    Ok((plans, compiled.segments))
}

/// What the estimator says against the figures of a plan.
fn disagreement(plan: &Plan, estimate: &Estimate) -> Option<String> {
    let predicted = &plan.predicted;
    let planned = (
        predicted.latency_ns,
        predicted.interval_ns,
        predicted.saturated_latency_ns,
        predicted.energy_active_nj,
    );
    let estimated = (
        estimate.latency,
        estimate.interval,
        estimate.saturated_latency,
        estimate.energy_active,
    );
    (planned != estimated).then(|| format!("planned {planned:?}, estimated {estimated:?}"))
}

/// A case that names its cuts means these and no others.
fn cut_faults(case: &Case, segments: &Segments) -> Vec<String> {
    let count = segments.graph.ops.len();
    let found: Vec<usize> = segments
        .cuts
        .iter()
        .map(|cut| cut.position)
        .filter(|&position| 0 < position && position < count)
        .collect();
    match &case.limits.cuts {
        Cuts::Positions(expected) if *expected != found => {
            vec![format!(
                "the compiler cuts at {found:?}, the case at {expected:?}"
            )]
        }
        Cuts::EveryDownSet => vec!["the compiler does not cut at every down-set".to_owned()],
        Cuts::Gates | Cuts::Positions(_) => Vec::new(),
    }
}
