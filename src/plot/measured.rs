//! A plan in time as predicted and as measured, one above the other on one scale.

use paracompile_plan::Plan;
use paracompile_plan::measured::Measured;

use super::gantt::{Times, gantt_of};
use super::stack::stacked;
use super::stream::Stream;

/// Draws `plan` twice as SVG: with its predictions, and with what `measured`, of the same plan, says instead.
pub fn predicted_and_measured(plan: &Plan, measured: &Measured) -> String {
    let shown = measured.in_place_of_predictions(plan);
    let seconds = Stream::of(plan).span.max(Stream::of(&shown).span);
    let above = gantt_of(plan, Times::Planned, "predicted: ", seconds);
    let is_paced = measured.admission_interval_ns.is_some();
    let below = gantt_of(&shown, Times::Measured { is_paced }, "measured: ", seconds);
    stacked(&[above, below])
}

#[cfg(test)]
mod tests {
    use paracompile_plan::measured::{MeasuredKind, MeasuredPart, MeasuredStage};
    use paracompile_plan::{Nanojoules, Nanoseconds};

    use super::*;
    use crate::plot::{png, samples};

    #[test]
    fn both_are_drawn_and_say_which_they_are() {
        let plan = samples::plan(12, &[&["big"], &["gpu"]]);
        let twice = |time: Nanoseconds| Nanoseconds::new(time.count() * 2);
        let mut measured = Measured {
            schema: 1,
            kind: MeasuredKind::Measured,
            model: plan.model.name.clone(),
            graph_digest: plan.model.graph_digest.clone(),
            plan_digest: String::new(),
            devices: std::collections::BTreeMap::new(),
            frames: 50,
            admission_interval_ns: None,
            interrupted: false,
            latency_ns: twice(plan.predicted.latency_ns),
            latency_p95_ns: twice(plan.predicted.latency_ns),
            saturated_latency_ns: None,
            interval_ns: Some(twice(plan.predicted.interval_ns)),
            device_span_ns: plan.predicted.latency_ns,
            enqueue_ns: Nanoseconds::new(1),
            commands: 12,
            energy_nj: None,
            allocated_bytes: 0,
            stages: plan
                .stages
                .iter()
                .map(|stage| MeasuredStage {
                    time_alone_ns: twice(stage.time_alone_ns),
                    time_ns: twice(stage.time_ns),
                })
                .collect(),
            tasks: plan
                .tasks
                .iter()
                .map(|task| MeasuredPart {
                    start_ns: twice(task.start_ns),
                    duration_ns: twice(task.duration_ns),
                })
                .collect(),
            transfers: Vec::new(),
        };
        let picture = predicted_and_measured(&plan, &measured);
        assert!(picture.contains("predicted: ") && picture.contains("measured: "));
        assert!(png(&picture).is_ok());
        // The second half says what was measured, and nothing else.
        let [above, below] = halves(&picture);
        let energy = format!("{} each", plan.predicted.energy_active_nj);
        assert!(
            above.contains(&energy) && !below.contains(" each"),
            "{below}"
        );
        assert!(above.contains("\n1000MHz\n") && !below.contains("MHz"));
        assert!(below.contains("a stream without a pace"), "{below}");
        measured.admission_interval_ns = measured.interval_ns;
        measured.energy_nj = Some(Nanojoules::new(7_000_000));
        let picture = predicted_and_measured(&plan, &measured);
        let [_, below] = halves(&picture);
        assert!(below.contains("drawn: a paced stream") && below.contains("7.00 mJ each"));
        measured.interval_ns = None;
        assert!(png(&predicted_and_measured(&plan, &measured)).is_ok());
    }

    fn halves(picture: &str) -> [&str; 2] {
        let below = picture.find("<svg y=").unwrap();
        [&picture[..below], &picture[below..]]
    }
}
