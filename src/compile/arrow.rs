//! The arrow of `ARCHITECTURE.md` as a function: one line a step, each of which takes what the one before has checked.

use std::collections::BTreeMap;
use std::sync::Arc;

use paracompile_frontend::cost::CostTable;
use paracompile_frontend::ir::VerifiedGraph;
use paracompile_frontend::soc::{ProcessorSet, Soc};
use paracompile_plan::plan::StoppedBy;
use paracompile_plan::{Nanoseconds, Plan};
use rayon::prelude::*;

use super::baselines::Baseline;
use super::conflict::conflict;
use super::demands::{Admitted, admitted, capacities};
use super::field::{Field, explore, max_stages, stage_graph};
use super::memories::fitting;
use super::plan_files::{Terms, check_all, plan_file};
use super::streaming_hybrid::streaming_hybrid;
use super::twin::twin;
use super::{CompileError, Compiled, Options, PlanFile};
use crate::constraints::{Constraints, Eligibility, PlacementRule, eligible};
use crate::emit::{self, Arrangement, FrontRequest, Goal, Tasks};
use crate::mapping::PipelineMapping;
use crate::mapping::decompose::{Known, MapperOptions, Purse, StageMapper};
use crate::pareto::{Epsilon, Score};
use crate::partition::{Segments, fuse_for, fuse_groups, segment_by};
use crate::pipeline::{Candidate, Capacity};

/// The relative width within which one plan of the front stands for others of nearly the same energy.
const EPSILON: Epsilon = Epsilon::from_millionths(10_000);

/// The search tries every set of processors for every stage and for the whole plan.
const MOST_PROCESSORS: usize = 6;

/// What is mapped, and what it costs.
#[derive(Clone)]
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
    /// [`Options::queues`].
    pub(super) queues: &'a [Vec<usize>],
    /// [`Options::tasks`].
    pub(super) tasks: Option<&'a Tasks>,
}

/// Of runs whose points are not part of the choice.
static NOWHERE_ELSE: BTreeMap<Vec<usize>, Arc<CostTable>> = BTreeMap::new();

impl<'a> Inputs<'a> {
    /// At the points of the cost table alone.
    pub(super) fn new(
        graph: &'a VerifiedGraph,
        segments: &'a Segments,
        table: &'a CostTable,
        queues: &'a [Vec<usize>],
    ) -> Self {
        Self {
            graph,
            segments,
            table,
            own_table: None,
            elsewhere: &NOWHERE_ELSE,
            queues,
            tasks: None,
        }
    }

