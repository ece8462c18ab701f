//! All figures of a mapping.
//!
//! Nothing is taken over from the search but who runs what in which order: durations, moves, start times and energies are derived here again.

use paracompile_frontend::cost::{CostTable, GroupCost};
use paracompile_frontend::ir::VerifiedGraph;
use paracompile_frontend::soc::ProcessorSet;
use paracompile_plan::plan::{Provenance, Source};
use paracompile_plan::{Nanojoules, Nanoseconds};

use super::energy;
use super::figures::{Estimate, MoveTiming, StageTiming, TaskTiming, Times};
use super::latency::TaskTimes;
use super::memory;
use super::placement::Placement;
use super::throughput::{crossings, interval_bound, stream_latency};
use crate::mapping::PipelineMapping;
use crate::partition::{FusedGraph, FusedOpId};

/// Evaluates a mapping by the rules of `docs/model.md`.
///
/// # Panics
/// If the mapping leaves an operator out or places it where it is not supported: the search builds no such mapping.
pub fn evaluate(
    fused: &FusedGraph,
    graph: &VerifiedGraph,
    table: &CostTable,
    mapping: &PipelineMapping,
) -> Estimate {
    let placement = Placement::derive(fused, table, mapping);
    let timed = Timed::new(fused, table, mapping, &placement);
    let interval = timed.interval();
    let crossings = crossings(&placement);
    let stream = |admission| stream_latency(&timed.stages, &crossings, admission);
    let dynamic = timed.energy_dynamic(&placement);
    let (active, board) = energy::with_static_shares(table, mapping.used(), dynamic, interval);
    let stages = stage_timings(mapping, &placement, &timed);
    Estimate {
        latency: timed.stages_alone.iter().copied().sum(),
        saturated_latency: stream(Nanoseconds::ZERO),
        paced_latency: stream(interval),
        interval,
        admission: interval,
        interval_bound: interval_bound(&placement, &timed.durations),
        energy_dynamic: dynamic,
        energy_active: active,
        energy_board: board,
        memory: memory::figures(fused, table, &placement, &timed.tasks),
        provenance: provenance(fused, graph, table, &stages),
        stages,
    }
}

impl Estimate {
    /// The same mapping with a frame admitted every `admission`, which costs static power for longer; an interval that is too short for it is left out of account.
    #[must_use]
    pub fn admitted_every(
        mut self,
        admission: Nanoseconds,
        table: &CostTable,
        mapping: &PipelineMapping,
    ) -> Self {
        self.admission = admission.max(self.interval);
        (self.energy_active, self.energy_board) =
            energy::with_static_shares(table, mapping.used(), self.energy_dynamic, self.admission);
        self
    }
}

/// The objectives alone, for judging many mappings.
///
/// # Panics
/// As [`evaluate`].
pub fn evaluate_times(fused: &FusedGraph, table: &CostTable, mapping: &PipelineMapping) -> Times {
    let placement = Placement::derive(fused, table, mapping);
    let timed = Timed::new(fused, table, mapping, &placement);
    let interval = timed.interval();
    let energy_dynamic = timed.energy_dynamic(&placement);
    let (energy_active, energy_board) =
        energy::with_static_shares(table, mapping.used(), energy_dynamic, interval);
    Times {
        latency: timed.stages_alone.iter().copied().sum(),
        interval,
        energy_dynamic,
        energy_active,
        energy_board,
        stages_alone: timed.stages_alone,
        stages: timed.stages,
    }
}

/// A mapping in time.
struct Timed {
    /// Cost of each fused operator on its processor.
    costs: Vec<GroupCost>,
    /// Duration of each fused operator under `A`.
    durations: Vec<Nanoseconds>,
    /// Energy of each fused operator under `A`.
    energies: Vec<Nanojoules>,
    /// Starts and ends under `A`.
    tasks: TaskTimes,
    /// `T_s(S)`.
    stages_alone: Vec<Nanoseconds>,
    /// `T_s(A)`.
    stages: Vec<Nanoseconds>,
}

impl Timed {
    fn new(
        fused: &FusedGraph,
        table: &CostTable,
        mapping: &PipelineMapping,
        placement: &Placement,
    ) -> Self {
        let costs: Vec<GroupCost> = fused
            .ops
            .iter()
            .map(|(id, op)| {
                table
                    .group(&op.members, placement.processor_of[id.index()])
                    .expect("mappings place operators where they are supported")
            })
            .collect();
        let used = mapping.used();
        let mut durations = vec![Nanoseconds::ZERO; costs.len()];
        let mut tasks = TaskTimes::new(costs.len());
        let mut stages_alone = Vec::with_capacity(mapping.stages.len());
        let mut stages = Vec::with_capacity(mapping.stages.len());
        for (index, stage) in mapping.stages.iter().enumerate() {
            for (set, stage_times) in [(stage.processors, &mut stages_alone), (used, &mut stages)] {
                for op in stage.ops.clone() {
                    durations[op] = duration(table, placement, costs[op], op, set);
                }
                stage_times.push(tasks.time_stage(placement, index, stage, &durations));
            }
        }
        let energies = costs
            .iter()
            .zip(&placement.processor_of)
            .map(|(cost, &processor)| cost.energy.slowed(table.slowdown(processor, used)))
            .collect();
        Self {
            costs,
            durations,
            energies,
            tasks,
            stages_alone,
            stages,
        }
    }

