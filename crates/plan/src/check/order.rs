//! The dependencies inside each stage, an order that respects them, and the waits that remain after transitive reduction.
//!
//! `docs/plan-format.md`, section "Waits", is the definition.
//! Each compute queue is a chain, so "u reaches v" is one comparison with the furthest position of u's queue that reaches v: a vector clock with an entry a queue.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::dataflow::{Dataflow, Node};
use super::placement::Placement;
use super::violation::Violation;
use crate::Nanoseconds;

/// One command between the markers of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Send(usize),
    Receive(usize),
    Launch(usize),
}

/// The dependency graph of a plan's stages.
pub(super) struct Order {
    /// Commands of each stage between its markers, in the order of plan files.
    pub(super) stages: Vec<Vec<Step>>,
    /// What each task reads from in its own stage, ascending.
    pub(super) needs: Vec<Vec<Node>>,
    /// The task before each task on its queue.
    pub(super) before: Vec<Option<usize>>,
    /// The task of its own stage that writes each move's source.
    pub(super) source: Vec<Option<usize>>,
    /// Whether something of the stage depends on the task.
    pub(super) task_has_successor: Vec<bool>,
}

impl Order {
    /// `None` if tasks wait for each other, which is then reported.
    pub(super) fn derive(
        placement: &Placement<'_>,
        flow: &Dataflow,
        found: &mut Vec<Violation>,
    ) -> Option<Self> {
        let count = placement.tasks.len();
        let mut order = Self {
            stages: Vec::new(),
            needs: needs(placement, flow),
            before: vec![None; count],
            source: vec![None; flow.moves.len()],
            task_has_successor: vec![false; count],
        };
        let mut last = vec![None; placement.plan.queues.len()];
        for (task, entry) in placement.plan.tasks.iter().enumerate() {
            order.before[task] = last[entry.queue as usize].replace(task);
        }
        for (index, entry) in flow.moves.iter().enumerate() {
            if let Some(Node::Task(task)) = flow.buffers[entry.from].writer
                && placement.tasks[task].stage == entry.stage
            {
                order.source[index] = Some(task);
                order.task_has_successor[task] = true;
            }
        }
        for task in 0..count {
            let tasks = order.needs[task].iter().filter_map(|node| match node {
                Node::Task(task) => Some(*task),
                Node::Move(_) => None,
            });
            for earlier in tasks.chain(order.before[task]) {
                order.task_has_successor[earlier] = true;
            }
        }
        order.list(placement, flow, found).then_some(order)
    }

    /// Lists each stage's commands: of those whose dependencies are listed, always the one with the smallest key.
    fn list(
        &mut self,
        placement: &Placement<'_>,
        flow: &Dataflow,
        found: &mut Vec<Violation>,
    ) -> bool {
        let plan = placement.plan;
        let mut successors: BTreeMap<Step, Vec<Step>> = BTreeMap::new();
        let mut open: BTreeMap<Step, usize> = BTreeMap::new();
        let mut stage_of: Vec<(usize, Step)> = Vec::new();
        let mut edge = |from: Step, to: Step| {
            successors.entry(from).or_default().push(to);
            *open.entry(to).or_default() += 1;
        };
        for (task, place) in placement.tasks.iter().enumerate() {
            stage_of.push((place.stage, Step::Launch(task)));
            for node in &self.needs[task] {
                edge(end_step(*node), Step::Launch(task));
            }
            if let Some(before) = self.before[task] {
                edge(Step::Launch(before), Step::Launch(task));
            }
        }
        for (index, entry) in flow.moves.iter().enumerate() {
            stage_of.push((entry.stage, Step::Send(index)));
            stage_of.push((entry.stage, Step::Receive(index)));
            edge(Step::Send(index), Step::Receive(index));
            if let Some(task) = self.source[index] {
                edge(Step::Launch(task), Step::Send(index));
            }
        }
        let key = |step: Step| -> (Nanoseconds, Step) {
            let start = match step {
                Step::Send(index) | Step::Receive(index) => plan.transfers[index].start_ns,
                Step::Launch(task) => plan.tasks[task].start_ns,
            };
            (start, step)
        };
        let mut sizes = vec![0; plan.stages.len()];
        let mut ready = vec![BinaryHeap::new(); plan.stages.len()];
        let mut stage_by_step = BTreeMap::new();
        for (stage, step) in stage_of {
            sizes[stage] += 1;
            stage_by_step.insert(step, stage);
            if !open.contains_key(&step) {
                ready[stage].push(Reverse(key(step)));
            }
        }
        let mut complete = true;
        for (stage, mut heap) in ready.into_iter().enumerate() {
            let mut listed = Vec::with_capacity(sizes[stage]);
            while let Some(Reverse((_, step))) = heap.pop() {
                listed.push(step);
                for next in successors.get(&step).into_iter().flatten() {
                    if let Some(count) = open.get_mut(next) {
                        *count -= 1;
                        if *count == 0 {
                            heap.push(Reverse(key(*next)));
                        }
                    }
                }
            }
            if listed.len() < sizes[stage] {
                complete = false;
                found.push(Violation::Cycle {
                    stage,
                    waiting: sizes[stage] - listed.len(),
                });
            }
            self.stages.push(listed);
        }
        complete
    }

