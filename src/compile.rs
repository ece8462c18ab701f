//! The whole pipeline as one function: from a verified graph and its costs to a front of checked plans.

use paracompile_frontend::cost::{CostTable, cost_facts};
use paracompile_frontend::facts::model_facts;
use paracompile_frontend::ir::VerifiedGraph;
use paracompile_frontend::soc::ProcessorSet;
use paracompile_plan::Plan;
use paracompile_plan::front::{EnergyAxis, Front};
use paracompile_plan::plan::{Label, StoppedBy};
use paracompile_plan::{Violation, check};
use rayon::prelude::*;

use crate::emit::{self, Claim, Emission, FrontRequest, Goal};
use crate::estimate::{Estimate, evaluate, evaluate_times};
use crate::mapping::PipelineMapping;
use crate::mapping::decompose::{MapperOptions, StageGraph, StageMapper};
use crate::mapping::{Budget, Effort, Granularity};
use crate::pareto::{Epsilon, Score};
use crate::partition::{CutRule, Segments, fuse_for, segment_by};
use crate::pipeline::{Candidate, MemoryDemand, pipelines};

/// What to search for, and how hard.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Which plan of the front to recommend; changes nothing else.
    pub goal: Goal,
    /// How finely operators are mapped inside a stage.
    pub granularity: Granularity,
    /// Where to cut besides gates.
    pub cuts: CutRule,
    /// The largest number of stages; `None` is as many as there are processors.
    pub max_stages: Option<usize>,
    /// A stage mapping whose gap is at most this, in millionths, is good enough.
    pub gap_millionths: u32,
    /// Counted work where no proof is reached.
    pub effort: Effort,
    /// When to stop; without a limit the result is a function of the other inputs.
    pub budget: Budget<'a>,
    /// Called at the start of each step.
    pub progress: Progress<'a>,
}

/// Told what is being done.
#[derive(Clone, Copy)]
pub struct Progress<'a>(pub &'a (dyn Fn(&str) + Sync));

impl std::fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Progress")
    }
}

/// Everything that a compile run found.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The network, fused and cut.
    pub segments: Segments,
    /// The front.
    pub front: Front,
    /// Plans of the front, then dominated bests and baselines.
    pub files: Vec<PlanFile>,
    /// Latency and throughput of every candidate, for pictures: seconds and frames a second.
    pub cloud: Vec<(f64, f64)>,
}

/// A plan and what it was made from.
#[derive(Clone, Debug)]
pub struct PlanFile {
    /// Path relative to `front.json`.
    pub file: String,
    /// The plan.
    pub plan: Plan,
    /// Who runs what.
    pub mapping: PipelineMapping,
    /// Its figures.
    pub estimate: Estimate,
}

/// Why there is no front.
///
/// Exhaustive, so that whoever turns it into an exit code decides about each variant.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The model computes nothing: every output is an input or a constant, or a view of one.
    #[error("the model has no operator to map: its outputs are views of inputs or constants")]
    NothingToMap,
    /// The chip's fault: no mapping fits its memories.
    #[error(
        "no mapping fits the memories of `{soc}`; the smallest need of {memory} is {needed} bytes, it has {limit}"
    )]
    DoesNotFit {
        /// The chip.
        soc: String,
        /// The memory that is exceeded by the plan that exceeds it least.
        memory: String,
        /// What that plan needs.
        needed: u64,
        /// What there is.
        limit: u64,
    },
    /// The user's or the chip's: nothing runs the whole network under the limits given.
    #[error("no mapping of at most {max_stages} stages runs every operator")]
    NoMapping {
        /// The limit.
        max_stages: usize,
    },
    /// The search was stopped before any mapping was complete.
    #[error("stopped before any mapping was complete")]
    Interrupted,
    /// Ours: a plan that the checker refuses.
    #[error("the plan {file} breaks its own rules: {}", .violations.first().map_or_else(String::new, ToString::to_string))]
    Wrong {
        /// Its file.
        file: String,
        /// All of it.
        violations: Vec<Violation>,
    },
    /// Ours: search and estimator disagree about a mapping.
    #[error("search and estimator disagree about a mapping: {searched} and {estimated}")]
    Disagreement {
        /// Latency, interval and dynamic energy as the search has them.
        searched: String,
        /// The same as the estimator has them.
        estimated: String,
    },
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
    (options.progress.0)("cutting the network");
    let segments = segment_by(fuse_for(graph, table), options.cuts);
    if segments.graph.ops.is_empty() {
        return Err(CompileError::NothingToMap);
    }
    let (candidates, baselines) = searched(graph, &segments, table, options)?;
    let scored: Vec<emit::Candidate> = candidates
        .iter()
        .map(|candidate| scored(table, candidate))
        .collect();
    let arrangement = emit::arrange(&table.soc, &scored, EPSILON);
    (options.progress.0)("writing plans down");
    let stopped_by = options.budget.stopped_by().unwrap_or(StoppedBy::Complete);
    let emit_one = |file: &str, mapping: &PipelineMapping, labels: &[Label]| {
        emit_one(graph, &segments, table, file, mapping, labels, stopped_by)
    };
    let mut files: Vec<PlanFile> = arrangement
        .entries
        .par_iter()
        .map(|entry| {
            emit_one(
                &entry.file,
                &candidates[entry.candidate].mapping,
                &entry.labels,
            )
        })
        .collect();
    let baseline_files: Vec<PlanFile> = baselines
        .par_iter()
        .map(|(name, mapping)| emit_one(&emit::baseline_file(name), mapping, &[]))
        .collect();
    (options.progress.0)("checking plans");
    refuse_wrong(graph, table, files.iter().chain(&baseline_files))?;
    let plans: Vec<Plan> = files.iter().map(|file| file.plan.clone()).collect();
    let named: Vec<(String, Plan)> = baselines
        .iter()
        .zip(&baseline_files)
        .map(|((name, _), file)| (name.clone(), file.plan.clone()))
        .collect();
    let front = emit::front(&FrontRequest {
        arrangement: &arrangement,
        plans: &plans,
        baselines: &named,
        effort: options.effort.name(),
        stopped_by,
        energy: EnergyAxis::ByProduct,
        goal: options.goal,
    })
    .expect("candidates are not empty, so the front has a plan for each goal");
    files.extend(baseline_files);
    Ok(Compiled {
        segments,
        front,
        files,
        cloud: cloud(&candidates),
    })
}

