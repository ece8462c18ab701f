//! Compares `setup` and `frame` with the commands, their order and the waits that follow.

use std::collections::{BTreeMap, BTreeSet};

use super::dataflow::{Dataflow, Node};
use super::order::{Order, Step, end_step};
use super::placement::Placement;
use super::queues::{transfer_queue, weight_processor};
use super::violation::{List, Place, Violation, compare};
use crate::plan::{Action, BufferKind, Command, Wait};

/// A command that must be in a list, with waits by action.
struct Needed {
    action: Action,
    queue: Option<u32>,
    /// (frames back, action), in no order.
    waits: Vec<(u32, Action)>,
}

/// Adds every difference of `setup`.
pub(super) fn judge_setup(placement: &Placement<'_>, flow: &Dataflow, found: &mut Vec<Violation>) {
    let needed: Vec<Needed> = (0..flow.buffers.len())
        .filter(|&id| flow.buffers[id].kind == BufferKind::Weight)
        .map(|id| Needed {
            action: Action::Write(number(id)),
            queue: transfer_queue(placement.plan, weight_processor(placement, flow, id)),
            waits: Vec::new(),
        })
        .collect();
    judge(&placement.plan.setup, &needed, List::Setup, found);
}

/// Adds every difference of `frame`.
pub(super) fn judge_frame(
    placement: &Placement<'_>,
    flow: &Dataflow,
    order: &Order,
    found: &mut Vec<Violation>,
) {
    let plan = placement.plan;
    let launch_waits = order.waits(placement, flow);
    let mut needed = Vec::with_capacity(plan.frame.len());
    for (stage, steps) in order.stages.iter().enumerate() {
        let begin = (0, Action::Begin(number(stage)));
        needed.push(Needed {
            action: begin.1,
            queue: None,
            waits: begin_waits(flow, stage),
        });
        let mut ends = Vec::new();
        for &step in steps {
            let (queue, mut waits) = match step {
                Step::Send(index) => (
                    transfer_queue(plan, flow.moves[index].source),
                    order.source[index]
                        .map(|task| (0, Action::Launch(number(task))))
                        .into_iter()
                        .collect(),
                ),
                Step::Receive(index) => {
                    if flow.moves[index].readers.is_empty() {
                        ends.push((0, action(step)));
                    }
                    (transfer_queue(plan, flow.moves[index].target), Vec::new())
                }
                Step::Launch(task) => {
                    if !order.task_has_successor[task] {
                        ends.push((0, action(step)));
                    }
                    let waits: Vec<_> = (launch_waits[task].iter())
                        .map(|&node: &Node| (0, action(end_step(node))))
                        .collect();
                    (Some(plan.tasks[task].queue), waits)
                }
            };
            let follows_begin = match step {
                Step::Send(index) => order.source[index].is_none(),
                Step::Receive(_) => false,
                Step::Launch(task) => order.needs[task].is_empty() && order.before[task].is_none(),
            };
            if follows_begin {
                waits.push(begin);
            }
            needed.push(Needed {
                action: action(step),
                queue,
                waits,
            });
        }
        needed.push(Needed {
            action: Action::End(number(stage)),
            queue: None,
            waits: ends,
        });
    }
    judge(&plan.frame, &needed, List::Frame, found);
}

/// The waits of `begin`: the stage before, this stage a frame ago, and the last readers of what this stage writes (M5, M6).
fn begin_waits(flow: &Dataflow, stage: usize) -> Vec<(u32, Action)> {
    let mut waits = BTreeSet::from([(1, stage)]);
    if stage > 0 {
        waits.insert((0, stage - 1));
    }
    for buffer in &flow.buffers {
        if buffer.is_of_frame() && buffer.first == stage && buffer.last > stage {
            waits.insert((number(buffer.copies()), buffer.last));
        }
    }
    waits
        .into_iter()
        .map(|(frames_back, stage)| (frames_back, Action::End(number(stage))))
        .collect()
}

fn action(step: Step) -> Action {
    match step {
        Step::Send(index) => Action::Send(number(index)),
        Step::Receive(index) => Action::Receive(number(index)),
        Step::Launch(task) => Action::Launch(number(task)),
    }
}

fn judge(commands: &[Command], needed: &[Needed], list: List, found: &mut Vec<Violation>) {
    let at = |index: usize| match list {
        List::Setup => Place::Setup(index),
        List::Frame
        | List::Processors
        | List::Stages
        | List::Tasks
        | List::Transfers
        | List::Queues => Place::Frame(index),
    };
    let mut stated: BTreeMap<Action, usize> = BTreeMap::new();
    let known: BTreeSet<Action> = needed.iter().map(|command| command.action).collect();
    for (index, command) in commands.iter().enumerate() {
        if !known.contains(&command.action) || stated.contains_key(&command.action) {
            found.push(Violation::SurplusCommand {
                at: at(index),
                action: command.action,
            });
        } else {
            stated.insert(command.action, index);
        }
    }
    let out_of_order =
        (commands.iter().zip(needed)).position(|(command, needed)| command.action != needed.action);
    if let Some(index) = out_of_order {
        found.push(Violation::Unordered {
            at: at(index),
            list,
        });
    }
    for needed in needed {
        let Some(&index) = stated.get(&needed.action) else {
            found.push(Violation::MissingCommand {
                list,
                action: needed.action,
            });
            continue;
        };
        let command = &commands[index];
        compare(found, &at(index), "queue", &command.queue, &needed.queue);
        let waits: BTreeSet<(u32, u32)> = (needed.waits.iter())
            .filter_map(|(frames_back, action)| Some((*frames_back, number(*stated.get(action)?))))
            .collect();
        judge_waits(command, &at(index), &waits, found);
    }
}

/// `needed` is (frames back, command).
fn judge_waits(
    command: &Command,
    at: &Place,
    needed: &BTreeSet<(u32, u32)>,
    found: &mut Vec<Violation>,
) {
    let stated: Vec<(u32, u32)> = (command.wait.iter())
        .map(|wait| (wait.frames_back, wait.command))
        .collect();
    if !stated.is_sorted_by(|one, next| one < next) {
        found.push(Violation::UnorderedWaits { at: at.clone() });
    }
    let stated: BTreeSet<(u32, u32)> = stated.into_iter().collect();
    let wait = |&(frames_back, command): &(u32, u32)| Wait {
        command,
        frames_back,
    };
    for missing in needed.difference(&stated) {
        found.push(Violation::MissingWait {
            at: at.clone(),
            wait: wait(missing),
        });
    }
    for surplus in stated.difference(needed) {
        found.push(Violation::SurplusWait {
            at: at.clone(),
            wait: wait(surplus),
        });
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
