//! Which task runs which operators in which stage on which processor (rule M2).
//!
//! Everything later indexes freely, so a plan whose references do not resolve stops here.

use super::fusion;
use super::locations::Locations;
use super::network::Network;
use super::violation::{List, Place, Violation, compare};
use crate::plan::{ModelKind, Plan, QueueKind};

/// No profile has more; it bounds what a hostile plan can make the checker do.
const MOST_PROCESSORS: usize = 16;
const MOST_QUEUES: usize = 256;

/// Where a task runs, and what.
pub(super) struct Placed {
    pub(super) stage: usize,
    pub(super) processor: usize,
    /// Operators of the model facts, anchor first.
    pub(super) members: Vec<usize>,
}

/// The decisions of a plan, resolved.
pub(super) struct Placement<'a> {
    pub(super) plan: &'a Plan,
    pub(super) network: &'a Network<'a>,
    pub(super) locations: Locations<'a>,
    pub(super) tasks: Vec<Placed>,
    /// Task of each operator.
    pub(super) task_of: Vec<usize>,
    /// Task that writes each tensor.
    pub(super) writer: Vec<Option<usize>>,
}

impl<'a> Placement<'a> {
    /// Resolves all references; `None` if one leads nowhere, which is then reported.
    pub(super) fn resolve(
        plan: &'a Plan,
        network: &'a Network<'a>,
        found: &mut Vec<Violation>,
    ) -> Option<Self> {
        let before = found.len();
        sizes(plan, network, found);
        if found.len() > before {
            return None;
        }
        ids(plan, found);
        let before = found.len();
        let stage_of = stages(plan, found);
        let (tasks, task_of) = tasks(plan, network, found);
        if found.len() > before {
            return None;
        }
        for (index, task) in tasks.iter().enumerate() {
            if stage_of[task.processor] != Some(task.stage) {
                found.push(Violation::ForeignProcessor {
                    at: Place::Task(index),
                    processor: plan.processors[task.processor].name.clone(),
                });
            }
        }
        for (index, stage) in plan.stages.iter().enumerate() {
            for name in &stage.processors {
                if !(tasks.iter()).any(|task| {
                    plan.processors[task.processor].name == *name && task.stage == index
                }) {
                    found.push(Violation::IdleProcessor {
                        at: Place::Stage(index),
                        processor: name.clone(),
                    });
                }
            }
        }
        if found.len() > before {
            return None;
        }
        let mut writer = vec![None; network.facts.tensors.len()];
        for (operator, tensors) in network.writes.iter().enumerate() {
            for &tensor in tensors {
                writer[tensor] = Some(task_of[operator]);
            }
        }
        let placement = Self {
            plan,
            network,
            locations: Locations::new(plan),
            tasks,
            task_of,
            writer,
        };
        placement.flow(found);
        fusion::judge(&placement, found);
        (found.len() == before).then_some(placement)
    }

    /// Data flows to the same stage or later ones, and comes from somewhere.
    fn flow(&self, found: &mut Vec<Violation>) {
        let network = self.network;
        for (operator, tensors) in network.reads.iter().enumerate() {
            let task = self.task_of[operator];
            for &tensor in tensors {
                if network.is_input[tensor] || network.facts.tensors[tensor].weight {
                    continue;
                }
                match self.writer[tensor] {
                    None => found.push(Violation::UnwrittenTensor {
                        tensor: network.name(tensor).to_owned(),
                    }),
                    Some(writer) if self.tasks[writer].stage > self.tasks[task].stage => {
                        found.push(Violation::BackwardFlow {
                            at: Place::Task(task),
                            tensor: network.name(tensor).to_owned(),
                        });
                    }
                    Some(_) => {}
                }
            }
        }
        for tensor in 0..network.facts.tensors.len() {
            if network.is_output[tensor] && self.writer[tensor].is_none() {
                found.push(Violation::UnwrittenTensor {
                    tensor: network.name(tensor).to_owned(),
                });
            }
        }
    }

    /// Where a tensor is written: the home of rule M3.
    pub(super) fn home(&self, tensor: usize) -> usize {
        match self.writer[tensor] {
            Some(task) if !self.network.is_input[tensor] => {
                self.locations.of(self.tasks[task].processor)
            }
            Some(_) | None => self.locations.io,
        }
    }

    /// The stage that writes a tensor; network inputs count as written in stage 0.
    pub(super) fn written_in(&self, tensor: usize) -> usize {
        match self.writer[tensor] {
            Some(task) if !self.network.is_input[tensor] => self.tasks[task].stage,
            Some(_) | None => 0,
        }
    }

    /// Whether a tensor stays inside a task, and is no buffer: written by one member and read by another.
    ///
    /// A user's kernels leave nothing in registers: what one of a task writes for another one is in memory.
    pub(super) fn is_internal(&self, tensor: usize) -> bool {
        self.network.facts.kind == ModelKind::Onnx
            && self.writer[tensor].is_some_and(|task| {
                self.network.readers[tensor]
                    .iter()
                    .any(|&reader| self.task_of[reader] == task)
            })
    }
}

fn sizes(plan: &Plan, network: &Network<'_>, found: &mut Vec<Violation>) {
    let operators = network.facts.operators.len();
    let limits = [
        (List::Processors, plan.processors.len(), MOST_PROCESSORS),
        (List::Stages, plan.stages.len(), plan.processors.len()),
        (List::Tasks, plan.tasks.len(), operators),
        (List::Queues, plan.queues.len(), MOST_QUEUES),
    ];
    for (list, count, limit) in limits {
        if count > limit {
            found.push(Violation::TooMany { list, count, limit });
        }
    }
}