/// The relative width within which one plan of the front stands for others of nearly the same energy.
const EPSILON: Epsilon = Epsilon::from_millionths(10_000);

/// Candidates that the chip can hold, and the baselines among them by name.
fn searched(
    graph: &VerifiedGraph,
    segments: &Segments,
    table: &CostTable,
    options: &Options<'_>,
) -> Result<(Vec<Candidate>, Vec<Baseline>), CompileError> {
    let allowed = ProcessorSet::first(table.soc.processors.len());
    let mapper = StageMapper::new(
        StageGraph::new(segments, table, allowed),
        MapperOptions {
            granularity: options.granularity,
            gap_millionths: options.gap_millionths,
            effort: options.effort,
            budget: options.budget,
        },
    );
    (options.progress.0)("mapping blocks");
    mapper.prepare();
    (options.progress.0)("searching pipelines");
    let max_stages = options.max_stages.unwrap_or(allowed.len());
    let search = |demand: &MemoryDemand<'_>| {
        let cuts = segments.cuts.len();
        pipelines(&mapper, demand, cuts, allowed, max_stages, options.budget)
    };
    let demand = MemoryDemand::new(&segments.graph, table);
    let mut candidates = search(&demand);
    if candidates.is_empty() && !demand.limits().is_empty() {
        // Nothing fits: what comes closest says how much is missing.
        candidates = search(&MemoryDemand::unlimited(&segments.graph, table));
    }
    let mut baselines = baselines(&mapper, table);
    // A baseline that the chip cannot hold is no plan, so nothing is compared with it.
    baselines.retain(|(_, mapping)| {
        evaluate(&segments.graph, graph, table, mapping)
            .exceeded(&table.soc)
            .next()
            .is_none()
    });
    (options.progress.0)("timing candidates");
    agree(segments, table, &candidates)?;
    // A list schedule of the whole can be better than blocks that were not solved to the end.
    candidates.extend(baselines.iter().map(|(_, mapping)| {
        let times = evaluate_times(&segments.graph, table, mapping);
        Candidate::new(
            mapping.clone(),
            times.latency,
            times.interval,
            times.energy_dynamic,
        )
    }));
    let candidates = fitting(
        graph,
        segments,
        table,
        candidates,
        max_stages,
        options.budget,
    )?;
    Ok((candidates, baselines))
}

/// A baseline's name and mapping.
type Baseline = (String, PipelineMapping);

/// Holds every plan against its model and chip.
fn refuse_wrong<'a>(
    graph: &VerifiedGraph,
    table: &CostTable,
    files: impl Iterator<Item = &'a PlanFile>,
) -> Result<(), CompileError> {
    let (model, costs) = (model_facts(graph), cost_facts(graph, table));
    let files: Vec<_> = files.collect();
    let wrong = files
        .into_par_iter()
        .map(|file| (file, check(&file.plan, &model, &costs)))
        .find_first(|(_, violations)| !violations.is_empty());
    match wrong {
        None => Ok(()),
        Some((file, violations)) => Err(CompileError::Wrong {
            file: file.file.clone(),
            violations,
        }),
    }
}

