//! One search under given demands: who runs what, before anything is chosen.

use std::collections::BTreeMap;
use std::sync::Arc;

use paracompile_frontend::cost::CostTable;
use paracompile_frontend::soc::Symmetry;
use paracompile_plan::front::{EnergyAxis, PointsSearched};
use paracompile_plan::plan::StoppedBy;
use paracompile_plan::{Bytes, Nanojoules, Nanoseconds};

use super::agreement::agree;
use super::arrow::{Inputs, allowed, mapper_options};
use super::baselines::{Baseline, baselines};
use super::points::{Choice, mappers, powers, tables_of};
use super::{CompileError, Options, Points};
use crate::constraints::Eligibility;
use crate::mapping::PipelineMapping;
use crate::mapping::decompose::{Known, QueuesAllowed, StageGraph, StageMapper};
use crate::pipeline::{
    Candidate, Capacity, MemoryDemand, Sameness, Searched, Sources, pipelines, symmetry,
};

/// What a search found, and what nothing can be better than.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// Pipelines that no other covers.
    pub(super) searched: Vec<Candidate>,
    /// Baselines that the memories hold.
    pub(super) baselines: Vec<Baseline>,
    /// Names of the capacities that can bind.
    pub(super) tight: Vec<String>,
    /// Why the search was cut, if it was.
    pub(super) stopped_by: Option<StoppedBy>,
    /// Costs at the operating points of candidates, where they are not the table's own.
    pub(super) tables: BTreeMap<Vec<usize>, Arc<CostTable>>,
    /// The share of its energy, in millionths, that a plan that was thinned away may be better by.
    pub(super) share: u32,
    /// The operating points that were tried.
    pub(super) operating_points: Option<PointsSearched>,
    /// What progress tells: of what, and how good it is.
    pub(super) known: (&'static str, Option<Known>),
}

/// What no plan is below.
#[derive(Clone, Copy, Debug)]
pub(super) struct Floor {
    pub(super) latency: Nanoseconds,
    pub(super) interval: Nanoseconds,
    pub(super) energy: Nanojoules,
    /// Of all memories together: every weight lies somewhere.
    pub(super) memory: Bytes,
}

impl Field {
    /// All that compete for the front: baselines can be better than blocks that were not solved to the end.
    ///
    /// One with another number of queues than the user asks for is there to be compared with alone.
    pub(super) fn rivals(&self, inputs: &Inputs<'_>) -> Vec<Candidate> {
        let allowed = queues_allowed(inputs);
        let has_allowed_queues = |mapping: &PipelineMapping| {
            let counts = mapping.queue_counts();
            let mut used = mapping.used().iter();
            used.all(|processor| allowed.counts[processor.index()].contains(&counts.of(processor)))
        };
        let baselines = self.baselines.iter();
        let baselines = baselines
            .filter(|baseline| has_allowed_queues(&baseline.mapping))
            .map(|baseline| baseline.candidate(inputs));
        self.searched.iter().cloned().chain(baselines).collect()
    }
}

/// Searches where every task runs on a processor that it is eligible for and no capacity is exceeded.
pub(super) fn explore(
    inputs: &Inputs<'_>,
    eligibility: &Eligibility,
    capacities: &[Capacity],
    options: &Options<'_>,
) -> Result<Field, CompileError> {
    let choice = options
        .points
        .map(|points| Choice::new(inputs, points.tables, points.fixed));
    let graph = stage_graph(inputs, eligibility).up_to(interchangeable(
        inputs,
        eligibility,
        options.points,
    ));
    let mapper = StageMapper::new(graph, mapper_options(options));
    let what = "one frame";
    let at_first = mapper.at_first();
    options.progress.known("mapping blocks", what, at_first);
    mapper.prepare(&|done, count, known| options.progress.blocks(done, count, known.or(at_first)));
    let known = mapper.one_stage().or(at_first);
    options.progress.known("searching pipelines", what, known);
    let demand = MemoryDemand::within(&inputs.segments.graph, inputs.table, capacities);
    let Searched {
        candidates: searched,
        share,
    } = search(
        inputs,
        &mapper,
        &demand,
        (eligibility, choice.as_ref()),
        options,
    );
    // Asked for at once: a limit that is reached later has cut nothing.
    let stopped_by = options.budget.stopped_by().or_else(|| {
        let blocks = options.budget.of_blocks();
        mapper.was_cut().then(|| blocks.stopped_by()).flatten()
    });
    let best = fastest(&searched);
    let (what, known) = best.map_or((what, known), |best| ("plan", Some(best)));
    options.progress.known("timing baselines", what, known);
    let clustering = options.clustering;
    let baselines = baselines(inputs, &mapper, eligibility, capacities, clustering);
    options.progress.known("timing candidates", what, known);
    let tables = tables_of(&searched, options.points.map(|points| points.tables));
    agree(
        &Inputs {
            elsewhere: &tables,
            ..inputs.clone()
        },
        &searched,
    )?;
    Ok(Field {
        tables,
        share,
        operating_points: choice.map(|choice| choice.searched(inputs.table)),
        searched,
        baselines,
        tight: demand.names(),
        stopped_by,
        known: (what, known),
    })
}

/// The least latency of a pipeline, and what is proven of its stages.
fn fastest(searched: &[Candidate]) -> Option<Known> {
    let best = searched
        .iter()
        .min_by_key(|candidate| candidate.cost.latency)?;
    Some(Known::of(best.cost.latency, &best.mapping))
}

