//! A plan's frame as steps with dependencies, every reference checked.
//!
//! A step is a marker, a task, or a transfer: its `send` and `receive` start and end together, so they are one.

use std::collections::BTreeMap;

use paracompile_plan::plan::{Action, Plan, PlanProcessor, QueueKind};
use paracompile_plan::{Nanoseconds, Slowdown};

use super::error::SimulateError;

/// What happens in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    /// A stage takes the frame.
    Begin { stage: usize },
    /// A stage is done with the frame.
    End { stage: usize },
    /// A task on a processor, an index in the plan's processors.
    Task { task: usize, processor: usize },
    /// A transfer over a link, an index below [`Program::links`].
    Transfer { transfer: usize, link: usize },
}

/// A step and its commands.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) kind: StepKind,
    /// Its commands, by id; two for a transfer.
    pub(super) commands: Vec<u32>,
    /// Steps that must end before it starts, and of how many frames before.
    pub(super) waits: Vec<(usize, usize)>,
    /// Steps that wait for it, and of how many frames later.
    pub(super) releases: Vec<(usize, usize)>,
}

/// The steps of a frame.
#[derive(Clone, Debug)]
pub(super) struct Program<'p> {
    pub(super) plan: &'p Plan,
    pub(super) steps: Vec<Step>,
    /// The `begin` of each stage.
    pub(super) begins: Vec<usize>,
    /// The `end` of each stage.
    pub(super) ends: Vec<usize>,
    /// For each stage, the steps of its commands but markers, in the order of the file; a transfer stands there twice.
    pub(super) enqueued: Vec<Vec<usize>>,
    /// How many links transfers use.
    pub(super) links: usize,
    /// The contention entries of the plan.
    contention: Vec<ContentionEntry>,
    /// For each stage, its processors.
    stage_processors: Vec<Vec<usize>>,
}

impl<'p> Program<'p> {
    /// Reads a plan.
    pub(super) fn new(plan: &'p Plan) -> Result<Self, SimulateError> {
        if plan.stages.is_empty() {
            return Err(SimulateError::NoStages);
        }
        let processors: BTreeMap<&str, usize> = plan
            .processors
            .iter()
            .enumerate()
            .map(|(index, processor): (usize, &PlanProcessor)| (processor.name.as_str(), index))
            .collect();
        let mut builder = Builder {
            plan,
            processors: &processors,
            links: BTreeMap::new(),
            steps: Vec::new(),
            step_of_command: Vec::with_capacity(plan.frame.len()),
            begins: vec![None; plan.stages.len()],
            ends: vec![None; plan.stages.len()],
            tasks: vec![None; plan.tasks.len()],
            transfers: vec![Halves::default(); plan.transfers.len()],
            enqueued: vec![Vec::new(); plan.stages.len()],
        };
        for (command, entry) in plan.frame.iter().enumerate() {
            builder.add(command, entry.action)?;
        }
        builder.check_complete()?;
        builder.add_waits()?;
        builder.add_queue_order();
        let Builder {
            mut steps,
            begins,
            ends,
            links,
            enqueued,
            ..
        } = builder;
        for step in 0..steps.len() {
            for (before, frames_back) in steps[step].waits.clone() {
                steps[before].releases.push((step, frames_back));
            }
        }
        Ok(Self {
            plan,
            steps,
            begins: begins.into_iter().flatten().collect(),
            ends: ends.into_iter().flatten().collect(),
            enqueued,
            links: links.len(),
            contention: contention(plan, &processors)?,
            stage_processors: stage_processors(plan, &processors)?,
        })
    }

    /// `κ` of a processor while those with `busy` are in use (rule M4).
    pub(super) fn slowdown(&self, processor: usize, busy: &[bool]) -> Slowdown {
        self.contention
            .iter()
            .filter(|(set, _)| set.contains(&processor) && set.iter().all(|&member| busy[member]))
            .flat_map(|(_, factors)| factors)
            .filter(|(member, _)| *member == processor)
            .map(|&(_, factor)| factor)
            .fold(Slowdown::NONE, Slowdown::max)
    }

    /// The processors of the whole plan, or of one stage.
    pub(super) fn set(&self, stage: Option<usize>) -> Vec<bool> {
        match stage {
            None => vec![true; self.plan.processors.len()],
            Some(stage) => {
                let mut set = vec![false; self.plan.processors.len()];
                for &processor in &self.stage_processors[stage] {
                    set[processor] = true;
                }
                set
            }
        }
    }

