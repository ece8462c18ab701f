//! A plan in time: its tasks and moves as columns, what they wait for, and the critical path.

use std::collections::BTreeMap;

use paracompile_plan::Plan;
use paracompile_plan::plan::{Action, QueueKind};

use super::dictionary::Dictionary;
use super::page::{Detail, Moves, Tasks};
use crate::simulate::{CriticalPath, CriticalWork, WaitedFor};

/// The columns of `plan`, which has run in the simulator, so that all its references lead somewhere.
pub(super) fn detail<'a>(
    plan: &'a Plan,
    path: &CriticalPath,
    dictionary: &mut Dictionary<'a>,
) -> Detail {
    let lanes = Lanes::of(plan, dictionary);
    Detail {
        tasks: tasks(plan, &lanes, dictionary),
        moves: moves(plan, dictionary),
        queues: lanes.processors,
        critical: path
            .steps
            .iter()
            .map(|step| match step.work {
                CriticalWork::Task(task) => i64::from(task),
                CriticalWork::Transfer(transfer) => moved(transfer),
            })
            .collect(),
        waited: path
            .steps
            .iter()
            .map(|step| place(step.waited_for))
            .collect(),
    }
}

/// How lists name a move.
fn moved(transfer: u32) -> i64 {
    -1 - i64::from(transfer)
}

/// The place in the script's list of reasons.
const fn place(reason: WaitedFor) -> usize {
    match reason {
        WaitedFor::Frame => 0,
        WaitedFor::Tensor => 1,
        WaitedFor::Queue => 2,
        WaitedFor::PreviousStage => 3,
        WaitedFor::PreviousFrame => 4,
        WaitedFor::BufferCopy => 5,
    }
}

/// Queues with tasks.
struct Lanes {
    processors: Vec<usize>,
    of_queue: BTreeMap<u32, usize>,
}

impl Lanes {
    fn of<'a>(plan: &'a Plan, dictionary: &mut Dictionary<'a>) -> Self {
        let mut lanes = Self {
            processors: Vec::new(),
            of_queue: BTreeMap::new(),
        };
        for (queue, entry) in (0..).zip(&plan.queues) {
            match entry.kind {
                QueueKind::Compute => {
                    lanes.of_queue.insert(queue, lanes.processors.len());
                    lanes
                        .processors
                        .push(dictionary.processor(&entry.processor));
                }
                QueueKind::Transfer => {}
            }
        }
        lanes
    }
}

/// What each task, and each move, waits for in its own frame.
struct Waits {
    of_task: Vec<Vec<CriticalWork>>,
    of_move: Vec<Vec<CriticalWork>>,
    /// The queue of each task; commands say it, and tasks repeat it.
    queue_of_task: Vec<Option<u32>>,
}

impl Waits {
    fn of(plan: &Plan) -> Self {
        let mut waits = Self {
            of_task: vec![Vec::new(); plan.tasks.len()],
            of_move: vec![Vec::new(); plan.transfers.len()],
            queue_of_task: vec![None; plan.tasks.len()],
        };
        for command in &plan.frame {
            let list = match command.action {
                Action::Launch(task) => {
                    if let Some(queue) = waits.queue_of_task.get_mut(task as usize) {
                        *queue = command.queue;
                    }
                    waits.of_task.get_mut(task as usize)
                }
                Action::Send(transfer) => waits.of_move.get_mut(transfer as usize),
                Action::Receive(_) | Action::Begin(_) | Action::End(_) | Action::Write(_) => None,
            };
            let Some(list) = list else { continue };
            for wait in command.wait.iter().filter(|wait| wait.frames_back == 0) {
                let before = plan.frame.get(wait.command as usize);
                list.extend(before.and_then(|before| work(before.action)));
            }
        }
        waits
    }
}

const fn work(action: Action) -> Option<CriticalWork> {
    match action {
        Action::Launch(task) => Some(CriticalWork::Task(task)),
        Action::Send(transfer) | Action::Receive(transfer) => {
            Some(CriticalWork::Transfer(transfer))
        }
        Action::Begin(_) | Action::End(_) | Action::Write(_) => None,
    }
}