    /// The same with the costs at the points of a candidate.
    pub(super) fn at(&self, points: &[usize]) -> Inputs<'a> {
        let own = self.elsewhere.get(points);
        Inputs {
            graph: self.graph,
            segments: self.segments,
            table: own.map_or(self.table, |table| table),
            own_table: own.map(Arc::clone),
            elsewhere: self.elsewhere,
            queues: self.queues,
            tasks: self.tasks,
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
    let segments = cut(graph, table, options)?;
    let inputs = Inputs {
        tasks: options.tasks,
        ..Inputs::new(graph, &segments, table, options.queues)
    };
    let asked = options.constraints;
    let rules: Vec<&PlacementRule> = asked.placements.iter().collect();
    let eligibility =
        eligible(&rules, graph, &segments.graph, table).map_err(CompileError::Stranded)?;
    let capacities = capacities(&table.soc, asked);
    let field = explore(&inputs, &eligibility, &capacities, options)?;
    let inputs = Inputs {
        elsewhere: &field.tables,
        ..inputs
    };
    let tight = field.tight.clone();
    let (mut baselines, rivals) = contenders(&inputs, &field, &capacities, options)?;
    let (candidates, admissions) = rivals;
    let scored: Vec<emit::Candidate> = candidates
        .iter()
        .zip(&admissions)
        .map(|(candidate, &admission)| scored(candidate, admission))
        .collect();
    let arrangement = emit::arrange(&table.soc, &scored, EPSILON);
    let progress = options.progress;
    progress.known("proving bounds", field.known.0, field.known.1);
    let (front, proofs_stopped_by) =
        proven(&inputs, &eligibility, &candidates, &arrangement, options);
    let stopped_by = field.stopped_by.or(proofs_stopped_by);
    let stopped_by = stopped_by.unwrap_or(StoppedBy::Complete);
    let recommended = recommended(&arrangement, &candidates, &front, options.goal);
    progress.known("writing plans down", "plan", recommended);
    // A baseline is there to be compared with: it obeys placements, and may miss what is required.
    let placed = Terms {
        constraints: asked.recorded_placements(graph, &table.soc),
        admission: Nanoseconds::ZERO,
        scope: scope(asked, &tight),
    };
    let all = asked.recorded(graph, &table.soc);
    let entries = arrangement.entries.par_iter().zip(&front);
    let entries = entries.map(|(entry, mapping)| {
        let terms = Terms {
            constraints: all.clone(),
            admission: admissions[entry.candidate],
            ..placed
        };
        plan_file(
            &inputs.at(&candidates[entry.candidate].points),
            entry.file.clone(),
            mapping,
            &entry.labels,
            stopped_by,
            &terms,
        )
    });
    baselines.extend(twin(&inputs, &arrangement, &candidates, options.goal));
    let others = baselines.par_iter().map(|baseline| {
        let file = emit::baseline_file(&baseline.name);
        let mut written = plan_file(&inputs, file, &baseline.mapping, &[], stopped_by, &placed);
        emit::name_components(&mut written.plan, &baseline.components);
        written
    });
    let files: Vec<PlanFile> = entries.chain(others).collect();
    let streaming_hybrid = streaming_hybrid(&inputs, &candidates).map(|candidate| {
        let file = "hybrid-L".to_owned();
        let inputs = inputs.at(&candidate.points);
        plan_file(&inputs, file, &candidate.mapping, &[], stopped_by, &placed)
    });
    progress.known("checking plans", "plan", recommended);
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
        energy_slack: f64::from(field.share) / 1e6,
        operating_points: field.operating_points.clone(),
        queues: queues_tried(&table.soc, options.queues),
        soc: &table.soc,
        goal: options.goal,
    })
    .expect("candidates are not empty, so the front has a plan for each goal");
    Ok(Compiled {
        segments,
        front,
        files,
        tight,
        streaming_hybrid,
    })
}

/// The numbers of queues that stages could have, by processor; empty where each has one.
fn queues_tried(soc: &Soc, queues: &[Vec<usize>]) -> BTreeMap<String, Vec<u32>> {
    let names = soc.processors.iter().map(|(_, processor)| &processor.name);
    let several = names.zip(queues).filter(|(_, counts)| *counts != &[1]);
    several
        .map(|(name, counts)| {
            let counts = counts.iter().filter_map(|&count| u32::try_from(count).ok());
            (name.clone(), counts.collect())
        })
        .collect()
}

