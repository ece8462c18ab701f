//! What the page says in sentences: how far the search went, what limits a plan, and what its critical path is made of.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

use paracompile_plan::front::{EnergyAxis, Front};
use paracompile_plan::plan::StoppedBy;
use paracompile_plan::{Nanojoules, Nanoseconds, Plan};

use super::dictionary::shortened;
use crate::simulate::{CriticalPath, CriticalStep, CriticalWork};

/// How many of the longest steps are named.
const NAMED: usize = 3;
/// Longer names are shortened in sentences.
const LONGEST: usize = 80;

/// About the search: what was compared, where it stopped, and what energy is.
pub(super) fn search(front: &Front) -> Vec<String> {
    let count = front.plans.len();
    let mut sentences = vec![format!(
        "The search compared {}; {} beaten by another one in latency, interval and energy together, and {} on the front.",
        counted(front.candidates, "complete mapping"),
        match front.dominated {
            0 => "none is".to_owned(),
            1 => "1 is".to_owned(),
            more => format!("{more} are"),
        },
        match count {
            1 => "1 is".to_owned(),
            more => format!("{more} are"),
        },
    )];
    if front.epsilon > 0.0 {
        sentences.push(format!(
            "Of mappings whose energies lie within {}% of each other, one stands for others that are no better.",
            trimmed(front.epsilon * 100.0)
        ));
    }
    sentences.push(stopped(front));
    sentences.push(
        match front.energy {
            EnergyAxis::ByProduct => {
                "Inside a stage, mappings are chosen by time; energy is what they happen to take."
            }
            EnergyAxis::Objective => {
                "Inside a stage, the mappings are trade-offs of time and energy, exact where the proof says so."
            }
        }
        .to_owned(),
    );
    sentences
}

/// What is proven of the plans of the front.
pub(super) fn proofs(front: &Front) -> String {
    let count = front.plans.len();
    let gaps = || front.plans.iter().map(|plan| plan.figures.gap);
    let proven = gaps().filter(|&gap| gap <= 0.0).count();
    let unknown = gaps().filter(|&gap| gap >= 1.0).count();
    let largest = gaps().filter(|&gap| gap < 1.0).fold(0.0, f64::max);
    let who = match (proven, count) {
        (proven, count) if proven == count && count == 1 => "The plan is".to_owned(),
        (proven, count) if proven == count => format!("All {count} plans of the front are"),
        (1, count) => format!("1 of {count} plans of the front is"),
        (proven, count) => format!("{proven} of {count} plans of the front are"),
    };
    let mut text = format!(
        "{who} proven optimal for their cut points, stages and processors: under the rules of the model, no other placement of operators has less latency"
    );
    if count == 1 {
        text = text.replace("for their cut", "for its cut");
    }
    if proven + unknown < count {
        let _ = write!(
            text,
            "; the least latency of the others is at most {}% lower",
            trimmed(rounded_up(largest * 100.0))
        );
    }
    if unknown > 0 {
        let _ = write!(
            text,
            "; {} no bound, because the search was cut",
            match unknown {
                1 => "1 has".to_owned(),
                more => format!("{more} have"),
            }
        );
    }
    text + "."
}

fn stopped(front: &Front) -> String {
    let effort = &front.effort;
    let is_proven = front.plans.iter().all(|plan| plan.figures.gap <= 0.0);
    match front.stopped_by {
        StoppedBy::Complete => format!("The search (effort {effort}) ran to its end."),
        StoppedBy::Gap | StoppedBy::Work if is_proven => format!(
            "Parts of the search (effort {effort}) stopped once the latency was proven; among mappings of equal latency, energy there is the best found and not the least."
        ),
        StoppedBy::Gap => {
            format!("Parts of the search (effort {effort}) stopped at the gap that was allowed.")
        }
        StoppedBy::Work => {
            format!("Parts of the search stopped at the counted work of effort {effort}.")
        }
        StoppedBy::Time => {
            "The time limit cut the search, so the result depends on the machine.".to_owned()
        }
        StoppedBy::Interrupt => "The search was interrupted; better mappings may exist.".to_owned(),
    }
}

/// About a plan: what sets its interval, what its critical path is made of, and how much its processors slow each other.
pub(super) fn why(plan: &Plan, path: &CriticalPath) -> Vec<String> {
    let mut sentences = limit(plan);
    sentences.extend(critical(plan, path));
    sentences.extend(contention(plan));
    sentences.extend(energy(plan));
    sentences
}

