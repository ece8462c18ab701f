//! Plans in the format of `docs/plan-format.md`, written from it in the plainest way, without waits and figures.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_plan::facts::ModelFacts;
use paracompile_plan::plan::{
    Action, Buffer, BufferKind, Command, Convert, Layout, MemoryUse, Plan, PlanProcessor,
    PlanStage, Proof, Queue, QueueKind, Strategy, Task, Transfer,
};
use paracompile_plan::{Bytes, Milliwatts, Nanojoules, Nanoseconds, Slowdown};

use crate::hand::plan;
use crate::random::{Choices, Placed};

const IO: (&str, Layout) = ("ddr", Layout::Any);

pub(crate) type Location = (&'static str, Layout);
type Key = (usize, Location);

fn fit(one: Location, other: Location) -> bool {
    one.0 == other.0 && one.1.fits(other.1)
}

/// Everything that was chosen.
pub(crate) struct Emitter {
    pub(crate) model: ModelFacts,
    pub(crate) placed: Vec<Placed>,
    /// Location of each processor.
    pub(crate) homes: Vec<Location>,
    pub(crate) inputs: BTreeSet<usize>,
    pub(crate) outputs: BTreeSet<usize>,
    /// Of each operator.
    pub(crate) durations: Vec<u64>,
}

struct Moved {
    stage: usize,
    start: u64,
    duration: u64,
    key: Key,
}

impl Emitter {
    fn writer(&self, tensor: usize) -> Option<usize> {
        self.placed.iter().position(|op| op.writes == tensor)
    }

    fn home(&self, tensor: usize) -> Location {
        self.writer(tensor)
            .map_or(IO, |op| self.homes[self.placed[op].processor])
    }

    fn key(&self, tensor: usize, at: Location) -> Key {
        let home = self.home(tensor);
        (tensor, if fit(home, at) { home } else { at })
    }

    fn rank(&self, at: Location) -> usize {
        (self.homes.iter().position(|&home| home == at)).unwrap_or(self.homes.len())
    }

    /// The plan with all its commands, but without waits.
    pub(crate) fn emit(&self, choices: &mut Choices<'_>) -> Plan {
        let last_stage = self.placed.iter().map(|op| op.stage).max().unwrap();
        // Target, and the first stage that needs it.
        let mut moved: BTreeMap<Key, usize> = BTreeMap::new();
        let mut readers: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
        for (index, op) in self.placed.iter().enumerate() {
            for &tensor in &op.reads {
                let key = self.key(tensor, self.homes[op.processor]);
                readers.entry(key).or_default().push(index);
                if key.1 != self.home(tensor) {
                    let first = moved.entry(key).or_insert(op.stage);
                    *first = (*first).min(op.stage);
                }
            }
        }
        for &tensor in &self.outputs {
            let key = self.key(tensor, IO);
            if key.1 != self.home(tensor) {
                let stage = self.placed[self.writer(tensor).unwrap()].stage;
                let first = moved.entry(key).or_insert(stage);
                *first = (*first).min(stage);
            }
        }
        let (starts, mut entries) = self.schedule(&moved, choices);
        let tensor_rank = |key: Key| (key.0, self.rank(key.1));
        entries.sort_by_key(|entry| (entry.stage, entry.start, tensor_rank(entry.key)));
        let mut order: Vec<usize> = (0..self.placed.len()).collect();
        let queues = self.queues(&entries, &readers);
        let compute: Vec<u32> = (self.placed.iter())
            .map(|op| {
                let first = queue(&queues, &format!("p{}", op.processor), QueueKind::Compute);
                first + u32::try_from(op.lane).unwrap()
            })
            .collect();
        order.sort_by_key(|&op| (self.placed[op].stage, starts[op], compute[op]));
        let task_of = |op: usize| order.iter().position(|&other| other == op).unwrap();
        let buffers = self.buffers(&moved, &readers, last_stage, &task_of);
        let id = |key: Key| number((buffers.iter()).position(|(of, _)| *of == key).unwrap());
        let tasks: Vec<Task> = (order.iter().enumerate())
            .map(|(task, &index)| {
                let op = &self.placed[index];
                let here = self.homes[op.processor];
                let mut reads: Vec<u32> = (op.reads.iter())
                    .map(|&tensor| id(self.key(tensor, here)))
                    .chain(op.weight.map(|weight| id((weight, here))))
                    .collect();
                reads.sort_unstable();
                Task {
                    kernel: None,
                    kernels_behind: Vec::new(),
                    fused: None,
                    id: number(task),
                    stage: number(op.stage),
                    queue: compute[index],
                    operators: vec![self.model.operators[index].at.clone()],
                    class: self.model.operators[index].class,
                    reads,
                    writes: vec![id((op.writes, here))],
                    work_ns: Nanoseconds::new(self.durations[index]),
                    start_ns: Nanoseconds::new(starts[index]),
                    duration_ns: Nanoseconds::new(self.durations[index]),
                    energy_nj: Nanojoules::ZERO,
                }
            })
            .collect();
        let transfers: Vec<Transfer> = (entries.iter().enumerate())
            .map(|(index, entry)| {
                let from = (entry.key.0, self.home(entry.key.0));
                let (from_layout, to_layout) = (from.1.1, entry.key.1.1);
                Transfer {
                    id: number(index),
                    stage: number(entry.stage),
                    from_buffer: id(from),
                    to_buffer: id(entry.key),
                    bytes: self.model.tensors[entry.key.0].bytes,
                    convert: (!from_layout.fits(to_layout)).then_some(Convert {
                        from_layout,
                        to_layout,
                    }),
                    start_ns: Nanoseconds::new(entry.start),
                    duration_ns: Nanoseconds::new(entry.duration),
                    energy_nj: Nanojoules::ZERO,
                }
            })
            .collect();
        let setup = self.setup(&buffers, &queues);
        let sides: Vec<(u32, u32)> = (entries.iter())
            .map(|entry| {
                let (from, to) = self.sides(entry, &readers);
                (
                    queue(&queues, &from, QueueKind::Transfer),
                    queue(&queues, &to, QueueKind::Transfer),
                )
            })
            .collect();
        let buffers = buffers.into_iter().map(|(_, buffer)| buffer).collect();
        self.assemble(tasks, buffers, transfers, queues, setup, &sides)
    }

    fn setup(&self, buffers: &[(Key, Buffer)], queues: &[Queue]) -> Vec<Command> {
        (buffers.iter().enumerate())
            .filter(|(_, (_, buffer))| buffer.kind == BufferKind::Weight)
            .enumerate()
            .map(|(index, (buffer, (key, _)))| {
                let side = (self.placed.iter())
                    .filter(|op| op.weight == Some(key.0))
                    .map(|op| op.processor)
                    .min()
                    .unwrap();
                Command {
                    id: number(index),
                    queue: Some(queue(queues, &format!("p{side}"), QueueKind::Transfer)),
                    action: Action::Write(number(buffer)),
                    wait: Vec::new(),
                }
            })
            .collect()
    }

    /// Starts of operators and moves, as early as possible, operators of a lane in the order of the network.
    fn schedule(
        &self,
        moved: &BTreeMap<Key, usize>,
        choices: &mut Choices<'_>,
    ) -> (Vec<u64>, Vec<Moved>) {
        let mut starts = Vec::new();
        let mut ends: Vec<u64> = Vec::new();
        let mut lanes: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        let durations: BTreeMap<Key, u64> = moved
            .keys()
            .map(|&key| (key, choices.below(3) as u64))
            .collect();
        let begins = |key: Key, ends: &[u64]| match self.writer(key.0) {
            Some(op) if self.placed[op].stage == moved[&key] => ends[op],
            _ => 0,
        };
        for (index, op) in self.placed.iter().enumerate() {
            let mut start = lanes.get(&(op.processor, op.lane)).copied().unwrap_or(0);
            for &tensor in &op.reads {
                let key = self.key(tensor, self.homes[op.processor]);
                let ready = if let Some(&stage) = moved.get(&key) {
                    if stage == op.stage {
                        begins(key, &ends) + durations[&key]
                    } else {
                        0
                    }
                } else {
                    match self.writer(tensor) {
                        Some(writer) if self.placed[writer].stage == op.stage => ends[writer],
                        _ => 0,
                    }
                };
                start = start.max(ready);
            }
            starts.push(start);
            ends.push(start + self.durations[index]);
            lanes.insert((op.processor, op.lane), ends[index]);
        }
        let entries = (moved.iter())
            .map(|(&key, &stage)| Moved {
                stage,
                start: begins(key, &ends),
                duration: durations[&key],
                key,
            })
            .collect();
        (starts, entries)
    }

    /// Names of the queues' owners at the two ends of a move.
    fn sides(&self, entry: &Moved, readers: &BTreeMap<Key, Vec<usize>>) -> (String, String) {
        let name =
            |processor: Option<usize>| processor.map_or("io".to_owned(), |p| format!("p{p}"));
        let from = self.writer(entry.key.0).map(|op| self.placed[op].processor);
        let is_output = self.outputs.contains(&entry.key.0) && entry.key.1 == IO;
        let to = (readers.get(&entry.key).into_iter().flatten())
            .filter(|&&op| self.placed[op].stage == entry.stage && !is_output)
            .map(|&op| self.placed[op].processor)
            .min();
        (name(from), name(to))
    }

    fn queues(&self, moves: &[Moved], readers: &BTreeMap<Key, Vec<usize>>) -> Vec<Queue> {
        let mut transfer: BTreeSet<String> = (moves.iter())
            .flat_map(|entry| {
                let (from, to) = self.sides(entry, readers);
                [from, to]
            })
            .collect();
        for op in &self.placed {
            if op.weight.is_some() {
                transfer.insert(format!("p{}", op.processor));
            }
        }
        let mut queues = Vec::new();
        let mut push = |processor: String, kind| {
            queues.push(Queue {
                id: number(queues.len()),
                processor,
                kind,
            });
        };
        for processor in 0..self.homes.len() {
            let lanes = (self.placed.iter())
                .filter(|op| op.processor == processor)
                .map(|op| op.lane + 1)
                .max()
                .unwrap();
            for _ in 0..lanes {
                push(format!("p{processor}"), QueueKind::Compute);
            }
            if transfer.contains(&format!("p{processor}")) {
                push(format!("p{processor}"), QueueKind::Transfer);
            }
        }
        if transfer.contains("io") {
            push("io".to_owned(), QueueKind::Transfer);
        }
        queues
    }

    fn buffers(
        &self,
        moved: &BTreeMap<Key, usize>,
        readers: &BTreeMap<Key, Vec<usize>>,
        last_stage: usize,
        task_of: &dyn Fn(usize) -> usize,
    ) -> Vec<(Key, Buffer)> {
        let mut keys: BTreeSet<Key> = moved.keys().copied().collect();
        keys.extend(self.inputs.iter().map(|&tensor| (tensor, IO)));
        keys.extend(
            self.placed
                .iter()
                .map(|op| (op.writes, self.home(op.writes))),
        );
        keys.extend(
            (self.placed.iter()).filter_map(|op| Some((op.weight?, self.homes[op.processor]))),
        );
        let mut buffers: Vec<(Key, Buffer)> = (keys.into_iter())
            .map(|key| {
                let (tensor, at) = key;
                let facts = &self.model.tensors[tensor];
                let producer = self.writer(tensor);
                let at_home = at == self.home(tensor);
                let is_target = moved.contains_key(&key);
                let kind = if facts.weight {
                    BufferKind::Weight
                } else if self.inputs.contains(&tensor) && at == IO {
                    BufferKind::Input
                } else if self.outputs.contains(&tensor) && at == self.key(tensor, IO).1 {
                    BufferKind::Output
                } else {
                    BufferKind::Activation
                };
                let first = match (moved.get(&key), producer) {
                    (Some(&stage), _) => stage,
                    (None, Some(op)) => self.placed[op].stage,
                    (None, None) => 0,
                };
                let read =
                    (readers.get(&key).into_iter().flatten()).map(|&op| self.placed[op].stage);
                let moving = (moved.iter())
                    .filter(|(target, _)| target.0 == tensor && at_home && !is_target)
                    .map(|(_, &stage)| stage);
                let mut last = read.chain(moving).max().unwrap_or(first).max(first);
                if kind == BufferKind::Output {
                    last = last_stage;
                }
                let copies = if facts.weight { 1 } else { last - first + 1 };
                let touching: Vec<usize> = (self.placed.iter().enumerate())
                    .filter(|(_, op)| {
                        let here = self.homes[op.processor];
                        let reads = op.reads.iter().any(|&read| self.key(read, here) == key);
                        let written = op.writes == tensor && here == at;
                        reads || written || (op.weight == Some(tensor) && here == at)
                    })
                    .map(|(index, _)| task_of(index))
                    .collect();
                let buffer = Buffer {
                    id: 0,
                    tensor: facts.name.clone(),
                    kind,
                    memory: at.0.to_owned(),
                    bytes: facts.bytes,
                    dtype: facts.dtype.clone(),
                    shape: facts.shape.clone(),
                    layout: at.1,
                    copies: number(copies),
                    first_task: touching.iter().min().map(|&task| number(task)),
                    last_task: touching.iter().max().map(|&task| number(task)),
                };
                (key, buffer)
            })
            .collect();
        buffers.sort_by_key(|(key, buffer)| (buffer.kind, key.0, self.rank(key.1)));
        for (index, (_, buffer)) in buffers.iter_mut().enumerate() {
            buffer.id = number(index);
        }
        buffers
    }

    fn assemble(
        &self,
        tasks: Vec<Task>,
        buffers: Vec<Buffer>,
        transfers: Vec<Transfer>,
        queues: Vec<Queue>,
        setup: Vec<Command>,
        sides: &[(u32, u32)],
    ) -> Plan {
        let mut plan = plan("single");
        let zero_proof = |proof: &Proof| Proof {
            value_ns: Nanoseconds::ZERO,
            bound_ns: Nanoseconds::ZERO,
            ..proof.clone()
        };
        plan.model.name.clone_from(&self.model.name);
        plan.model.dims.clear();
        plan.model.rewrites.clear();
        let name = |&tensor: &usize| self.model.tensors[tensor].name.clone();
        plan.model.inputs = self.model.inputs.iter().map(name).collect();
        plan.model.outputs = self.model.outputs.iter().map(name).collect();
        plan.labels.clear();
        plan.processors = (self.homes.iter().enumerate())
            .map(|(index, home)| PlanProcessor {
                name: format!("p{index}"),
                memory: home.0.to_owned(),
                layout: home.1,
                operating_point: "only".to_owned(),
                static_mw: Milliwatts::ZERO,
                dispatch_ns: Nanoseconds::ZERO,
                sharing: Slowdown::NONE,
            })
            .collect();
        let proof = zero_proof(&plan.proof);
        plan.proof = zero_proof(&plan.proof);
        let count = 1 + self.placed.iter().map(|op| op.stage).max().unwrap();
        plan.stages = (0..count)
            .map(|stage| {
                let own: BTreeSet<usize> = (self.placed.iter())
                    .filter(|op| op.stage == stage)
                    .map(|op| op.processor)
                    .collect();
                PlanStage {
                    id: number(stage),
                    processors: own
                        .iter()
                        .map(|processor| format!("p{processor}"))
                        .collect(),
                    time_alone_ns: Nanoseconds::ZERO,
                    time_ns: Nanoseconds::ZERO,
                    proof: proof.clone(),
                }
            })
            .collect();
        let shape: Vec<usize> = plan
            .stages
            .iter()
            .map(|stage| stage.processors.len())
            .collect();
        plan.strategy = Strategy::of(&shape);
        plan.predicted.latency_ns = Nanoseconds::ZERO;
        plan.predicted.interval_ns = Nanoseconds::ZERO;
        plan.predicted.memory = vec![MemoryUse {
            memory: "ddr".to_owned(),
            weights: Bytes::ZERO,
            peak: Bytes::ZERO,
        }];
        plan.admission_interval_ns = Nanoseconds::ZERO;
        plan.frame = unordered_frame(count, &tasks, &transfers, sides);
        plan.tasks = tasks;
        plan.buffers = buffers;
        plan.transfers = transfers;
        plan.queues = queues;
        plan.setup = setup;
        plan
    }
}

/// All commands, stage by stage; between the markers by (start, kind, id) alone.
fn unordered_frame(
    stages: usize,
    tasks: &[Task],
    transfers: &[Transfer],
    sides: &[(u32, u32)],
) -> Vec<Command> {
    let mut frame = Vec::new();
    let mut push = |action, queue| {
        frame.push(Command {
            id: number(frame.len()),
            queue,
            action,
            wait: Vec::new(),
        });
    };
    for stage in (0..stages).map(number) {
        push(Action::Begin(stage), None);
        let mut inside = Vec::new();
        for (transfer, &(from, to)) in transfers.iter().zip(sides) {
            if transfer.stage == stage {
                let start = transfer.start_ns;
                inside.push((start, 0, transfer.id, Action::Send(transfer.id), from));
                inside.push((start, 1, transfer.id, Action::Receive(transfer.id), to));
            }
        }
        for task in tasks.iter().filter(|task| task.stage == stage) {
            inside.push((
                task.start_ns,
                2,
                task.id,
                Action::Launch(task.id),
                task.queue,
            ));
        }
        inside.sort_unstable();
        for (_, _, _, action, queue) in inside {
            push(action, Some(queue));
        }
        push(Action::End(stage), None);
    }
    frame
}

fn queue(queues: &[Queue], processor: &str, kind: QueueKind) -> u32 {
    (queues.iter())
        .find(|queue| queue.processor == processor && queue.kind == kind)
        .unwrap()
        .id
}

pub(crate) fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap()
}