/// Latency and throughput of candidates that take time.
fn cloud(candidates: &[Candidate]) -> Vec<(f64, f64)> {
    candidates
        .iter()
        .map(|candidate| {
            let interval = candidate.cost.bottleneck.to_seconds();
            (candidate.cost.latency.to_seconds(), 1.0 / interval)
        })
        .filter(|(_, rate)| rate.is_finite())
        .collect()
}

/// `single:*` and `heft`, with names (rule M13).
fn baselines(mapper: &StageMapper<'_>, table: &CostTable) -> Vec<(String, PipelineMapping)> {
    let single = table.soc.processors.iter().filter_map(|(id, processor)| {
        let stage = mapper.whole_on(id)?;
        Some((format!("single:{}", processor.name), stage))
    });
    let heft = mapper
        .whole_by_heft()
        .map(|stage| ("heft".to_owned(), stage));
    single
        .chain(heft)
        .map(|(name, stage)| {
            (
                name,
                PipelineMapping {
                    stages: vec![stage],
                },
            )
        })
        .collect()
}

/// Holds the estimator against the search: the same integers, or one of them is wrong.
fn agree(
    segments: &Segments,
    table: &CostTable,
    candidates: &[Candidate],
) -> Result<(), CompileError> {
    let wrong = candidates
        .par_iter()
        .map(|candidate| {
            let times = evaluate_times(&segments.graph, table, &candidate.mapping);
            let cost = &candidate.cost;
            let searched = (cost.latency, cost.bottleneck, cost.energy);
            let estimated = (times.latency, times.interval, times.energy_dynamic);
            (searched, estimated)
        })
        .find_first(|(searched, estimated)| searched != estimated);
    match wrong {
        None => Ok(()),
        Some((searched, estimated)) => Err(CompileError::Disagreement {
            searched: format!("{searched:?}"),
            estimated: format!("{estimated:?}"),
        }),
    }
}

/// The candidates that fit the chip's memories (rule M8).
fn fitting(
    graph: &VerifiedGraph,
    segments: &Segments,
    table: &CostTable,
    candidates: Vec<Candidate>,
    max_stages: usize,
    budget: Budget<'_>,
) -> Result<Vec<Candidate>, CompileError> {
    if candidates.is_empty() {
        return Err(match budget.stopped_by() {
            Some(_) => CompileError::Interrupted,
            None => CompileError::NoMapping { max_stages },
        });
    }
    if table
        .soc
        .memories
        .iter()
        .all(|(_, memory)| memory.limit.is_none())
    {
        return Ok(candidates);
    }
    let excess = |candidate: &Candidate| {
        evaluate(&segments.graph, graph, table, &candidate.mapping)
            .memory
            .into_iter()
            .filter_map(|used| {
                let limit = table.soc.memories[used.memory].limit?;
                (used.peak > limit).then_some((used.peak - limit, used.memory, used.peak, limit))
            })
            .max_by_key(|(excess, memory, ..)| (*excess, *memory))
    };
    let judged: Vec<_> = candidates.par_iter().map(excess).collect();
    if let Some((_, memory, needed, limit)) = judged
        .iter()
        .copied()
        .min_by_key(|excess| excess.map(|(excess, ..)| excess))
        .flatten()
    {
        return Err(CompileError::DoesNotFit {
            soc: table.soc.name.clone(),
            memory: table.soc.memories[memory].name.clone(),
            needed: needed.count(),
            limit: limit.count(),
        });
    }
    Ok(candidates
        .into_iter()
        .zip(judged)
        .filter(|(_, excess)| excess.is_none())
        .map(|(candidate, _)| candidate)
        .collect())
}

fn scored(table: &CostTable, candidate: &Candidate) -> emit::Candidate {
    let interval = candidate.cost.bottleneck;
    let static_power = candidate
        .mapping
        .used()
        .iter()
        .map(|processor| table.static_power(processor))
        .sum::<paracompile_plan::Milliwatts>();
    emit::Candidate {
        score: Score {
            latency: candidate.cost.latency,
            interval,
            energy: candidate.cost.energy + static_power.over(interval),
        },
        stages: candidate
            .mapping
            .stages
            .iter()
            .map(|stage| stage.processors)
            .collect(),
    }
}

fn emit_one(
    graph: &VerifiedGraph,
    segments: &Segments,
    table: &CostTable,
    file: &str,
    mapping: &PipelineMapping,
    labels: &[Label],
    stopped_by: StoppedBy,
) -> PlanFile {
    let estimate = evaluate(&segments.graph, graph, table, mapping);
    let claim = Claim {
        method: "the sum of the stages' own proofs".to_owned(),
        scope: "these stages on these processors, each for the places where it leaves its tensors"
            .to_owned(),
        stopped_by,
    };
    let plan = emit::plan(&Emission {
        graph,
        fused: &segments.graph,
        table,
        mapping,
        estimate: &estimate,
        labels,
        claim: &claim,
    });
    PlanFile {
        file: file.to_owned(),
        plan,
        mapping: mapping.clone(),
        estimate,
    }
}
