//! The trace of a run: every command of every frame, and beside it what the plan predicts of the frame from the same beginnings of stages.

use paracompile_plan::Plan;
use paracompile_plan::plan::QueueKind;

use super::event::{Lane, LaneKind, Trace, TraceEvent};
use crate::execute::{Order, Timeline, Work};

impl Trace {
    /// Of a stream of `plan`, whose nodes people call `labels`; `device` names the device of a processor.
    pub fn of_run(
        plan: &Plan,
        order: &Order,
        labels: &[String],
        timeline: &Timeline,
        device: impl Fn(&str) -> String,
    ) -> Self {
        let mut trace = Self::default();
        for kind in [LaneKind::Measured, LaneKind::Predicted] {
            for queue in &plan.queues {
                let carries = match queue.kind {
                    QueueKind::Compute => "compute",
                    QueueKind::Transfer => "moves",
                };
                trace.lanes.push(Lane {
                    device: format!("{} on {}", queue.processor, device(&queue.processor)),
                    queue: format!("{carries} {}", queue.id),
                    kind,
                });
            }
        }
        let origin = timeline.frames.first().map_or(0, |frame| frame.admitted);
        let since = |time: i64| u64::try_from(time - origin).unwrap_or(0);
        for (number, frame) in timeline.frames.iter().enumerate() {
            for (index, node) in order.nodes.iter().enumerate() {
                let span = frame.spans[index];
                let event = TraceEvent {
                    lane: node.queue as usize,
                    name: labels[index].clone(),
                    frame: number as u64,
                    stage: node.stage,
                    start_ns: since(span.start),
                    end_ns: since(span.end),
                };
                let (start, duration) = match node.work {
                    Work::Task(task) => {
                        let task = &plan.tasks[task as usize];
                        (task.start_ns, task.duration_ns)
                    }
                    Work::Transfer(transfer) => {
                        let transfer = &plan.transfers[transfer as usize];
                        (transfer.start_ns, transfer.duration_ns)
                    }
                };
                let begin = since(timeline.begin(order, number, node.stage as usize));
                let predicted = begin.saturating_add(start.count());
                trace.events.push(TraceEvent {
                    lane: plan.queues.len() + node.queue as usize,
                    start_ns: predicted,
                    end_ns: predicted.saturating_add(duration.count()),
                    ..event.clone()
                });
                trace.events.push(event);
            }
        }
        trace
    }
}