/// An id is the index of its entry.
fn ids(plan: &Plan, found: &mut Vec<Violation>) {
    let mut judge = |index: usize, id: u32, at: fn(usize) -> Place| {
        compare(found, &at(index), "id", &(id as usize), &index);
    };
    for (index, stage) in plan.stages.iter().enumerate() {
        judge(index, stage.id, Place::Stage);
    }
    for (index, task) in plan.tasks.iter().enumerate() {
        judge(index, task.id, Place::Task);
    }
    for (index, buffer) in plan.buffers.iter().enumerate() {
        judge(index, buffer.id, Place::Buffer);
    }
    for (index, transfer) in plan.transfers.iter().enumerate() {
        judge(index, transfer.id, Place::Transfer);
    }
    for (index, queue) in plan.queues.iter().enumerate() {
        judge(index, queue.id, Place::Queue);
    }
    for (index, command) in plan.setup.iter().enumerate() {
        judge(index, command.id, Place::Setup);
    }
    for (index, command) in plan.frame.iter().enumerate() {
        judge(index, command.id, Place::Frame);
    }
}

/// The stage of each processor: sets are disjoint, cover the processors, and stand in the order of `processors`.
fn stages(plan: &Plan, found: &mut Vec<Violation>) -> Vec<Option<usize>> {
    for (index, processor) in plan.processors.iter().enumerate() {
        let taken = (plan.processors[..index].iter()).any(|other| other.name == processor.name);
        if taken || processor.name == "io" {
            found.push(Violation::RepeatedName {
                at: Place::Processor(index),
                name: processor.name.clone(),
            });
        }
    }
    let mut stage_of = vec![None; plan.processors.len()];
    for (stage, entry) in plan.stages.iter().enumerate() {
        let at = Place::Stage(stage);
        let mut previous = None;
        for name in &entry.processors {
            let Some(processor) = position(plan, name) else {
                found.push(Violation::UnknownReference {
                    at: at.clone(),
                    field: "processors",
                    value: name.clone(),
                });
                continue;
            };
            if stage_of[processor].is_some() {
                found.push(Violation::SharedProcessor {
                    at: at.clone(),
                    processor: name.clone(),
                });
            } else if previous > Some(processor) {
                found.push(Violation::Unordered {
                    at: at.clone(),
                    list: List::Processors,
                });
            }
            previous = Some(processor);
            stage_of[processor] = Some(stage);
        }
    }
    for (index, stage) in stage_of.iter().enumerate() {
        if stage.is_none() {
            found.push(Violation::UnusedProcessor {
                at: Place::Processor(index),
                processor: plan.processors[index].name.clone(),
            });
        }
    }
    if plan.stages.is_empty() {
        found.push(Violation::Empty {
            at: Place::Plan,
            field: "stages",
        });
    }
    stage_of
}

/// Every task's place and members, and the task of every operator.
fn tasks(
    plan: &Plan,
    network: &Network<'_>,
    found: &mut Vec<Violation>,
) -> (Vec<Placed>, Vec<usize>) {
    let mut task_of = vec![None; network.facts.operators.len()];
    let mut placed = Vec::with_capacity(plan.tasks.len());
    for (index, task) in plan.tasks.iter().enumerate() {
        let at = Place::Task(index);
        let mut members = Vec::with_capacity(task.operators.len());
        if task.operators.is_empty() {
            found.push(Violation::EmptyTask { at: at.clone() });
        }
        for reference in &task.operators {
            match network.operator(reference) {
                None => found.push(Violation::UnknownOperator {
                    at: at.clone(),
                    operator: reference.clone(),
                }),
                Some(operator) if task_of[operator].is_some() => {
                    found.push(Violation::RepeatedOperator {
                        at: at.clone(),
                        operator: reference.clone(),
                    });
                }
                Some(operator) => {
                    task_of[operator] = Some(index);
                    members.push(operator);
                }
            }
        }
        if let Some(anchor) = task.operators.first().and_then(|at| network.operator(at)) {
            let class = network.facts.operators[anchor].class;
            compare(found, &at, "class", &task.class, &class);
        }
        let stage = task.stage as usize;
        if stage >= plan.stages.len() {
            found.push(Violation::UnknownReference {
                at: at.clone(),
                field: "stage",
                value: stage.to_string(),
            });
        }
        let processor = (plan.queues.get(task.queue as usize))
            .filter(|queue| queue.kind == QueueKind::Compute)
            .and_then(|queue| position(plan, &queue.processor));
        match processor {
            None => found.push(Violation::UnknownReference {
                at,
                field: "queue",
                value: task.queue.to_string(),
            }),
            Some(processor) => placed.push(Placed {
                stage,
                processor,
                members,
            }),
        }
    }
    for (operator, task) in task_of.iter().enumerate() {
        if task.is_none() {
            found.push(Violation::MissingOperator {
                operator: network.facts.operators[operator].at.clone(),
            });
        }
    }
    // Missing ones are reported above, and whoever sees a report does not look further.
    let task_of = task_of.into_iter().flatten().collect();
    (placed, task_of)
}

fn position(plan: &Plan, name: &str) -> Option<usize> {
    plan.processors
        .iter()
        .position(|processor| processor.name == name)
}
