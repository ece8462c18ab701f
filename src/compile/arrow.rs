//! The arrow of `ARCHITECTURE.md` as a function: one line a step, each of which takes what the one before has checked.

use std::collections::BTreeMap;
use std::sync::Arc;

use paracompile_frontend::cost::CostTable;
use paracompile_frontend::ir::VerifiedGraph;
use paracompile_frontend::soc::ProcessorSet;
use paracompile_plan::front::EnergyAxis;
use paracompile_plan::plan::{Label, StoppedBy};
use paracompile_plan::{Nanoseconds, Plan};
use rayon::prelude::*;

use super::agreement::agree;
use super::baselines::{Baseline, baselines};
use super::memories::fitting;
use super::plan_files::{check_all, plan_file};
use super::points::{Choice, mappers, powers, tables_of};
use super::streaming_hybrid::streaming_hybrid;
use super::{CompileError, Compiled, Options, PlanFile};
use crate::emit::{self, Arrangement, FrontRequest};
use crate::mapping::PipelineMapping;
use crate::mapping::decompose::{MapperOptions, StageGraph, StageMapper};
use crate::pareto::{Epsilon, Score};
use crate::partition::{Segments, fuse_for, segment_by};
use crate::pipeline::{Candidate, MemoryDemand, Searched, Sources, pipelines};

/// The relative width within which one plan of the front stands for others of nearly the same energy.
const EPSILON: Epsilon = Epsilon::from_millionths(10_000);

/// The search tries every set of processors for every stage and for the whole plan.
const MOST_PROCESSORS: usize = 6;

/// What is mapped, and what it costs.
pub(super) struct Inputs<'a> {
    /// The network.
    pub(super) graph: &'a VerifiedGraph,
    /// The same, fused and cut.
    pub(super) segments: &'a Segments,
    /// Its costs on the chip.
    pub(super) table: &'a CostTable,
    /// The same to be kept, where they are not the run's own.
    pub(super) own_table: Option<Arc<CostTable>>,
    /// Costs at other operating points, by points.
    pub(super) elsewhere: &'a BTreeMap<Vec<usize>, Arc<CostTable>>,
}

impl<'a> Inputs<'a> {
    /// The same with the costs at the points of a candidate.
    pub(super) fn at(&self, points: &[usize]) -> Inputs<'a> {
        let own = self.elsewhere.get(points);
        Inputs {
            graph: self.graph,
            segments: self.segments,
            table: own.map_or(self.table, |table| table),
            own_table: own.map(Arc::clone),
            elsewhere: self.elsewhere,
        }
    }
}

/// Maps `graph` with costs `table`: the Pareto front of checked plans.
///
/// # Panics
/// Never but by a fault of ours: a front is made of at least one candidate.
pub fn compile(
    graph: &VerifiedGraph,
    table: &CostTable,
    options: &Options<'_>,
) -> Result<Compiled, CompileError> {
    let step = options.progress.0;
    let count = table.soc.processors.len();
    if count > MOST_PROCESSORS {
        return Err(CompileError::TooManyProcessors {
            count,
            most: MOST_PROCESSORS,
        });
    }
    step("cutting the network");
    let segments = segment_by(fuse_for(graph, table), options.cuts);
    if segments.graph.ops.is_empty() {
        return Err(CompileError::NothingToMap);
    }
    let inputs = Inputs {
        graph,
        segments: &segments,
        table,
        own_table: None,
        elsewhere: &BTreeMap::new(),
    };
    let choice = options
        .points
        .map(|points| Choice::new(&inputs, points.tables, points.fixed));
    let mapper = mapper(&inputs, options);
    step("mapping blocks");
    mapper.prepare();
    step("searching pipelines");
    let demand = MemoryDemand::new(&segments.graph, table);
    let Searched {
        candidates: searched,
        share,
    } = search(&inputs, &mapper, &demand, choice.as_ref(), options);
    let baselines = baselines(&inputs, &mapper);
    step("timing candidates");
    let tables = tables_of(&searched, options.points.map(|points| points.tables));
    let inputs = Inputs {
        elsewhere: &tables,
        ..inputs
    };
    agree(&inputs, &searched)?;
    let candidates = rivals(&inputs, searched, &baselines, options)?;
    let scored: Vec<emit::Candidate> = candidates.iter().map(scored).collect();
    let arrangement = emit::arrange(&table.soc, &scored, EPSILON);
    step("proving bounds");
    let mut front: Vec<PipelineMapping> = arrangement
        .entries
        .iter()
        .map(|entry| candidates[entry.candidate].mapping.clone())
        .collect();
    // At other operating points the mapper would time them wrongly.
    let mut own: Vec<&mut PipelineMapping> = arrangement
        .entries
        .iter()
        .zip(&mut front)
        .filter(|(entry, _)| candidates[entry.candidate].points.is_empty())
        .map(|(_, mapping)| mapping)
        .collect();
    mapper.tighten(&mut own);
    step("writing plans down");
    let stopped_by = options.budget.stopped_by().unwrap_or(StoppedBy::Complete);
    let entries = arrangement.entries.par_iter().zip(&front);
    let entries = entries.map(|(entry, mapping)| {
        let candidate = &candidates[entry.candidate];
        plan_file(
            &inputs.at(&candidate.points),
            entry.file.clone(),
            mapping,
            &entry.labels,
            stopped_by,
        )
    });
    let mut baselines = baselines;
    baselines.extend(twin(&arrangement, &candidates, &table.operating_points));
    let others = baselines.par_iter().map(|baseline| {
        let file = emit::baseline_file(&baseline.name);
        plan_file(&inputs, file, &baseline.mapping, &[], stopped_by)
    });
    let files: Vec<PlanFile> = entries.chain(others).collect();
    let streaming_hybrid = streaming_hybrid(&inputs, &candidates).map(|candidate| {
        let file = "hybrid-L".to_owned();
        let inputs = inputs.at(&candidate.points);
        plan_file(&inputs, file, &candidate.mapping, &[], stopped_by)
    });
    step("checking plans");
    check_all(&inputs, &files)?;
    check_all(&inputs, streaming_hybrid.as_slice())?;
    let mut plans: Vec<Plan> = files.iter().map(|file| file.plan.clone()).collect();
    let baseline_plans = plans.split_off(arrangement.entries.len());
    let names = baselines.into_iter().map(|baseline| baseline.name);
    let front = emit::front(&FrontRequest {
        arrangement: &arrangement,
        candidates: &scored,
        plans: &plans,
        baselines: &names.zip(baseline_plans).collect::<Vec<_>>(),
        effort: options.effort.name(),
        stopped_by,
        energy: options.energy,
        energy_slack: f64::from(share) / 1e6,
        operating_points: choice.map(|choice| choice.searched(table)),
        soc: &table.soc,
        goal: options.goal,
    })
    .expect("candidates are not empty, so the front has a plan for each goal");
    Ok(Compiled {
        tight: demand.names(),
        front,
        files,
        streaming_hybrid,
        segments,
    })
}

