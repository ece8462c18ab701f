//! The plan of a mapping, part by part.
//!
//! Everything in it but stages, tasks, orders, labels and proofs follows from model, profile and the plan format; this module decides nothing.

use std::collections::BTreeMap;

use paracompile_frontend::cost::CostTable;
use paracompile_frontend::ir::{OpId, VerifiedGraph};
use paracompile_frontend::soc::{ProcessorId, Soc};
use paracompile_plan::Plan;
use paracompile_plan::plan::{
    Constraint, FrameOverlap, FusedKernels, Label, MemoryUse, ModelRef, PlanContention,
    PlanProcessor, PlanStage, Predicted, Proof, SCHEMA, SocRef, StoppedBy, Strategy,
    TaskGranularity,
};

use super::buffers::Buffers;
use super::queues::Queues;
use super::tasks::TaskOrder;
use super::transfers::TransferOrder;
use super::{queues, tasks, transfers, waits};
use crate::estimate::{Estimate, Placement};
use crate::mapping::PipelineMapping;
use crate::partition::FusedGraph;

/// What a plan is made of.
#[derive(Clone, Copy, Debug)]
pub struct Emission<'a> {
    /// The network.
    pub graph: &'a VerifiedGraph,
    /// Its fused operators.
    pub fused: &'a FusedGraph,
    /// What they cost.
    pub table: &'a CostTable,
    /// Who runs what, in which order.
    pub mapping: &'a PipelineMapping,
    /// The figures of this mapping, from [`crate::estimate::evaluate`].
    pub estimate: &'a Estimate,
    /// What the plan is best at, in any order.
    pub labels: &'a [Label],
    /// What is claimed about the whole.
    pub claim: &'a Claim,
    /// What the user demanded of every plan.
    pub constraints: &'a [Constraint],
    /// How the tasks of a kernel graph came about, where a granularity was asked for.
    pub tasks: Option<&'a Tasks>,
}

/// How the tasks of a kernel graph came about.
#[derive(Clone, Debug)]
pub struct Tasks {
    /// What was asked for, and what was chosen.
    pub granularity: TaskGranularity,
    /// The kernels of each task, ascending.
    pub groups: Vec<Vec<OpId>>,
    /// Why each task of several kernels is one, by its first.
    pub reasons: BTreeMap<OpId, FusedKernels>,
}

impl Tasks {
    /// Why kernels are one task; none where it is a single one.
    pub(super) fn why(&self, members: &[OpId]) -> Option<&FusedKernels> {
        self.reasons.get(members.first()?)
    }
}

/// The claim about a plan's latency; value and bound are the sums of those of its stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// How value and bound were found.
    pub method: String,
    /// Over which choices the claim holds.
    pub scope: String,
    /// Why the search for stages stopped; stages may have stopped for a worse reason.
    pub stopped_by: StoppedBy,
}

/// Everything derived once and used by several parts of the plan.
pub(super) struct Context<'a> {
    pub(super) emission: &'a Emission<'a>,
    pub(super) placement: Placement,
    /// The processors in use, in profile order.
    pub(super) used: Vec<ProcessorId>,
}

impl Context<'_> {
    pub(super) const fn soc(&self) -> &Soc {
        &self.emission.table.soc
    }
}

/// Writes a mapping down as a plan.
///
/// # Panics
/// If mapping or figures are not of this graph: the driver hands over what belongs together.
pub fn plan(emission: &Emission<'_>) -> Plan {
    let context = Context {
        emission,
        placement: Placement::derive(emission.fused, emission.table, emission.mapping),
        used: emission.mapping.used().iter().collect(),
    };
    let order = TaskOrder::new(&context);
    let moves = TransferOrder::new(&context);
    let mut buffers = Buffers::new(&context);
    let queues = Queues::new(&context, &buffers, &moves);
    let tasks = tasks::list(&context, &order, &buffers, &queues);
    buffers.note_users(&tasks);
    let estimate = emission.estimate;
    let stages: Vec<PlanStage> = stages(&context);
    let labels = {
        let mut labels = emission.labels.to_vec();
        labels.sort_unstable();
        labels.dedup();
        labels
    };
    Plan {
        schema: SCHEMA,
        model: model_ref(&context),
        soc: soc_ref(emission.table),
        processors: processors(&context),
        contention: contention(&context),
        strategy: Strategy::of(
            &stages
                .iter()
                .map(|stage| stage.processors.len())
                .collect::<Vec<_>>(),
        ),
        labels,
        frame_overlap: FrameOverlap::None,
        admission_interval_ns: estimate.admission,
        constraints: emission.constraints.to_vec(),
        predicted: predicted(&context),
        proof: proof(&context, &stages),
        stages,
        granularity: emission.tasks.map(|tasks| tasks.granularity.clone()),
        transfers: transfers::list(&context, &moves, &buffers),
        setup: queues::setup(&buffers, &queues),
        frame: waits::frame(&context, &order, &moves, &queues),
        tasks,
        buffers: buffers.into_list(),
        queues: queues.into_list(),
    }
}

