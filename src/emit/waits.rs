//! Commands of a frame in order, each with the waits that nothing else implies: the transitive reduction that the plan format prescribes.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Range;

use paracompile_plan::Nanoseconds;
use paracompile_plan::plan::{Action, Command, Wait};

use super::plan::{Context, id};
use super::queues::Queues;
use super::tasks::TaskOrder;
use super::transfers::TransferOrder;
use crate::estimate::{StorageIndex, Writer};

/// What each task and transfer of a stage waits for; a transfer's `send` and `receive` are one node.
/// Nodes are numbered as the transfers of the stage, then its tasks, each in the order of ids.
struct StageNodes {
    transfers: Range<usize>,
    tasks: Range<usize>,
    /// Writers of what a node reads, in the same stage.
    reads: Vec<Vec<usize>>,
    /// The task before it on its queue, in the same stage.
    queue: Vec<Option<usize>>,
}

/// The commands of a frame.
pub(super) fn frame(
    context: &Context<'_>,
    order: &TaskOrder,
    moves: &TransferOrder,
    queues: &Queues,
) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    let mut ends = Vec::with_capacity(context.placement.stages);
    for stage in 0..context.placement.stages {
        let nodes = StageNodes::new(context, order, moves, stage);
        let actions = listed(order, moves, &nodes);
        ends.push(append(
            &mut commands,
            stage,
            &nodes,
            &actions,
            order,
            queues,
        ));
    }
    add_frame_waits(context, &mut commands, &ends);
    for command in &mut commands {
        command
            .wait
            .sort_unstable_by_key(|wait| (wait.frames_back, wait.command));
    }
    commands
}

impl StageNodes {
    fn new(context: &Context<'_>, order: &TaskOrder, moves: &TransferOrder, stage: usize) -> Self {
        let placement = &context.placement;
        let transfers = of_stage(moves.timings.len(), stage, |transfer| {
            placement.moves[moves.timings[transfer].0].stage
        });
        let tasks = of_stage(order.timings.len(), stage, |task| order.timings[task].0);
        let number_of_task = |task: usize| transfers.len() + task - tasks.start;
        let writer = |storage: StorageIndex| {
            let storage = &placement.storages[storage];
            if storage.first < stage {
                return None;
            }
            match storage.writer {
                Writer::Frame => None,
                Writer::Op(op) => Some(number_of_task(order.task_of(op))),
                Writer::Move(index) => Some(moves.transfer_of(index) - transfers.start),
            }
        };
        let mut reads = Vec::with_capacity(transfers.len() + tasks.len());
        let mut queue = vec![None; transfers.len()];
        for transfer in transfers.clone() {
            let source = placement.moves[moves.timings[transfer].0].source;
            reads.push(writer(source).into_iter().collect());
        }
        let mut before = vec![None; placement.queues];
        for task in tasks.clone() {
            let timing = order.timings[task].1;
            let mut writers: Vec<usize> = placement
                .reads_of(timing.op)
                .iter()
                .filter_map(|&storage| writer(storage))
                .collect();
            writers.sort_unstable();
            writers.dedup();
            reads.push(writers);
            queue.push(before[timing.queue].replace(number_of_task(task)));
        }
        Self {
            transfers,
            tasks,
            reads,
            queue,
        }
    }

    fn len(&self) -> usize {
        self.reads.len()
    }

    /// What a node is, as the first of its commands.
    fn item(&self, node: usize) -> Item {
        if node < self.transfers.len() {
            Item::Send(self.transfers.start + node)
        } else {
            Item::Launch(self.tasks.start + node - self.transfers.len())
        }
    }

    fn node(&self, item: Item) -> usize {
        match item {
            Item::Send(transfer) | Item::Receive(transfer) => transfer - self.transfers.start,
            Item::Launch(task) => self.transfers.len() + task - self.tasks.start,
        }
    }

    fn predecessors(&self, node: usize) -> impl Iterator<Item = usize> {
        self.reads[node].iter().copied().chain(self.queue[node])
    }
}

