//! From timelines to the figures of the model.

use std::collections::BTreeMap;

use paracompile_plan::measured::{Measured, MeasuredKind, MeasuredPart, MeasuredStage};
use paracompile_plan::plan::SCHEMA;
use paracompile_plan::{Nanoseconds, Plan};

use super::order::Work;
use super::prepare::Prepared;
use super::timeline::Timeline;

/// The frame whose latency is the saturated one (M6).
const SATURATED: usize = 50;

/// Which plan was run, and on what.
#[derive(Clone, Debug)]
pub struct Subject<'s> {
    /// The plan.
    pub plan: &'s Plan,
    /// SHA-256 of its file.
    pub plan_digest: String,
    /// The device of every processor.
    pub devices: BTreeMap<String, String>,
    /// Whether the stream was paced.
    pub is_paced: bool,
}

/// The figures of a plan: `alone` has frames through an empty pipeline, `stream` a stream of them.
pub fn measured(
    subject: &Subject<'_>,
    prepared: &Prepared,
    alone: &Timeline,
    stream: &Timeline,
) -> Measured {
    let plan = subject.plan;
    let order = &prepared.order;
    let latencies = alone.latencies(order);
    let saturated = stream.latencies(order).get(SATURATED - 1).copied();
    let stages = (0..plan.stages.len()).map(|stage| MeasuredStage {
        time_alone_ns: time(median(alone.stage_times(order, stage))),
        time_ns: time(median(steady(stream.stage_times(order, stage), plan))),
    });
    let parts = Parts {
        prepared,
        stream,
        skipped: filling(plan),
    };
    Measured {
        schema: SCHEMA,
        kind: MeasuredKind::Measured,
        model: plan.model.name.clone(),
        graph_digest: plan.model.graph_digest.clone(),
        plan_digest: subject.plan_digest.clone(),
        devices: subject.devices.clone(),
        frames: u32::try_from(stream.frames.len()).unwrap_or(u32::MAX),
        admission_interval_ns: subject.is_paced.then(|| plan.pace()),
        interrupted: alone.is_interrupted || stream.is_interrupted,
        latency_ns: time(median(latencies.clone())),
        latency_p95_ns: time(quantile(latencies, 95)),
        saturated_latency_ns: saturated.filter(|_| !subject.is_paced).map(time),
        interval_ns: mean(&steady(stream.intervals(order), plan)).map(time),
        device_span_ns: time(median(alone.device_spans())),
        enqueue_ns: time(median(enqueueing(stream))),
        commands: u32::try_from(prepared.launches + moves(prepared)).unwrap_or(u32::MAX),
        energy_nj: None,
        allocated_bytes: prepared.allocated.iter().sum(),
        stages: stages.collect(),
        tasks: (0..plan.tasks.len())
            .map(|task| parts.of(Work::Task(u32::try_from(task).unwrap_or(u32::MAX))))
            .collect(),
        transfers: (0..plan.transfers.len())
            .map(|id| parts.of(Work::Transfer(u32::try_from(id).unwrap_or(u32::MAX))))
            .collect(),
    }
}

fn moves(prepared: &Prepared) -> usize {
    let nodes = prepared.order.nodes.iter();
    nodes
        .filter(|node| matches!(node.work, Work::Transfer(_)))
        .count()
}

fn enqueueing(timeline: &Timeline) -> Vec<i64> {
    let frames = timeline.frames.iter();
    frames.map(|frame| frame.enqueueing).collect()
}

/// Frames that fill the pipeline.
fn filling(plan: &Plan) -> usize {
    2 * plan.stages.len()
}

/// Without the frames that filled the pipeline, if any others are left.
fn steady(mut values: Vec<i64>, plan: &Plan) -> Vec<i64> {
    let skipped = filling(plan);
    if values.len() > skipped {
        values.drain(..skipped);
    }
    values
}

struct Parts<'p> {
    prepared: &'p Prepared,
    stream: &'p Timeline,
    skipped: usize,
}

impl Parts<'_> {
    fn of(&self, work: Work) -> MeasuredPart {
        let order = &self.prepared.order;
        let found = order.nodes.iter().position(|node| node.work == work);
        let Some(index) = found else {
            return MeasuredPart {
                start_ns: Nanoseconds::new(0),
                duration_ns: Nanoseconds::new(0),
            };
        };
        let stage = order.nodes[index].stage as usize;
        let count = self.stream.frames.len();
        let first = if count > self.skipped {
            self.skipped
        } else {
            0
        };
        let mut starts = Vec::new();
        let mut durations = Vec::new();
        for frame in first..count {
            let span = self.stream.frames[frame].spans[index];
            starts.push(span.start - self.stream.begin(order, frame, stage));
            durations.push(span.end - span.start);
        }
        MeasuredPart {
            start_ns: time(median(starts)),
            duration_ns: time(median(durations)),
        }
    }
}

fn time(nanoseconds: i64) -> Nanoseconds {
    Nanoseconds::new(u64::try_from(nanoseconds).unwrap_or(0))
}

fn median(values: Vec<i64>) -> i64 {
    quantile(values, 50)
}

/// The value that so many percent of the others do not exceed; zero of none.
fn quantile(mut values: Vec<i64>, percent: usize) -> i64 {
    values.sort_unstable();
    let last = values.len().saturating_sub(1);
    values
        .get((last * percent).div_ceil(100))
        .copied()
        .unwrap_or(0)
}

/// `None` of nothing.
fn mean(values: &[i64]) -> Option<i64> {
    let count = i64::try_from(values.len()).unwrap_or(i64::MAX);
    values.iter().sum::<i64>().checked_div(count)
}
