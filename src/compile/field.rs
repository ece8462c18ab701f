//! One search under given demands: who runs what, before anything is chosen.

use std::collections::BTreeMap;

use paracompile_frontend::soc::ProcessorSet;
use paracompile_plan::plan::StoppedBy;
use paracompile_plan::{Bytes, Nanojoules, Nanoseconds};

use super::agreement::agree;
use super::arrow::{Inputs, mapper_options};
use super::baselines::{Baseline, baselines};
use super::{CompileError, Options};
use crate::constraints::Eligibility;
use crate::mapping::decompose::{StageGraph, StageMapper};
use crate::pipeline::{Candidate, Capacity, MemoryDemand, Sources, pipelines};

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
    pub(super) fn rivals(&self, inputs: &Inputs<'_>) -> Vec<Candidate> {
        let baselines = self.baselines.iter();
        let baselines = baselines.map(|baseline| baseline.candidate(inputs));
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
    let step = options.progress.0;
    let graph = StageGraph::new(inputs.segments, inputs.table, allowed(inputs))
        .only(|op, processor| eligibility.allows(op, processor));
    let mapper = StageMapper::new(graph, mapper_options(options));
    step("mapping blocks");
    mapper.prepare(&|done, count| options.progress.blocks(done, count));
    let known = mapper.one_stage();
    options.progress.known("searching pipelines", known);
    let demand = MemoryDemand::within(&inputs.segments.graph, inputs.table, capacities);
    let searched = search(inputs, &mapper, &demand, options);
    // Asked for at once: a limit that is reached later has cut nothing.
    let stopped_by = options.budget.stopped_by().or_else(|| {
        let blocks = options.budget.of_blocks();
        mapper.was_cut().then(|| blocks.stopped_by()).flatten()
    });
    options.progress.known("timing baselines", known);
    let baselines = baselines(inputs, &mapper, capacities);
    options.progress.known("timing candidates", known);
    agree(inputs, &searched)?;
    Ok(Field {
        searched,
        baselines,
        tight: demand.names(),
        stopped_by,
    })
}

/// Lower bounds under given placements.
pub(super) fn floor(inputs: &Inputs<'_>, eligibility: &Eligibility) -> Floor {
    let graph = StageGraph::new(inputs.segments, inputs.table, allowed(inputs))
        .only(|op, processor| eligibility.allows(op, processor));
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

fn allowed(inputs: &Inputs<'_>) -> ProcessorSet {
    ProcessorSet::first(inputs.table.soc.processors.len())
}

pub(super) fn max_stages(inputs: &Inputs<'_>, options: &Options<'_>) -> usize {
    options.max_stages.unwrap_or(allowed(inputs).len())
}

/// The pipelines that no other covers; where the memories hold none, those of a chip with room for all, which say how much is missing.
fn search(
    inputs: &Inputs<'_>,
    fastest: &StageMapper<'_>,
    demand: &MemoryDemand<'_>,
    options: &Options<'_>,
) -> Vec<Candidate> {
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
            lean,
            demand,
        };
        let cuts = inputs.segments.cuts.len();
        let max_stages = max_stages(inputs, options);
        pipelines(sources, cuts, allowed(inputs), max_stages, options.budget)
    };
    let found = within(demand, &lean);
    if found.is_empty() && !lean.is_empty() {
        let unlimited = MemoryDemand::unlimited(&inputs.segments.graph, inputs.table);
        return within(&unlimited, &lean);
    }
    found
}