fn limit(plan: &Plan) -> Vec<String> {
    let slowest = plan
        .stages
        .iter()
        .max_by_key(|stage| (stage.time_ns, Reverse(stage.id)));
    let Some(stage) = slowest.filter(|stage| stage.time_ns > Nanoseconds::ZERO) else {
        return Vec::new();
    };
    let place = stage.processors.join("+");
    let count = plan.stages.len();
    let least = plan.predicted.interval_ns;
    let interval = plan.pace();
    let number = stage.id.saturating_add(1);
    let mut sentences = vec![if plan.waits() {
        format!(
            "Stage {number} of {count} ({place}) takes longest: {}.",
            stage.time_ns
        )
    } else if count == 1 {
        format!(
            "The interval is that of the one stage ({place}): {}.",
            stage.time_ns
        )
    } else {
        format!(
            "Stage {number} of {count} ({place}) sets the interval: {}.",
            stage.time_ns
        )
    }];
    if plan.waits() {
        sentences.push(format!(
            "A frame is admitted every {interval} only, though {least} would do: faster, the plan would draw more power than is allowed."
        ));
    }
    let mut loads: Vec<(&str, Nanoseconds)> = loads(plan).into_iter().collect();
    loads.sort_by_key(|&(_, load)| Reverse(load));
    let loads: Vec<String> = loads
        .into_iter()
        .map(|(name, load)| format!("{name} {}% of the interval", share(load, interval)))
        .collect();
    sentences.push(format!("Processors compute: {}.", listed(&loads)));
    let bound = plan.predicted.interval_bound_ns;
    if bound < least {
        sentences.push(format!(
            "If frames overlapped inside stages, the busiest queue would allow an interval of {bound} ({}).",
            change(least, bound)
        ));
    }
    sentences
}

/// From one duration to another, with a sign.
fn change(from: Nanoseconds, to: Nanoseconds) -> String {
    let percent = (to.to_seconds() / from.to_seconds() - 1.0) * 100.0;
    format!("{percent:+.1}%").replace('-', "−")
}

/// How long tasks keep each processor.
fn loads(plan: &Plan) -> BTreeMap<&str, Nanoseconds> {
    let mut loads = BTreeMap::new();
    for task in &plan.tasks {
        if let Some(queue) = plan.queues.get(task.queue as usize) {
            *loads.entry(queue.processor.as_str()).or_default() += task.duration_ns;
        }
    }
    loads
}

fn critical(plan: &Plan, path: &CriticalPath) -> Vec<String> {
    let length = path.length();
    if length == Nanoseconds::ZERO {
        return Vec::new();
    }
    let mut by_place: BTreeMap<&str, Nanoseconds> = BTreeMap::new();
    let mut moves = Nanoseconds::ZERO;
    let mut counts = (0u64, 0u64);
    for step in &path.steps {
        if let Some(name) = processor(plan, step) {
            counts.0 += 1;
            *by_place.entry(name).or_default() += step.duration();
        } else {
            counts.1 += 1;
            moves += step.duration();
        }
    }
    let mut parts: Vec<(String, Nanoseconds)> = by_place
        .into_iter()
        .map(|(name, time)| (name.to_owned(), time))
        .collect();
    parts.sort_by_key(|&(_, time)| Reverse(time));
    if counts.1 > 0 {
        parts.push(("moves".to_owned(), moves));
    }
    let parts: Vec<String> = parts
        .into_iter()
        .map(|(name, time)| format!("{name} {time} ({}%)", share(time, length)))
        .collect();
    let mut work = counted(counts.0, "task");
    if counts.1 > 0 {
        let _ = write!(work, " and {}", counted(counts.1, "move"));
    }
    let mut longest: Vec<&CriticalStep> = path.steps.iter().collect();
    longest.sort_by_key(|step| Reverse(step.duration()));
    let longest: Vec<String> = longest
        .into_iter()
        .take(NAMED)
        .map(|step| {
            let name = shortened(&step.name, LONGEST);
            let place = processor(plan, step).unwrap_or("move");
            format!("`{name}` ({place}, {})", step.duration())
        })
        .collect();
    vec![
        format!(
            "The critical path of a frame is {length} long, through {work}: {}.",
            parts.join(", ")
        ),
        format!("Its longest steps are {}.", listed(&longest)),
    ]
}