/// The position of an entry as an id.
pub(super) fn id(index: usize) -> u32 {
    u32::try_from(index).expect("graphs have fewer than 2^32 parts")
}

fn model_ref(context: &Context<'_>) -> ModelRef {
    let graph = context.emission.graph;
    let fuses = context
        .emission
        .fused
        .ops
        .iter()
        .any(|(_, op)| op.members.len() > 1);
    let names = |tensors: &[paracompile_frontend::ir::TensorId]| {
        tensors
            .iter()
            .map(|&tensor| graph.tensors[tensor].name.clone())
            .collect()
    };
    ModelRef {
        name: graph.name.clone(),
        kind: graph.kind,
        graph_digest: graph.digest.clone(),
        dims: graph.dims.clone(),
        rewrites: graph
            .rewrites
            .iter()
            .cloned()
            .chain(fuses.then(|| "fusion".to_owned()))
            .collect(),
        inputs: names(&graph.inputs),
        outputs: names(&graph.outputs),
    }
}

fn soc_ref(table: &CostTable) -> SocRef {
    SocRef {
        name: table.soc.name.clone(),
        digest: table.digest.clone(),
        enqueue_ns: table.soc.enqueue.to_nanoseconds(),
        base_mw: table.base_power(),
        io: table.soc.memories[table.soc.io].name.clone(),
    }
}

fn processors(context: &Context<'_>) -> Vec<PlanProcessor> {
    let soc = context.soc();
    let table = context.emission.table;
    context
        .used
        .iter()
        .map(|&id| {
            let processor = &soc.processors[id];
            let point = &processor.operating_points[table.operating_points[id.index()]];
            PlanProcessor {
                name: processor.name.clone(),
                memory: soc.memories[processor.memory].name.clone(),
                layout: processor.layout,
                operating_point: point.name.clone(),
                static_mw: table.static_power(id),
                dispatch_ns: processor.dispatch.to_nanoseconds(),
                sharing: processor.sharing[context.placement.queue_counts.of(id) - 1],
            }
        })
        .collect()
}

fn contention(context: &Context<'_>) -> Vec<PlanContention> {
    let soc = context.soc();
    let used = context.emission.mapping.used();
    soc.contention
        .iter()
        .filter(|contention| contention.set.is_subset(used))
        .map(|contention| PlanContention {
            set: names(soc, contention.set.iter()),
            factor: contention
                .factor
                .iter()
                .map(|(&id, &factor)| (soc.processors[id].name.clone(), factor))
                .collect(),
        })
        .collect()
}

fn names(soc: &Soc, processors: impl Iterator<Item = ProcessorId>) -> Vec<String> {
    processors
        .map(|id| soc.processors[id].name.clone())
        .collect()
}

fn predicted(context: &Context<'_>) -> Predicted {
    let estimate = context.emission.estimate;
    Predicted {
        latency_ns: estimate.latency,
        saturated_latency_ns: estimate.saturated_latency,
        paced_latency_ns: estimate.paced_latency,
        interval_ns: estimate.interval,
        interval_bound_ns: estimate.interval_bound,
        energy_active_nj: estimate.energy_active,
        energy_board_nj: estimate.energy_board,
        memory: estimate
            .memory
            .iter()
            .map(|figures| MemoryUse {
                memory: context.soc().memories[figures.memory].name.clone(),
                weights: figures.weights,
                peak: figures.peak,
            })
            .collect(),
        provenance: estimate.provenance,
    }
}

fn stages(context: &Context<'_>) -> Vec<PlanStage> {
    let emission = context.emission;
    emission
        .mapping
        .stages
        .iter()
        .zip(&emission.estimate.stages)
        .enumerate()
        .map(|(index, (stage, timing))| PlanStage {
            id: id(index),
            processors: names(context.soc(), stage.processors.iter()),
            time_alone_ns: timing.time_alone,
            time_ns: timing.time,
            proof: Proof {
                value_ns: timing.time_alone,
                bound_ns: stage.proof.bound.min(timing.time_alone),
                method: stage.proof.method.clone(),
                scope: stage.proof.scope.clone(),
                stopped_by: stage.proof.stopped_by,
            },
        })
        .collect()
}

fn proof(context: &Context<'_>, stages: &[PlanStage]) -> Proof {
    let claim = context.emission.claim;
    Proof {
        value_ns: context.emission.estimate.latency,
        bound_ns: stages.iter().map(|stage| stage.proof.bound_ns).sum(),
        method: claim.method.clone(),
        scope: claim.scope.clone(),
        stopped_by: stages
            .iter()
            .map(|stage| stage.proof.stopped_by)
            .fold(claim.stopped_by, StoppedBy::max),
    }
}