    /// What each task's `launch` waits for, without `begin`: its needs less those that others imply.
    pub(super) fn waits(&self, placement: &Placement<'_>, flow: &Dataflow) -> Vec<Vec<Node>> {
        let chains = Chains::new(placement, self);
        let mut waits = vec![Vec::new(); placement.tasks.len()];
        for step in self.stages.iter().flatten() {
            let Step::Launch(task) = *step else {
                continue;
            };
            let before = self.before[task];
            // The furthest position on each queue that a predecessor passed before it began.
            let passed = chains.join(self.predecessors(task), false);
            // The same with the predecessors themselves.
            let reached = chains.join(self.predecessors(task), true);
            waits[task] = (self.needs[task].iter().copied())
                .filter(|node| match *node {
                    Node::Task(earlier) => {
                        Some(earlier) != before && !chains.within(earlier, &passed)
                    }
                    Node::Move(index) => !(flow.moves[index].readers.iter())
                        .any(|&reader| chains.within(reader, &reached)),
                })
                .collect();
        }
        waits
    }

    fn predecessors(&self, task: usize) -> impl Iterator<Item = Node> {
        (self.needs[task].iter().copied()).chain(self.before[task].map(Node::Task))
    }
}

/// The command that ends with a node.
pub(super) fn end_step(node: Node) -> Step {
    match node {
        Node::Task(task) => Step::Launch(task),
        Node::Move(index) => Step::Receive(index),
    }
}

fn needs(placement: &Placement<'_>, flow: &Dataflow) -> Vec<Vec<Node>> {
    let stage_of = |node: Node| match node {
        Node::Task(task) => placement.tasks[task].stage,
        Node::Move(index) => flow.moves[index].stage,
    };
    (flow.reads.iter().enumerate())
        .map(|(task, reads)| {
            let mut needs: Vec<Node> = (reads.iter())
                .filter_map(|&id| flow.buffers[id].writer)
                .filter(|&writer| stage_of(writer) == placement.tasks[task].stage)
                .collect();
            needs.sort_unstable();
            needs.dedup();
            needs
        })
        .collect()
}

/// Vector clocks over compute queues.
struct Chains<'a> {
    order: &'a Order,
    queue: Vec<usize>,
    /// Position on its queue, from 1.
    position: Vec<usize>,
    queues: usize,
    /// `clock[task][queue]`: how far the queue must be before the task starts.
    clock: Vec<Vec<usize>>,
}

impl<'a> Chains<'a> {
    fn new(placement: &Placement<'_>, order: &'a Order) -> Self {
        let queue: Vec<usize> = (placement.plan.tasks.iter())
            .map(|task| task.queue as usize)
            .collect();
        let mut position = vec![1; queue.len()];
        for task in 0..queue.len() {
            if let Some(before) = order.before[task] {
                position[task] = position[before] + 1;
            }
        }
        let mut chains = Self {
            order,
            position,
            queues: placement.plan.queues.len(),
            clock: vec![Vec::new(); queue.len()],
            queue,
        };
        for step in order.stages.iter().flatten() {
            if let Step::Launch(task) = *step {
                chains.clock[task] = chains.join(order.predecessors(task), true);
            }
        }
        chains
    }

    /// The join of the clocks of `nodes`, with their own positions or without; what a move waits for always counts.
    fn join(&self, nodes: impl Iterator<Item = Node>, inclusive: bool) -> Vec<usize> {
        let mut joined = vec![0; self.queues];
        for node in nodes {
            let (task, inclusive) = match node {
                Node::Task(task) => (Some(task), inclusive),
                Node::Move(index) => (self.order.source[index], true),
            };
            let Some(task) = task else {
                continue;
            };
            for (entry, &position) in joined.iter_mut().zip(&self.clock[task]) {
                *entry = position.max(*entry);
            }
            if inclusive {
                let entry = &mut joined[self.queue[task]];
                *entry = self.position[task].max(*entry);
            }
        }
        joined
    }

    fn within(&self, task: usize, clock: &[usize]) -> bool {
        clock[self.queue[task]] >= self.position[task]
    }
}