/// Where a step computes; `None` for moves.
fn processor<'a>(plan: &'a Plan, step: &CriticalStep) -> Option<&'a str> {
    match step.work {
        CriticalWork::Task(task) => {
            let task = plan.tasks.get(task as usize)?;
            let queue = plan.queues.get(task.queue as usize)?;
            Some(&queue.processor)
        }
        CriticalWork::Transfer(_) => None,
    }
}

fn contention(plan: &Plan) -> Option<String> {
    let alone: Nanoseconds = plan.stages.iter().map(|stage| stage.time_alone_ns).sum();
    let together: Nanoseconds = plan.stages.iter().map(|stage| stage.time_ns).sum();
    (together > alone && alone > Nanoseconds::ZERO).then(|| {
        format!(
            "Stages slow each other: one frame alone takes {alone}, and {together} while the other stages work too ({}).",
            change(alone, together)
        )
    })
}

fn energy(plan: &Plan) -> Option<String> {
    let predicted = &plan.predicted;
    let moves: Nanojoules = plan.transfers.iter().map(|moved| moved.energy_nj).sum();
    let tasks: Nanojoules = plan.tasks.iter().map(|task| task.energy_nj).sum();
    let active = predicted.energy_active_nj;
    if active == Nanojoules::ZERO {
        return None;
    }
    let part = |energy: Nanojoules| percent(energy.to_joules(), active.to_joules());
    let parts: Vec<String> = [
        ("tasks", tasks),
        ("moves", moves),
        (
            "static power over the interval",
            active.saturating_sub(tasks + moves),
        ),
    ]
    .into_iter()
    .filter(|&(_, energy)| energy > Nanojoules::ZERO)
    .map(|(what, energy)| format!("{what} {}%", part(energy)))
    .collect();
    Some(format!(
        "Of {active} of active energy a frame: {}.",
        listed(&parts)
    ))
}

fn share(part: Nanoseconds, whole: Nanoseconds) -> String {
    percent(part.to_seconds(), whole.to_seconds())
}

/// Without a decimal; what is not nothing is not called zero.
fn percent(part: f64, whole: f64) -> String {
    let percent = if whole > 0.0 {
        100.0 * part / whole
    } else {
        0.0
    };
    if percent > 0.0 && percent < 0.5 {
        "under 1".to_owned()
    } else {
        format!("{percent:.0}")
    }
}

fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// To a tenth, upward: a gap is not made smaller than it is.
fn rounded_up(percent: f64) -> f64 {
    (percent * 10.0 - 1e-9).ceil() / 10.0
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use crate::simulate::{Critical, critical_path};

    fn why_of(plan: &Plan) -> String {
        why(plan, &critical_path(plan, Critical::Passage).unwrap()).join(" ")
    }

    #[test]
    fn a_pipeline_names_its_slowest_stage_and_its_longest_steps() {
        let text = why_of(&samples::plan(&[&[0, 0], &[1]]));
        assert!(
            text.starts_with(
                "Stage 1 of 2 (p0) sets the interval: 40.0 µs. Processors compute: p0 100% of the interval and p1 87% of the interval."
            ),
            "{text}"
        );
        assert!(
            text.contains("The critical path of a frame is 75.0 µs long, through 3 tasks and 2 moves: p0 40.0 µs (53%), p1 35.0 µs (47%), moves 10.0 ns (under 1%)"),
            "{text}"
        );
        assert!(
            text.contains(
                "Its longest steps are `op2` (p1, 35.0 µs), `op0` (p0, 30.0 µs) and `op1` (p0, 10.0 µs)."
            ),
            "{text}"
        );
    }

    #[test]
    fn gaps_are_told_by_their_worst_and_what_has_no_bound_is_counted() {
        let run = samples::run();
        let mut front = run.front;
        for plan in &mut front.plans {
            plan.figures.gap = 0.0;
        }
        assert!(proofs(&front).starts_with("All 2 plans of the front are proven optimal"));
        front.plans[0].figures.gap = 0.02101;
        let text = proofs(&front);
        assert!(
            text.starts_with("1 of 2 plans of the front is proven"),
            "{text}"
        );
        assert!(text.contains("at most 2.2% lower"), "{text}");
        front.plans[1].figures.gap = 1.0;
        let text = proofs(&front);
        assert!(
            text.starts_with("0 of 2 plans") && text.contains("1 has no bound"),
            "{text}"
        );
    }
}