/// The range of a list sorted by stage that belongs to `stage`.
fn of_stage(length: usize, stage: usize, stage_of: impl Fn(usize) -> usize) -> Range<usize> {
    let first_not = |after: usize| {
        let (mut low, mut high) = (0, length);
        while low < high {
            let middle = usize::midpoint(low, high);
            if stage_of(middle) < after {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    };
    first_not(stage)..first_not(stage + 1)
}

/// A command between `begin` and `end` of a stage, with the id of its transfer or task; the order of variants is that among equal starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Send(usize),
    Receive(usize),
    Launch(usize),
}

/// The items of a stage: always the one with the smallest start, kind and id among those whose dependencies are listed.
fn listed(order: &TaskOrder, moves: &TransferOrder, stage: &StageNodes) -> Vec<Item> {
    let mut missing: Vec<usize> = Vec::with_capacity(stage.len());
    let mut successors: Vec<Vec<usize>> = vec![Vec::new(); stage.len()];
    for node in 0..stage.len() {
        missing.push(stage.predecessors(node).count());
        for predecessor in stage.predecessors(node) {
            successors[predecessor].push(node);
        }
    }
    let entry = |item: Item| -> Reverse<(Nanoseconds, Item)> {
        let start = match item {
            Item::Send(transfer) | Item::Receive(transfer) => moves.timings[transfer].1.start,
            Item::Launch(task) => order.timings[task].1.start,
        };
        Reverse((start, item))
    };
    let mut ready: BinaryHeap<_> = (0..stage.len())
        .filter(|&node| missing[node] == 0)
        .map(|node| entry(stage.item(node)))
        .collect();
    let mut items = Vec::with_capacity(stage.len() * 2);
    while let Some(Reverse((_, item))) = ready.pop() {
        items.push(item);
        match item {
            Item::Send(transfer) => ready.push(entry(Item::Receive(transfer))),
            Item::Receive(_) | Item::Launch(_) => {
                for &successor in &successors[stage.node(item)] {
                    missing[successor] -= 1;
                    if missing[successor] == 0 {
                        ready.push(entry(stage.item(successor)));
                    }
                }
            }
        }
    }
    items
}

/// Appends a stage's commands with their waits inside the frame, and returns its `end`.
fn append(
    commands: &mut Vec<Command>,
    stage: usize,
    nodes: &StageNodes,
    items: &[Item],
    order: &TaskOrder,
    queues: &Queues,
) -> u32 {
    let begin = push(commands, None, Action::Begin(id(stage)));
    // The command that stands for the end of each node, and the place of the node in the order.
    let mut command_of = vec![u32::MAX; nodes.len()];
    let mut place = vec![usize::MAX; nodes.len()];
    let mut has_successor = vec![false; nodes.len()];
    let mut search = Search::new(nodes.len());
    for (index, &item) in items.iter().enumerate() {
        let node = nodes.node(item);
        let (queue, action, waits) = match item {
            Item::Send(transfer) => (queues.send(transfer), Action::Send(id(transfer)), true),
            Item::Receive(transfer) => (
                queues.receive(transfer),
                Action::Receive(id(transfer)),
                false,
            ),
            Item::Launch(task) => (
                queues.compute(order.timings[task].1.queue),
                Action::Launch(id(task)),
                true,
            ),
        };
        command_of[node] = push(commands, Some(queue), action);
        if !waits {
            continue;
        }
        place[node] = index;
        let command = command_of[node] as usize;
        for predecessor in nodes.predecessors(node) {
            has_successor[predecessor] = true;
        }
        if nodes.predecessors(node).next().is_none() {
            commands[command].wait.push(wait(begin, 0));
        }
        for predecessor in search.unimplied(nodes, &place, node) {
            commands[command]
                .wait
                .push(wait(command_of[predecessor], 0));
        }
    }
    let end = push(commands, None, Action::End(id(stage)));
    commands[end as usize].wait = (0..nodes.len())
        .filter(|&node| !has_successor[node])
        .map(|node| wait(command_of[node], 0))
        .collect();
    end
}

/// The waits of `begin` on `end` (rules M5 and M6).
fn add_frame_waits(context: &Context<'_>, commands: &mut [Command], ends: &[u32]) {
    let crossings: BTreeSet<(usize, usize)> = context
        .placement
        .storages
        .iter()
        .filter(|storage| storage.last > storage.first)
        .map(|storage| (storage.first, storage.last))
        .collect();
    let begins: Vec<usize> = commands
        .iter()
        .enumerate()
        .filter(|(_, command)| matches!(command.action, Action::Begin(_)))
        .map(|(index, _)| index)
        .collect();
    for (stage, &begin) in begins.iter().enumerate() {
        let waits = &mut commands[begin].wait;
        if stage > 0 {
            waits.push(wait(ends[stage - 1], 0));
        }
        waits.push(wait(ends[stage], 1));
        for &(first, last) in &crossings {
            if first == stage {
                waits.push(wait(ends[last], id(last - first + 1)));
            }
        }
    }
}

/// Finds which predecessors another predecessor implies, by walking back from them.
struct Search {
    /// For each node, the last node for which it was reached.
    reached_for: Vec<usize>,
    open: Vec<usize>,
}

impl Search {
    fn new(nodes: usize) -> Self {
        Self {
            reached_for: vec![usize::MAX; nodes],
            open: Vec::new(),
        }
    }

    /// The read predecessors of `node` that neither queue order nor another predecessor implies.
    fn unimplied(
        &mut self,
        nodes: &StageNodes,
        place: &[usize],
        node: usize,
    ) -> impl Iterator<Item = usize> {
        // What is listed before all predecessors leads back to none of them.
        let earliest = nodes
            .predecessors(node)
            .map(|predecessor| place[predecessor])
            .min()
            .unwrap_or(0);
        if nodes.predecessors(node).nth(1).is_some() {
            self.open.extend(nodes.predecessors(node));
        }
        while let Some(current) = self.open.pop() {
            for before in nodes.predecessors(current) {
                if place[before] >= earliest && self.reached_for[before] != node {
                    self.reached_for[before] = node;
                    self.open.push(before);
                }
            }
        }
        nodes.reads[node].iter().copied().filter(move |&writer| {
            self.reached_for[writer] != node && nodes.queue[node] != Some(writer)
        })
    }
}

fn push(commands: &mut Vec<Command>, queue: Option<u32>, action: Action) -> u32 {
    let number = id(commands.len());
    commands.push(Command {
        id: number,
        queue,
        action,
        wait: Vec::new(),
    });
    number
}

const fn wait(command: u32, frames_back: u32) -> Wait {
    Wait {
        command,
        frames_back,
    }
}