/// The network, fused and cut, if the chip is one that is searched.
fn cut(
    graph: &VerifiedGraph,
    table: &CostTable,
    options: &Options<'_>,
) -> Result<Segments, CompileError> {
    let count = table.soc.processors.len();
    if count > MOST_PROCESSORS {
        return Err(CompileError::TooManyProcessors {
            count,
            most: MOST_PROCESSORS,
        });
    }
    (options.progress.0)("cutting the network");
    let fused = match options.tasks {
        Some(tasks) => fuse_groups(graph, &tasks.groups),
        None => fuse_for(graph, table),
    };
    let segments = segment_by(fused, options.cuts);
    if segments.graph.ops.is_empty() {
        return Err(CompileError::NothingToMap);
    }
    Ok(segments)
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

/// Latency and bound of the recommended plan.
fn recommended(
    arrangement: &Arrangement,
    candidates: &[Candidate],
    front: &[PipelineMapping],
    goal: Goal,
) -> Option<Known> {
    let mut entries = arrangement.entries.iter().zip(front);
    let (entry, mapping) = entries.find(|(entry, _)| entry.labels.contains(&goal.label()))?;
    Some(Known::of(candidates[entry.candidate].cost.latency, mapping))
}

/// The mappings of the arrangement, with the bounds of their stages raised, by a mapper for each choice of operating points; and what ended that before its work was done.
fn proven(
    inputs: &Inputs<'_>,
    eligibility: &Eligibility,
    candidates: &[Candidate],
    arrangement: &Arrangement,
    options: &Options<'_>,
) -> (Vec<PipelineMapping>, Option<StoppedBy>) {
    let entries = arrangement.entries.iter();
    let chosen: Vec<&Candidate> = entries.map(|entry| &candidates[entry.candidate]).collect();
    let mut front: Vec<PipelineMapping> = chosen
        .iter()
        .map(|candidate| candidate.mapping.clone())
        .collect();
    let mut by_points: BTreeMap<&[usize], Vec<&mut PipelineMapping>> = BTreeMap::new();
    for (candidate, mapping) in chosen.iter().zip(&mut front) {
        by_points
            .entry(&candidate.points)
            .or_default()
            .push(mapping);
    }
    let mut purse = Purse::new(options.effort);
    let mut stopped_by = None;
    for (points, mut mappings) in by_points {
        let graph = stage_graph(&inputs.at(points), eligibility);
        let mapper = StageMapper::new(graph, mapper_options(options));
        stopped_by = stopped_by.or(mapper.tighten(&mut mappings, &mut purse));
    }
    (front, stopped_by)
}

/// The baselines, and what competes for the front with the interval at which each is admitted; or which demands exclude each other.
fn contenders(
    inputs: &Inputs<'_>,
    field: &Field,
    capacities: &[Capacity],
    options: &Options<'_>,
) -> Result<(Vec<Baseline>, Admitted), CompileError> {
    let baselines = field.baselines.clone();
    let all = field.rivals(inputs);
    if all.is_empty() {
        return Err(match options.budget.stopped_by() {
            Some(stopped_by) => CompileError::Stopped(stopped_by),
            None => CompileError::NoMapping {
                max_stages: max_stages(inputs, options),
            },
        });
    }
    let failure = match fitting(inputs, capacities, all) {
        Ok(fitting) => {
            let admitted = admitted(inputs, fitting, options.constraints);
            if !admitted.0.is_empty() {
                return Ok((baselines, admitted));
            }
            None
        }
        Err(failure) if options.constraints.is_empty() => return Err(failure),
        Err(failure) => Some(failure),
    };
    (options.progress.0)("looking for demands that exclude each other");
    let conflict = conflict(inputs, field, options);
    // Without a conflict among demands, it is the chip alone that is too small.
    Err(match (conflict, failure) {
        (Some(conflict), _) => CompileError::Conflict(Box::new(conflict)),
        (None, Some(failure)) => failure,
        (None, None) => CompileError::NoMapping {
            max_stages: max_stages(inputs, options),
        },
    })
}

/// What limits the claims of a proof under the demands of a run.
fn scope(asked: &Constraints, tight: &[String]) -> &'static str {
    match (asked.placements.is_empty(), tight.is_empty()) {
        (true, true) => "",
        (false, true) => ", among mappings that obey --pin and --forbid",
        (true, false) => {
            "; memory limits the value and not the bound: mappings were tried, fastest and leaner ones, and not all"
        }
        (false, false) => {
            ", among mappings that obey --pin and --forbid; memory limits the value and not the bound: mappings were tried, fastest and leaner ones, and not all"
        }
    }
}

fn scored(candidate: &Candidate, interval: Nanoseconds) -> emit::Candidate {
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
