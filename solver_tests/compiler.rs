//! A case through the compiler.

use paracompile::compile::{Options, Progress};
use paracompile::emit::{self, Claim, Emission, Goal};
use paracompile::estimate::{Estimate, evaluate};
use paracompile::mapping::decompose::{MapperOptions, StageGraph, StageMapper};
use paracompile::mapping::{Budget, Effort, Granularity};
use paracompile::partition::{CutRule, Segments, fuse, segment_by};
use paracompile::pipeline::pipelines;
use paracompile_frontend::soc::ProcessorSet;
use paracompile_plan::plan::StoppedBy;
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
/// The compiler chooses its cut points itself; a case that names them goes through its steps one by one.
pub(crate) fn compile(case: &Case) -> Result<Compiled, String> {
    let built = case.build().map_err(|error| error.to_string())?;
    let mut faults = Vec::new();
    let found = match case.limits.cuts {
        Cuts::Gates => whole(case, &built)?,
        Cuts::Positions(_) | Cuts::EveryDownSet => steps(case, &built, &mut faults),
    };
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
fn whole(case: &Case, built: &Built) -> Result<Vec<(Plan, Estimate)>, String> {
    let options = Options {
        goal: Goal::Balanced,
        granularity: match case.limits.mapping {
            Some(Mapping::Coarse) => Granularity::Coarse,
            Some(Mapping::Fine) => Granularity::Fine,
            Some(Mapping::Auto) | None => Granularity::Auto,
        },
        max_stages: case.limits.max_stages,
        gap_millionths: 0,
        effort: Effort::Normal,
        budget: Budget::UNLIMITED,
        progress: Progress(&|_| {}),
    };
    let compiled = paracompile::compile::compile(&built.graph, &built.costs, &options)
        .map_err(|error| error.to_string())?;
    let on_front = |file: &str| compiled.front.plans.iter().any(|plan| plan.file == file);
    Ok(compiled
        .files
        .iter()
        .filter(|file| on_front(&file.file))
        .map(|file| (file.plan.clone(), file.estimate.clone()))
        .collect())
}

/// The compiler's steps with cuts wherever two operators lie between gates.
fn steps(case: &Case, built: &Built, faults: &mut Vec<String>) -> Vec<(Plan, Estimate)> {
    let rule = CutRule {
        block: 2,
        apart: 1,
        ..CutRule::default()
    };
    let segments = segment_by(fuse(&built.graph), rule);
    faults.extend(cut_faults(case, &segments));
    let table = &built.costs;
    let allowed = ProcessorSet::first(table.soc.processors.len());
    let options = MapperOptions {
        effort: Effort::Normal,
        budget: Budget::UNLIMITED,
    };
    let mapper = StageMapper::new(StageGraph::new(&segments, table, allowed), options);
    mapper.prepare();
    let max_stages = case.limits.max_stages.unwrap_or(allowed.len());
    let cuts = segments.cuts.len();
    let mut found: Vec<(Plan, Estimate)> =
        pipelines(&mapper, cuts, allowed, max_stages, options.budget)
            .iter()
            .map(|candidate| {
                let mapping = &candidate.mapping;
                let estimate = evaluate(&segments.graph, &built.graph, table, mapping);
                let plan = emit::plan(&Emission {
                    graph: &built.graph,
                    fused: &segments.graph,
                    table,
                    mapping,
                    estimate: &estimate,
                    labels: &[],
                    claim: &Claim {
                        method: "the sum of the stages".to_owned(),
                        scope: "the stages' own".to_owned(),
                        stopped_by: StoppedBy::Complete,
                    },
                });
                (plan, estimate)
            })
            .collect();
    let values: Vec<_> = found.iter().map(|(plan, _)| objectives(plan)).collect();
    found.retain(|(plan, _)| {
        let own = objectives(plan);
        !values
            .iter()
            .any(|other| *other != own && other.iter().zip(&own).all(|(a, b)| a <= b))
    });
    found
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

fn objectives(plan: &Plan) -> [u64; 3] {
    let predicted = &plan.predicted;
    [
        predicted.latency_ns.count(),
        predicted.interval_ns.count(),
        predicted.energy_active_nj.count(),
    ]
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