    /// How often the host has to call for a step: once, or for each kernel of a task.
    pub(super) fn launches(&self, step: usize) -> usize {
        match self.steps[step].kind {
            StepKind::Task { task, .. } => self.plan.tasks[task].kernels_behind.len() + 1,
            StepKind::Begin { .. } | StepKind::End { .. } | StepKind::Transfer { .. } => 1,
        }
    }

    /// The duration of a task while the processors of `set` are in use (rules M4 and M10).
    pub(super) fn duration(&self, task: usize, processor: usize, set: &[bool]) -> Nanoseconds {
        let sharing = self.plan.processors[processor].sharing;
        self.plan.tasks[task]
            .work_ns
            .slowed_twice(self.slowdown(processor, set), sharing)
    }
}

/// Members of a set, and the factors of those that are slowed.
type ContentionEntry = (Vec<usize>, Vec<(usize, Slowdown)>);

/// The two commands of a transfer, as they are found.
#[derive(Clone, Copy, Debug, Default)]
struct Halves {
    step: Option<usize>,
    send: bool,
    receive: bool,
}

struct Builder<'p, 'n> {
    plan: &'p Plan,
    processors: &'n BTreeMap<&'p str, usize>,
    links: BTreeMap<(&'p str, &'p str), usize>,
    steps: Vec<Step>,
    step_of_command: Vec<usize>,
    begins: Vec<Option<usize>>,
    ends: Vec<Option<usize>>,
    tasks: Vec<Option<usize>>,
    transfers: Vec<Halves>,
    enqueued: Vec<Vec<usize>>,
}

impl Builder<'_, '_> {
    fn add(&mut self, command: usize, action: Action) -> Result<(), SimulateError> {
        let step = match action {
            Action::Begin(stage) => {
                let kind = StepKind::Begin {
                    stage: stage as usize,
                };
                let step = self.steps.len();
                occupy(&mut self.begins, command, "begin", stage, step)?;
                self.push(kind)
            }
            Action::End(stage) => {
                let kind = StepKind::End {
                    stage: stage as usize,
                };
                let step = self.steps.len();
                occupy(&mut self.ends, command, "end", stage, step)?;
                self.push(kind)
            }
            Action::Launch(task) => self.add_task(command, task)?,
            Action::Send(transfer) => self.add_half(command, transfer, true)?,
            Action::Receive(transfer) => self.add_half(command, transfer, false)?,
            Action::Write(_) => return Err(SimulateError::WriteInFrame { command }),
        };
        self.steps[step]
            .commands
            .push(u32::try_from(command).unwrap_or(u32::MAX));
        self.step_of_command.push(step);
        Ok(())
    }

    fn push(&mut self, kind: StepKind) -> usize {
        self.steps.push(Step {
            kind,
            commands: Vec::with_capacity(2),
            waits: Vec::new(),
            releases: Vec::new(),
        });
        self.steps.len() - 1
    }

    fn add_task(&mut self, command: usize, id: u32) -> Result<usize, SimulateError> {
        let step = self.steps.len();
        occupy(&mut self.tasks, command, "task", id, step)?;
        let task = &self.plan.tasks[id as usize];
        self.enqueue(command, task.stage, step)?;
        let queue = self.plan.frame[command].queue.and_then(|queue| {
            let queue = self.plan.queues.get(queue as usize)?;
            (queue.kind == QueueKind::Compute).then_some(queue)
        });
        let queue = queue.ok_or(SimulateError::NoComputeQueue { command })?;
        let processor = index_of(self.processors, &queue.processor, || {
            format!("queues[{}].processor", queue.id)
        })?;
        Ok(self.push(StepKind::Task {
            task: id as usize,
            processor,
        }))
    }

    fn add_half(&mut self, command: usize, id: u32, send: bool) -> Result<usize, SimulateError> {
        let at = || format!("frame[{command}]");
        let transfer = known(&self.plan.transfers, id, at, "transfer")?;
        let halves = &mut self.transfers[id as usize];
        let (half, what) = if send {
            (&mut halves.send, "send")
        } else {
            (&mut halves.receive, "receive")
        };
        if std::mem::replace(half, true) {
            return Err(SimulateError::Twice { command, what, id });
        }
        let step = if let Some(step) = halves.step {
            step
        } else {
            halves.step = Some(self.steps.len());
            let at = || format!("transfers[{id}]");
            let from = known(&self.plan.buffers, transfer.from_buffer, at, "buffer")?;
            let to = known(&self.plan.buffers, transfer.to_buffer, at, "buffer")?;
            let next = self.links.len();
            let link = *self
                .links
                .entry((from.memory.as_str(), to.memory.as_str()))
                .or_insert(next);
            self.push(StepKind::Transfer {
                transfer: id as usize,
                link,
            })
        };
        self.enqueue(command, transfer.stage, step)?;
        Ok(step)
    }

