//! Durations and starts from the facts (rules M1, M3, M4, M5, M10 and M12).

use super::dataflow::{Dataflow, Node, TaskWorkspace};
use super::order::{Order, Step};
use super::placement::Placement;
use super::profile::Profile;
use super::violation::{Place, Violation, compare};
use crate::facts::{LinkFacts, OperatorCost};
use crate::plan::Source;
use crate::{Bytes, Joules, Nanojoules, Nanoseconds, Seconds, Slowdown};

/// What a task costs without slowdown.
pub(super) struct Work {
    pub(super) time: Nanoseconds,
    pub(super) energy: Nanojoules,
    pub(super) workspace: Bytes,
    /// Decimal times of the members that count, with their sources.
    pub(super) parts: Vec<(Seconds, Source)>,
}

/// What a move costs.
pub(super) struct MoveCost {
    pub(super) time: Nanoseconds,
    pub(super) energy: Nanojoules,
}

/// Starts and ends inside stages, and stage times.
pub(super) struct Schedule {
    pub(super) tasks: Vec<Span>,
    pub(super) moves: Vec<Span>,
    pub(super) stages: Vec<Nanoseconds>,
}

/// From start to end, counted from the start of the stage.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) start: Nanoseconds,
    pub(super) end: Nanoseconds,
}

/// Work of every task; `None` if one is not supported where it stands, which is then reported.
pub(super) fn work(
    placement: &Placement<'_>,
    profile: &Profile<'_>,
    found: &mut Vec<Violation>,
) -> Option<Vec<Work>> {
    let before = found.len();
    let work = (placement.tasks.iter().enumerate())
        .map(|(index, task)| {
            let mut members: Vec<&OperatorCost> = Vec::with_capacity(task.members.len());
            let mut workspace = Bytes::ZERO;
            for (position, &operator) in task.members.iter().enumerate() {
                let facts = &placement.network.facts.operators[operator];
                let Some(cost) = profile.cost(operator, task.processor) else {
                    found.push(Violation::UnsupportedOperator {
                        at: Place::Task(index),
                        processor: placement.plan.processors[task.processor].name.clone(),
                        operator: facts.at.clone(),
                    });
                    continue;
                };
                workspace = cost.workspace.max(workspace);
                if position == 0 || !profile.fuses(task.processor, facts.class) {
                    members.push(cost);
                }
            }
            Work {
                time: members
                    .iter()
                    .map(|cost| cost.time)
                    .sum::<Seconds>()
                    .to_nanoseconds(),
                energy: members
                    .iter()
                    .map(|cost| cost.energy)
                    .sum::<Joules>()
                    .to_nanojoules(),
                workspace,
                parts: members
                    .iter()
                    .map(|cost| (cost.time, cost.source))
                    .collect(),
            }
        })
        .collect();
    (found.len() == before).then_some(work)
}

/// Scratch needs of all tasks.
pub(super) fn workspaces(work: &[Work]) -> TaskWorkspace {
    work.iter().map(|task| task.workspace).collect()
}

/// Cost of every move; `None` if the profile lacks a link, which is then reported.
pub(super) fn moves(
    placement: &Placement<'_>,
    flow: &Dataflow,
    profile: &Profile<'_>,
    found: &mut Vec<Violation>,
) -> Option<Vec<MoveCost>> {
    let before = found.len();
    let locations = &placement.locations;
    let costs = (flow.moves.iter().enumerate())
        .filter_map(|(index, entry)| {
            let home = placement.home(entry.tensor);
            let (from, to) = (locations.memory(home), locations.memory(entry.location));
            let memories = &profile.facts.memories;
            let link = (profile.facts.links.iter())
                .find(|link| memories[link.from].name == from && memories[link.to].name == to);
            let Some(link) = link else {
                found.push(Violation::NoLink {
                    at: Place::Transfer(index),
                    from: from.to_owned(),
                    to: to.to_owned(),
                });
                return None;
            };
            let converts = !locations
                .layout(home)
                .fits(locations.layout(entry.location));
            let bytes = placement.network.facts.tensors[entry.tensor].bytes;
            Some(move_cost(link, bytes, converts))
        })
        .collect();
    (found.len() == before).then_some(costs)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "tensors are far below 2^53 bytes, and the format defines this decimal product"
)]
fn move_cost(link: &LinkFacts, bytes: Bytes, converts: bool) -> MoveCost {
    let count = bytes.count() as f64;
    let mut time = link.latency.value() + count * link.seconds_per_byte.value();
    if converts {
        time += count * link.convert_seconds_per_byte.value();
    }
    // Only overflow leaves the numbers that a duration can be.
    let time = Seconds::new(time).unwrap_or(Seconds::new(f64::MAX).unwrap_or_default());
    MoveCost {
        time: time.to_nanoseconds(),
        energy: link.power.over(time).to_nanojoules(),
    }
}

