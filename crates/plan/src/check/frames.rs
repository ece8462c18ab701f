//! Figures of a stream of frames (rule M6).

use super::dataflow::Dataflow;
use super::placement::Placement;
use super::timing::Schedule;
use super::violation::{Place, Violation, compare};
use crate::Nanoseconds;
use crate::plan::QueueKind;

/// The frame whose latency counts as that of a filled pipeline.
const FRAMES: usize = 50;

/// Compares latency, interval and the figures of a stream with those that follow.
pub(super) fn judge(
    placement: &Placement<'_>,
    flow: &Dataflow,
    used: &Schedule,
    alone: &Schedule,
    found: &mut Vec<Violation>,
) {
    let predicted = &placement.plan.predicted;
    let at = Place::Predicted;
    let latency: Nanoseconds = alone.stages.iter().copied().sum();
    let interval = interval(used);
    let holds = holds(flow);
    let saturated = stream(&used.stages, &holds, Nanoseconds::ZERO);
    let paced = stream(&used.stages, &holds, interval);
    let mut figure = |field, stated: Nanoseconds, derived: Nanoseconds| {
        compare(found, &at, field, &stated.count(), &derived.count());
    };
    figure("latency_ns", predicted.latency_ns, latency);
    figure("interval_ns", predicted.interval_ns, interval);
    figure(
        "saturated_latency_ns",
        predicted.saturated_latency_ns,
        saturated,
    );
    figure("paced_latency_ns", predicted.paced_latency_ns, paced);
    figure(
        "interval_bound_ns",
        predicted.interval_bound_ns,
        busiest(placement, used),
    );
}

/// `max T_s(A)`.
pub(super) fn interval(used: &Schedule) -> Nanoseconds {
    used.stages.iter().copied().max().unwrap_or_default()
}

/// For each writing stage: the last reader and the number of copies of each buffer that crosses.
fn holds(flow: &Dataflow) -> Vec<(usize, usize, usize)> {
    let mut holds: Vec<_> = (flow.buffers.iter())
        .filter(|buffer| buffer.is_of_frame() && buffer.last > buffer.first)
        .map(|buffer| (buffer.first, buffer.last, buffer.copies()))
        .collect();
    holds.sort_unstable();
    holds.dedup();
    holds
}

/// Done − start of the last of [`FRAMES`] frames, admitted every `period` at most.
fn stream(
    times: &[Nanoseconds],
    holds: &[(usize, usize, usize)],
    period: Nanoseconds,
) -> Nanoseconds {
    let mut done = vec![vec![Nanoseconds::ZERO; times.len()]; FRAMES];
    let mut latency = Nanoseconds::ZERO;
    for frame in 0..FRAMES {
        let mut admitted = Nanoseconds::ZERO;
        let mut ready = period.times(frame as u64);
        for (stage, &time) in times.iter().enumerate() {
            if frame > 0 {
                ready = done[frame - 1][stage].max(ready);
            }
            for &(writer, reader, copies) in holds {
                if writer == stage && frame >= copies {
                    ready = done[frame - copies][reader].max(ready);
                }
            }
            if stage == 0 {
                admitted = ready;
            }
            ready += time;
            done[frame][stage] = ready;
        }
        latency = ready - admitted;
    }
    latency
}

/// The load of the busiest compute queue.
fn busiest(placement: &Placement<'_>, used: &Schedule) -> Nanoseconds {
    let plan = placement.plan;
    let mut load = vec![Nanoseconds::ZERO; plan.queues.len()];
    for (task, span) in plan.tasks.iter().zip(&used.tasks) {
        load[task.queue as usize] += span.end - span.start;
    }
    (plan.queues.iter().zip(load))
        .filter(|(queue, _)| queue.kind == QueueKind::Compute)
        .map(|(_, load)| load)
        .max()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times() -> [Nanoseconds; 3] {
        [1, 1, 3].map(Nanoseconds::new)
    }

    /// Buffers between neighbours of three stages, with a number of copies.
    fn neighbours(copies: usize) -> [(usize, usize, usize); 2] {
        [(0, 1, copies), (1, 2, copies)]
    }

    #[test]
    fn two_copies_let_a_fast_stage_run_ahead_to_eleven() {
        assert_eq!(
            stream(&times(), &neighbours(2), Nanoseconds::ZERO),
            Nanoseconds::new(11)
        );
    }

    #[test]
    fn three_copies_queue_up_to_seventeen() {
        assert_eq!(
            stream(&times(), &neighbours(3), Nanoseconds::ZERO),
            Nanoseconds::new(17)
        );
    }

    #[test]
    fn pacing_at_the_interval_is_as_fast_as_an_empty_pipeline() {
        for copies in [2, 3] {
            let paced = stream(&times(), &neighbours(copies), Nanoseconds::new(3));
            assert_eq!(paced, Nanoseconds::new(5));
        }
    }

    #[test]
    fn one_copy_makes_neighbours_take_turns() {
        // Stage 1 of frame f waits until stage 2 is done with f − 1, so a frame leaves every 1 + 3.
        let times = times();
        let holds = neighbours(1);
        let at_interval_four = stream(&times, &holds, Nanoseconds::new(4));
        assert_eq!(at_interval_four, Nanoseconds::new(5));
        // Admitting faster than every 4 makes frames wait inside, so the latency rises above 5.
        assert!(stream(&times, &holds, Nanoseconds::new(3)) > Nanoseconds::new(5));
    }
}