    /// Notes that the host enqueues a command of a stage.
    fn enqueue(&mut self, command: usize, stage: u32, step: usize) -> Result<(), SimulateError> {
        let list = self.enqueued.get_mut(stage as usize);
        list.ok_or_else(|| SimulateError::Missing {
            at: format!("frame[{command}]"),
            what: "stage",
            id: stage.to_string(),
        })?
        .push(step);
        Ok(())
    }

    fn check_complete(&self) -> Result<(), SimulateError> {
        let missing = |list: &[Option<usize>]| list.iter().position(Option::is_none);
        for (what, list) in [
            ("begin of stage", &self.begins),
            ("end of stage", &self.ends),
            ("task", &self.tasks),
        ] {
            if let Some(id) = missing(list) {
                return Err(SimulateError::NeverRuns { what, id });
            }
        }
        let half = |halves: &Halves| !halves.send || !halves.receive;
        match self.transfers.iter().position(half) {
            None => Ok(()),
            Some(id) => Err(SimulateError::NeverRuns {
                what: if self.transfers[id].send {
                    "receive of transfer"
                } else {
                    "send of transfer"
                },
                id,
            }),
        }
    }

    fn add_waits(&mut self) -> Result<(), SimulateError> {
        for (command, entry) in self.plan.frame.iter().enumerate() {
            let step = self.step_of_command[command];
            for wait in &entry.wait {
                let before = self.step_of_command.get(wait.command as usize);
                let before = *before.ok_or_else(|| SimulateError::Missing {
                    at: format!("frame[{command}].wait"),
                    what: "command",
                    id: wait.command.to_string(),
                })?;
                self.steps[step]
                    .waits
                    .push((before, wait.frames_back as usize));
            }
        }
        Ok(())
    }

    /// A compute queue runs one task after the other, frame after frame.
    fn add_queue_order(&mut self) {
        let mut queues: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (command, entry) in self.plan.frame.iter().enumerate() {
            if let (Action::Launch(_), Some(queue)) = (entry.action, entry.queue) {
                let step = self.step_of_command[command];
                queues.entry(queue).or_default().push(step);
            }
        }
        for steps in queues.values() {
            for pair in steps.windows(2) {
                self.steps[pair[1]].waits.push((pair[0], 0));
            }
            let (first, last) = (steps[0], steps[steps.len() - 1]);
            self.steps[first].waits.push((last, 1));
        }
    }
}

fn occupy(
    list: &mut [Option<usize>],
    command: usize,
    what: &'static str,
    id: u32,
    step: usize,
) -> Result<(), SimulateError> {
    let slot = list
        .get_mut(id as usize)
        .ok_or_else(|| SimulateError::Missing {
            at: format!("frame[{command}]"),
            what,
            id: id.to_string(),
        })?;
    if slot.replace(step).is_some() {
        return Err(SimulateError::Twice { command, what, id });
    }
    Ok(())
}

fn known<'a, T>(
    list: &'a [T],
    id: u32,
    at: impl Fn() -> String,
    what: &'static str,
) -> Result<&'a T, SimulateError> {
    list.get(id as usize).ok_or_else(|| SimulateError::Missing {
        at: at(),
        what,
        id: id.to_string(),
    })
}

fn index_of(
    processors: &BTreeMap<&str, usize>,
    name: &str,
    at: impl Fn() -> String,
) -> Result<usize, SimulateError> {
    processors
        .get(name)
        .copied()
        .ok_or_else(|| SimulateError::Missing {
            at: at(),
            what: "processor",
            id: name.to_owned(),
        })
}

fn contention(
    plan: &Plan,
    processors: &BTreeMap<&str, usize>,
) -> Result<Vec<ContentionEntry>, SimulateError> {
    plan.contention
        .iter()
        .enumerate()
        .map(|(entry, contention)| {
            let index =
                |name: &String| index_of(processors, name, || format!("contention[{entry}]"));
            let set = contention.set.iter().map(index).collect::<Result<_, _>>()?;
            let factors = contention
                .factor
                .iter()
                .map(|(name, &factor)| Ok((index(name)?, factor)))
                .collect::<Result<_, _>>()?;
            Ok((set, factors))
        })
        .collect()
}

fn stage_processors(
    plan: &Plan,
    processors: &BTreeMap<&str, usize>,
) -> Result<Vec<Vec<usize>>, SimulateError> {
    plan.stages
        .iter()
        .map(|stage| {
            let at = || format!("stages[{}].processors", stage.id);
            stage
                .processors
                .iter()
                .map(|name| index_of(processors, name, at))
                .collect()
        })
        .collect()
}