/// Every task and move as early as data and queues allow.
pub(super) fn schedule(order: &Order, durations: &[Nanoseconds], moves: &[MoveCost]) -> Schedule {
    let mut schedule = Schedule {
        tasks: vec![Span::default(); durations.len()],
        moves: vec![Span::default(); moves.len()],
        stages: Vec::with_capacity(order.stages.len()),
    };
    for steps in &order.stages {
        let mut time = Nanoseconds::ZERO;
        for &step in steps {
            let end = match step {
                Step::Send(index) => {
                    let start = order.source[index]
                        .map_or(Nanoseconds::ZERO, |task| schedule.tasks[task].end);
                    let end = start + moves[index].time;
                    schedule.moves[index] = Span { start, end };
                    end
                }
                Step::Receive(index) => schedule.moves[index].end,
                Step::Launch(task) => {
                    let needs = order.needs[task].iter().map(|node| match *node {
                        Node::Task(earlier) => schedule.tasks[earlier].end,
                        Node::Move(index) => schedule.moves[index].end,
                    });
                    let before = order.before[task].map(|earlier| schedule.tasks[earlier].end);
                    let start = needs.chain(before).max().unwrap_or_default();
                    let end = start + durations[task];
                    schedule.tasks[task] = Span { start, end };
                    end
                }
            };
            time = end.max(time);
        }
        schedule.stages.push(time);
    }
    schedule
}

/// The factor of each task, `κ(p, A)` or, with `alone`, `κ(p, S)`.
pub(super) fn slowdowns(
    placement: &Placement<'_>,
    profile: &Profile<'_>,
    alone: bool,
) -> Vec<Slowdown> {
    let all: Vec<usize> = (0..placement.plan.processors.len()).collect();
    let factors: Vec<Slowdown> = (all.iter())
        .map(|&processor| {
            if alone {
                let own = placement
                    .tasks
                    .iter()
                    .find(|task| task.processor == processor);
                let set: Vec<usize> = (all.iter().copied())
                    .filter(|&other| {
                        (placement.tasks.iter()).any(|task| {
                            task.processor == other
                                && own.is_some_and(|own| own.stage == task.stage)
                        })
                    })
                    .collect();
                profile.slowdown(processor, &set)
            } else {
                profile.slowdown(processor, &all)
            }
        })
        .collect();
    (placement.tasks.iter())
        .map(|task| factors[task.processor])
        .collect()
}

/// `round(work · κ · sharing)` of each task.
pub(super) fn durations(
    placement: &Placement<'_>,
    profile: &Profile<'_>,
    work: &[Work],
    factors: &[Slowdown],
) -> Vec<Nanoseconds> {
    (work.iter().zip(factors).zip(&placement.tasks))
        .map(|((work, &factor), task)| {
            work.time
                .slowed_twice(factor, profile.sharing[task.processor])
        })
        .collect()
}

/// Compares the times that the plan states with those that follow.
pub(super) fn judge(
    placement: &Placement<'_>,
    work: &[Work],
    moves: &[MoveCost],
    used: &Schedule,
    alone: &Schedule,
    found: &mut Vec<Violation>,
) {
    let plan = placement.plan;
    for (index, task) in plan.tasks.iter().enumerate() {
        let at = Place::Task(index);
        let span = used.tasks[index];
        compare(
            found,
            &at,
            "work_ns",
            &task.work_ns.count(),
            &work[index].time.count(),
        );
        compare(
            found,
            &at,
            "start_ns",
            &task.start_ns.count(),
            &span.start.count(),
        );
        compare(
            found,
            &at,
            "duration_ns",
            &task.duration_ns.count(),
            &(span.end - span.start).count(),
        );
    }
    for (index, transfer) in plan.transfers.iter().enumerate() {
        let at = Place::Transfer(index);
        let start = used.moves[index].start;
        compare(
            found,
            &at,
            "start_ns",
            &transfer.start_ns.count(),
            &start.count(),
        );
        compare(
            found,
            &at,
            "duration_ns",
            &transfer.duration_ns.count(),
            &moves[index].time.count(),
        );
    }
    for (index, stage) in plan.stages.iter().enumerate() {
        let at = Place::Stage(index);
        compare(
            found,
            &at,
            "time_ns",
            &stage.time_ns.count(),
            &used.stages[index].count(),
        );
        compare(
            found,
            &at,
            "time_alone_ns",
            &stage.time_alone_ns.count(),
            &alone.stages[index].count(),
        );
    }
}