/// Which processors may swap places in the plans of a run.
fn interchangeable(
    inputs: &Inputs<'_>,
    eligibility: &Eligibility,
    points: Option<Points<'_>>,
) -> Symmetry {
    let elsewhere = points.map_or(&[][..], |points| points.tables.tables());
    let tables: Vec<&CostTable> = std::iter::once(inputs.table).chain(elsewhere).collect();
    let fixed = points.map_or(&[][..], |points| points.fixed);
    symmetry(Sameness {
        fused: &inputs.segments.graph,
        tables: &tables,
        allows: &|op, processor| eligibility.allows(op, processor),
        queues: inputs.queues,
        is_fixed: &|processor| fixed.get(processor.index()).copied().unwrap_or(false),
    })
}

/// Lower bounds under given placements, at whatever operating points the run may choose.
pub(super) fn floor(
    inputs: &Inputs<'_>,
    eligibility: &Eligibility,
    points: Option<Points<'_>>,
) -> Floor {
    let mut graph = stage_graph(inputs, eligibility);
    // What an operator costs on a processor depends on that processor's point alone.
    if let Some(points) = points {
        let processors = &inputs.table.soc.processors;
        let counts = || {
            processors
                .iter()
                .map(|(_, processor)| processor.operating_points.len())
        };
        for point in 0..counts().max().unwrap_or(0) {
            let chosen: Vec<usize> = counts().map(|count| point.min(count - 1)).collect();
            let table = points.tables.at(&chosen);
            let inputs = Inputs {
                table: &table,
                ..inputs.clone()
            };
            graph = graph.least_of(&stage_graph(&inputs, eligibility));
        }
    }
    let ops = inputs.segments.graph.ops.iter();
    let weights: BTreeMap<_, _> = ops
        .flat_map(|(_, op)| &op.weights)
        .map(|weight| (weight.tensor, weight.bytes))
        .collect();
    Floor {
        latency: graph.latency_bound(),
        interval: graph.interval_bound(),
        energy: graph.energy_bound(),
        memory: weights.values().copied().sum(),
    }
}

/// The network with the run's costs, where every task runs on a processor that it is eligible for.
pub(super) fn stage_graph(inputs: &Inputs<'_>, eligibility: &Eligibility) -> StageGraph {
    StageGraph::new(inputs.segments, inputs.table, allowed(inputs))
        .only(|op, processor| eligibility.allows(op, processor))
        .with_queues(queues_allowed(inputs))
}

/// How many compute queues the processors of a run may have.
pub(super) fn queues_allowed(inputs: &Inputs<'_>) -> QueuesAllowed {
    let processors = || inputs.table.soc.processors.iter();
    let counts = processors().map(|(id, _)| match inputs.queues.get(id.index()) {
        Some(counts) if !counts.is_empty() => counts.clone(),
        _ => vec![1],
    });
    QueuesAllowed {
        names: processors().map(|(_, it)| it.name.clone()).collect(),
        counts: counts.collect(),
        sharing: processors().map(|(_, it)| it.sharing.clone()).collect(),
    }
}

pub(super) fn max_stages(inputs: &Inputs<'_>, options: &Options<'_>) -> usize {
    options.max_stages.unwrap_or(allowed(inputs).len())
}

/// The pipelines that no other covers; where the memories hold none, those of a chip with room for all, which say how much is missing.
fn search(
    inputs: &Inputs<'_>,
    fastest: &StageMapper<'_>,
    demand: &MemoryDemand<'_>,
    (eligibility, choice): (&Eligibility, Option<&Choice>),
    options: &Options<'_>,
) -> Searched {
    let elsewhere = match (options.points, choice) {
        (Some(points), Some(choice)) => {
            let symmetry = fastest.graph().symmetry();
            mappers(
                inputs,
                points.tables,
                choice,
                (eligibility, symmetry),
                options,
            )
        }
        _ => Vec::new(),
    };
    let powers = powers(inputs.table);
    let is_by_time = options.energy == EnergyAxis::ByProduct && elsewhere.is_empty();
    // Nobody waits longer for a frame than for the slowest processor that runs everything by itself.
    let longest = longest(inputs);
    let lean: Vec<StageMapper<'_>> = demand
        .prices()
        .into_iter()
        .map(|price| {
            let graph = fastest
                .graph()
                .priced(|op, processor| demand.charge(price, op, processor));
            StageMapper::new(graph, mapper_options(options))
        })
        .collect();
    let within = |demand: &MemoryDemand<'_>, lean: &[StageMapper<'_>]| {
        let sources = Sources {
            fastest,
            fastest_points: &inputs.table.operating_points,
            powers: &powers,
            elsewhere: &elsewhere,
            lean,
            demand,
            most_labels: if is_by_time { usize::MAX } else { MOST_LABELS },
            longest,
        };
        let cuts = inputs.segments.cuts.len();
        let max_stages = max_stages(inputs, options);
        pipelines(sources, cuts, allowed(inputs), max_stages, options.budget)
    };
    let found = within(demand, &lean);
    if found.candidates.is_empty() && !lean.is_empty() {
        let unlimited = MemoryDemand::unlimited(&inputs.segments.graph, inputs.table);
        return within(&unlimited, &lean);
    }
    found
}

/// The sum of what each operator takes where it takes longest: no plan at the table's points has a longer interval but for moves and slowdowns.
fn longest(inputs: &Inputs<'_>) -> Nanoseconds {
    let processors = || inputs.table.soc.processors.ids();
    let ops = inputs.segments.graph.ops.iter();
    ops.filter_map(|(_, op)| {
        processors()
            .filter_map(|processor| inputs.table.group(&op.members, processor))
            .map(|cost| cost.time)
            .max()
    })
    .sum()
}

/// With energy as an objective: labels of one state of the pipeline search, beyond which they are thinned.
const MOST_LABELS: usize = 64;