    fn interval(&self) -> Nanoseconds {
        self.stages.iter().copied().max().unwrap_or_default()
    }

    fn energy_dynamic(&self, placement: &Placement) -> Nanojoules {
        let moves = placement.moves.iter().map(|planned| planned.cost.energy);
        self.energies.iter().copied().chain(moves).sum()
    }
}

/// `round(t · κ(p, set) · sharing)`, where `sharing` is that of as many compute queues as the processor has (rule M10).
fn duration(
    table: &CostTable,
    placement: &Placement,
    cost: GroupCost,
    op: usize,
    set: ProcessorSet,
) -> Nanoseconds {
    let processor = placement.processor_of[op];
    let sharing = table.soc.processors[processor].sharing[placement.queue_counts.of(processor) - 1];
    cost.time
        .slowed_twice(table.slowdown(processor, set), sharing)
}

fn stage_timings(
    mapping: &PipelineMapping,
    placement: &Placement,
    timed: &Timed,
) -> Vec<StageTiming> {
    let mut stages: Vec<StageTiming> = mapping
        .stages
        .iter()
        .enumerate()
        .map(|(index, stage)| StageTiming {
            time_alone: timed.stages_alone[index],
            time: timed.stages[index],
            tasks: stage
                .sequence
                .iter()
                .map(|&op| task_timing(placement, timed, op))
                .collect(),
            moves: Vec::new(),
        })
        .collect();
    for (index, planned) in placement.moves.iter().enumerate() {
        let source = &placement.storages[planned.source];
        stages[planned.stage].moves.push(MoveTiming {
            tensor: source.tensor,
            from: source.location,
            to: placement.storages[planned.target].location,
            start: timed.tasks.move_start(placement, index),
            duration: planned.cost.time,
            energy: planned.cost.energy,
        });
    }
    for stage in &mut stages {
        stage
            .moves
            .sort_unstable_by_key(|planned| (planned.start, planned.tensor, planned.to));
    }
    stages
}

fn task_timing(placement: &Placement, timed: &Timed, op: FusedOpId) -> TaskTiming {
    let index = op.index();
    TaskTiming {
        op,
        processor: placement.processor_of[index],
        queue: placement.queue_of[index],
        work: timed.costs[index].time,
        start: timed.tasks.start[index],
        duration: timed.durations[index],
        energy: timed.energies[index],
    }
}

/// Shares of the decimal times that tasks sum, by source; epilogues that a processor fuses take none (rule M12).
fn provenance(
    fused: &FusedGraph,
    graph: &VerifiedGraph,
    table: &CostTable,
    stages: &[StageTiming],
) -> Provenance {
    let mut seconds = [0.0; 5];
    for stage in stages {
        let mut tasks: Vec<&TaskTiming> = stage.tasks.iter().collect();
        // Sums of decimals depend on their order: it is that of the plan's tasks.
        tasks.sort_by_key(|task| (task.start, task.queue));
        for task in tasks {
            let free_behind = &table.soc.processors[task.processor].fuses;
            for (position, &member) in fused.ops[task.op].members.iter().enumerate() {
                let is_fused = graph.ops[member]
                    .class()
                    .is_some_and(|class| free_behind.contains(&class));
                if position > 0 && is_fused {
                    continue;
                }
                if let Some(cost) = table.operators[member][task.processor.index()] {
                    seconds[slot(cost.source)] += cost.time.value();
                }
            }
        }
    }
    let total: f64 = seconds.iter().sum();
    let share = |source| {
        if total > 0.0 {
            (seconds[slot(source)] / total * 1e4).round() / 1e4
        } else {
            0.0
        }
    };
    Provenance {
        measured: share(Source::Measured),
        fitted: share(Source::Fitted),
        estimated: share(Source::Estimated),
        borrowed: share(Source::Borrowed),
        assumed: share(Source::Assumed),
    }
}

const fn slot(source: Source) -> usize {
    match source {
        Source::Measured => 0,
        Source::Fitted => 1,
        Source::Estimated => 2,
        Source::Borrowed => 3,
        Source::Assumed => 4,
    }
}
