//! A case through the compiler.

use paracompile::emit::{self, Claim, Emission};
use paracompile::estimate::evaluate;
use paracompile::mapping::decompose::{MapperOptions, StageGraph, StageMapper};
use paracompile::mapping::{Budget, Effort};
use paracompile::partition::{CutRule, Segments, fuse, segment_by};
use paracompile::pipeline::{MemoryDemand, pipelines};
use paracompile_frontend::soc::ProcessorSet;
use paracompile_plan::plan::StoppedBy;
use paracompile_plan::{Milliwatts, Plan, check};
use paracompile_testkit::case::{Case, Cuts};

/// What the compiler makes of a case.
pub(crate) struct Compiled {
    /// The plans that no other one dominates.
    pub(crate) plans: Vec<Plan>,
    /// What the checker and the comparison of search and estimator say against them.
    pub(crate) faults: Vec<String>,
}

/// Compiles a case; the error is the message that a user would see.
pub(crate) fn compile(case: &Case) -> Result<Compiled, String> {
    let built = case.build().map_err(|error| error.to_string())?;
    let mut faults = Vec::new();
    if let Some(mapping) = case.limits.mapping {
        faults.push(format!("the runner cannot ask for {mapping:?} mapping yet"));
    }
    let segments = segment_by(fuse(&built.graph), cut_rule(case));
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
    let (model, costs) = match (case.model_facts(), case.cost_facts()) {
        (Ok(model), Ok(costs)) => (model, costs),
        (Err(error), _) | (_, Err(error)) => return Err(error.to_string()),
    };
    let mut plans: Vec<Plan> = Vec::new();
    for candidate in pipelines(
        &mapper,
        &MemoryDemand::new(&built.graph, &segments.graph, table),
        cuts,
        allowed,
        max_stages,
        options.budget,
    ) {
        let mapping = &candidate.mapping;
        let estimate = evaluate(&segments.graph, &built.graph, table, mapping);
        let power: Milliwatts = mapping
            .used()
            .iter()
            .map(|processor| table.static_power(processor))
            .sum();
        let searched = (
            candidate.cost.latency,
            candidate.cost.bottleneck,
            candidate.cost.energy + power.over(candidate.cost.bottleneck),
        );
        let estimated = (estimate.latency, estimate.interval, estimate.energy_active);
        if searched != estimated {
            faults.push(format!("searched {searched:?}, estimated {estimated:?}"));
        }
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
        let violations = check(&plan, &model, &costs);
        faults.extend(violations.iter().map(ToString::to_string));
        plans.push(plan);
    }
    let values: Vec<_> = plans.iter().map(objectives).collect();
    plans.retain(|plan| {
        let own = objectives(plan);
        !values
            .iter()
            .any(|other| *other != own && other.iter().zip(&own).all(|(a, b)| a <= b))
    });
    if plans.is_empty() {
        return Err("no mapping".to_owned());
    }
    Ok(Compiled { plans, faults })
}

fn objectives(plan: &Plan) -> [u64; 3] {
    let predicted = &plan.predicted;
    [
        predicted.latency_ns.count(),
        predicted.interval_ns.count(),
        predicted.energy_active_nj.count(),
    ]
}

/// Networks of cases are too small for inner cuts, unless the case asks for them.
fn cut_rule(case: &Case) -> CutRule {
    match case.limits.cuts {
        Cuts::Gates => CutRule::default(),
        Cuts::Positions(_) | Cuts::EveryDownSet => CutRule {
            block: 2,
            apart: 1,
            ..CutRule::default()
        },
    }
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