/// The min-energy plan with every processor at the table's own operating point, where that is not where it is: what the points make of it.
fn twin(arrangement: &Arrangement, candidates: &[Candidate], own: &[usize]) -> Option<Baseline> {
    let entry = arrangement
        .entries
        .iter()
        .find(|entry| entry.on_front && entry.labels.contains(&Label::MinEnergy))?;
    let candidate = &candidates[entry.candidate];
    let used = candidate.mapping.used();
    let is_elsewhere = used.iter().any(|processor| {
        candidate
            .points
            .get(processor.index())
            .is_some_and(|point| *point != own[processor.index()])
    });
    is_elsewhere.then(|| Baseline {
        name: "twin:min-energy".to_owned(),
        mapping: candidate.mapping.clone(),
    })
}

fn mapper<'a>(inputs: &Inputs<'a>, options: &Options<'a>) -> StageMapper<'a> {
    StageMapper::new(
        StageGraph::new(inputs.segments, inputs.table, allowed(inputs)),
        mapper_options(options),
    )
}

/// How the mapper is asked to search.
pub(super) const fn mapper_options<'a>(options: &Options<'a>) -> MapperOptions<'a> {
    MapperOptions {
        granularity: options.granularity,
        gap_millionths: options.gap_millionths,
        effort: options.effort,
        shared_by: 1,
        energy: options.energy,
        budget: options.budget,
    }
}

pub(super) fn allowed(inputs: &Inputs<'_>) -> ProcessorSet {
    ProcessorSet::first(inputs.table.soc.processors.len())
}

fn max_stages(inputs: &Inputs<'_>, options: &Options<'_>) -> usize {
    options.max_stages.unwrap_or(allowed(inputs).len())
}

/// The pipelines that no other covers; where the memories hold none, those of a chip with room for all, which say how much is missing.
fn search(
    inputs: &Inputs<'_>,
    fastest: &StageMapper<'_>,
    demand: &MemoryDemand<'_>,
    choice: Option<&Choice>,
    options: &Options<'_>,
) -> Searched {
    let elsewhere = match (options.points, choice) {
        (Some(points), Some(choice)) => mappers(inputs, points.tables, choice, options),
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

/// All that compete for the front: what the search found and the baselines, as far as the chip holds them.
fn rivals(
    inputs: &Inputs<'_>,
    searched: Vec<Candidate>,
    baselines: &[Baseline],
    options: &Options<'_>,
) -> Result<Vec<Candidate>, CompileError> {
    let baselines = baselines.iter().map(|baseline| baseline.candidate(inputs));
    let candidates: Vec<Candidate> = searched.into_iter().chain(baselines).collect();
    if candidates.is_empty() {
        return Err(match options.budget.stopped_by() {
            Some(stopped_by) => CompileError::Stopped(stopped_by),
            None => CompileError::NoMapping {
                max_stages: max_stages(inputs, options),
            },
        });
    }
    fitting(inputs, candidates)
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

fn scored(candidate: &Candidate) -> emit::Candidate {
    let interval = candidate.cost.bottleneck;
    emit::Candidate {
        score: Score {
            latency: candidate.cost.latency,
            interval,
            energy: candidate.cost.energy + candidate.cost.power.over(interval),
        },
        stages: candidate
            .mapping
            .stages
            .iter()
            .map(|stage| stage.processors)
            .collect(),
    }
}
