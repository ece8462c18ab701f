//! Commands of a frame in order, each with the waits that nothing else implies: the transitive reduction that the plan format prescribes.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use paracompile_frontend::soc::ProcessorSet;
use paracompile_plan::Nanoseconds;
use paracompile_plan::plan::{Action, Command, Wait};

use super::plan::{Context, id};
use super::queues::Queues;
use super::tasks::TaskOrder;
use super::transfers::TransferOrder;
use crate::estimate::{StorageIndex, Writer};

/// A task or a transfer of a stage; a transfer's `send` and `receive` are one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Transfer(usize),
    Task(usize),
}

/// What each node of a stage waits for; nodes are numbered in the order of the lists of transfers, then tasks.
struct StageNodes {
    nodes: Vec<Node>,
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
        let mut nodes = Vec::with_capacity(transfers.len() + tasks.len());
        let mut reads = Vec::with_capacity(nodes.capacity());
        let mut queue = vec![None; transfers.len()];
        for transfer in transfers.clone() {
            nodes.push(Node::Transfer(transfer));
            let source = placement.moves[moves.timings[transfer].0].source;
            reads.push(writer(source).into_iter().collect());
        }
        let mut before = [None; ProcessorSet::CAPACITY];
        for task in tasks.clone() {
            nodes.push(Node::Task(task));
            let timing = order.timings[task].1;
            let mut writers: Vec<usize> = placement
                .reads_of(timing.op)
                .iter()
                .filter_map(|&storage| writer(storage))
                .collect();
            writers.sort_unstable();
            writers.dedup();
            reads.push(writers);
            queue.push(before[timing.processor.index()].replace(number_of_task(task)));
        }
        Self {
            nodes,
            reads,
            queue,
        }
    }

    fn predecessors(&self, node: usize) -> impl Iterator<Item = usize> {
        self.reads[node].iter().copied().chain(self.queue[node])
    }
}

/// The range of a list sorted by stage that belongs to `stage`.
fn of_stage(
    length: usize,
    stage: usize,
    stage_of: impl Fn(usize) -> usize,
) -> std::ops::Range<usize> {
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

/// A command between `begin` and `end` of a stage, with its node; the order of variants is that among equal starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Send(usize),
    Receive(usize),
    Launch(usize),
}

/// The items of a stage: always the one with the smallest start, kind and id among those whose dependencies are listed.
fn listed(order: &TaskOrder, moves: &TransferOrder, stage: &StageNodes) -> Vec<Item> {
    let mut missing: Vec<usize> = Vec::with_capacity(stage.nodes.len());
    let mut successors: Vec<Vec<usize>> = vec![Vec::new(); stage.nodes.len()];
    for node in 0..stage.nodes.len() {
        missing.push(stage.predecessors(node).count());
        for predecessor in stage.predecessors(node) {
            successors[predecessor].push(node);
        }
    }
    // Nodes are numbered in the order of ids, so a node's number serves as its id among its kind.
    let entry = |node: usize| -> Reverse<(Nanoseconds, Item)> {
        Reverse(match stage.nodes[node] {
            Node::Transfer(transfer) => (moves.timings[transfer].1.start, Item::Send(node)),
            Node::Task(task) => (order.timings[task].1.start, Item::Launch(node)),
        })
    };
    let mut ready: BinaryHeap<_> = (0..stage.nodes.len())
        .filter(|&node| missing[node] == 0)
        .map(entry)
        .collect();
    let mut items = Vec::with_capacity(stage.nodes.len() * 2);
    while let Some(Reverse((start, item))) = ready.pop() {
        items.push(item);
        match item {
            Item::Send(node) => ready.push(Reverse((start, Item::Receive(node)))),
            Item::Receive(node) | Item::Launch(node) => {
                for &successor in &successors[node] {
                    missing[successor] -= 1;
                    if missing[successor] == 0 {
                        ready.push(entry(successor));
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
    let mut command_of = vec![u32::MAX; nodes.nodes.len()];
    let mut place = vec![usize::MAX; nodes.nodes.len()];
    let mut has_successor = vec![false; nodes.nodes.len()];
    let mut search = Search::new(nodes.nodes.len());
    for (index, &item) in items.iter().enumerate() {
        let (node, waits) = match item {
            Item::Send(node) | Item::Launch(node) => (node, true),
            Item::Receive(node) => (node, false),
        };
        let (queue, action) = match (item, nodes.nodes[node]) {
            (Item::Send(_), Node::Transfer(transfer)) => {
                (queues.send(transfer), Action::Send(id(transfer)))
            }
            (Item::Receive(_), Node::Transfer(transfer)) => {
                (queues.receive(transfer), Action::Receive(id(transfer)))
            }
            (Item::Launch(_) | Item::Send(_) | Item::Receive(_), Node::Task(task)) => (
                queues.compute(order.timings[task].1.processor),
                Action::Launch(id(task)),
            ),
            (Item::Launch(_), Node::Transfer(_)) => unreachable!("only tasks are launched"),
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
    commands[end as usize].wait = (0..nodes.nodes.len())
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