fn tasks<'a>(plan: &'a Plan, lanes: &Lanes, dictionary: &mut Dictionary<'a>) -> Tasks {
    let waits = Waits::of(plan);
    let mut columns = Tasks::default();
    let mut free_from: BTreeMap<(u32, usize), i64> = BTreeMap::new();
    for (index, task) in (0i64..).zip(&plan.tasks) {
        let place = columns.group.len();
        let queue = waits.queue_of_task[place].unwrap_or(task.queue);
        let lane = lanes.of_queue.get(&queue).copied().unwrap_or_default();
        let free = free_from.entry((task.stage, lane)).or_default();
        let start = signed(task.start_ns.count());
        columns.stage.push(task.stage);
        columns.group.push(dictionary.group(task));
        columns.queue.push(lane);
        columns.gap.push(start - *free);
        *free = start.saturating_add(signed(task.duration_ns.count()));
        columns.time.push(task.duration_ns.count());
        columns.energy.push(task.energy_nj.count());
        let waits = waits.of_task[place].iter().map(|work| match *work {
            CriticalWork::Task(before) => index - i64::from(before),
            CriticalWork::Transfer(transfer) => moved(transfer),
        });
        columns.waits.push(waits.collect());
    }
    columns
}

fn moves<'a>(plan: &'a Plan, dictionary: &mut Dictionary<'a>) -> Moves {
    let waits = Waits::of(plan);
    let mut columns = Moves::default();
    for (transfer, waits) in plan.transfers.iter().zip(&waits.of_move) {
        let (Some(from), Some(to)) = (
            plan.buffers.get(transfer.from_buffer as usize),
            plan.buffers.get(transfer.to_buffer as usize),
        ) else {
            continue;
        };
        columns.stage.push(transfer.stage);
        columns.tensor.push(dictionary.tensor(&from.tensor));
        columns.from.push(dictionary.memory(&from.memory));
        columns.to.push(dictionary.memory(&to.memory));
        columns.bytes.push(transfer.bytes.count());
        columns.start.push(transfer.start_ns.count());
        columns.time.push(transfer.duration_ns.count());
        columns.energy.push(transfer.energy_nj.count());
        columns.converts.push(u8::from(transfer.convert.is_some()));
        let writer = waits.iter().find_map(|work| match *work {
            CriticalWork::Task(task) => Some(i64::from(task)),
            CriticalWork::Transfer(_) => None,
        });
        columns.writer.push(writer.unwrap_or(-1));
    }
    columns
}

/// A plan's instants fit, but for those of absurd files.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use crate::simulate::{Critical, critical_path};

    fn columns(plan: &Plan) -> Detail {
        let path = critical_path(plan, Critical::Passage).unwrap();
        detail(plan, &path, &mut Dictionary::new(None, &[plan]))
    }

    #[test]
    fn gaps_and_times_give_back_the_starts_of_the_plan() {
        let plan = samples::plan(&[&[0, 1], &[0]]);
        let columns = columns(&plan).tasks;
        let mut free: BTreeMap<(u32, usize), i64> = BTreeMap::new();
        for (index, task) in plan.tasks.iter().enumerate() {
            let free = free
                .entry((columns.stage[index], columns.queue[index]))
                .or_default();
            let start = *free + columns.gap[index];
            assert_eq!(start, signed(task.start_ns.count()));
            *free = start + signed(columns.time[index]);
        }
    }

    #[test]
    fn waits_name_the_tasks_and_moves_of_the_commands() {
        // Operators 0 and 2 run on p0, operator 1 on p1: its input and its output move.
        let plan = samples::plan(&[&[0, 1, 0]]);
        let detail = columns(&plan);
        assert_eq!(detail.tasks.waits, [vec![], vec![-1], vec![-2]]);
        assert_eq!(detail.moves.writer, [0, 1]);
        assert_eq!(detail.critical, [0, -1, 1, -2, 2]);
    }
}
