//! The commands of a frame as nodes that wait for nodes: markers dissolve into what they wait for.
//!
//! A `send` and its `receive` are one node. Waits on an earlier node of the same compute queue go without saying, since such queues run in
//! order; of several nodes of another compute queue the last one is enough.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_plan::plan::{Action, Plan, QueueKind};

/// A wait for node `node` of `back` frames before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct After {
    /// Index in [`Order::nodes`].
    pub node: usize,
    /// 0 is the same frame.
    pub back: u32,
}

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A task, on its compute queue.
    Task(u32),
    /// A move of a tensor.
    Transfer(u32),
}

/// Something that runs once a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What it does.
    pub work: Work,
    /// Its stage.
    pub stage: u32,
    /// The plan's queue: a task's compute queue, or the transfer queue that receives.
    pub queue: u32,
    /// What has to end before it starts, beyond the order of its queue.
    pub after: Vec<After>,
}

/// When a stage takes a frame, and when it is done with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageEnds {
    /// It begins when all of these have ended.
    pub begin: Vec<After>,
    /// It ends when all of these have.
    pub end: Vec<After>,
}

/// A frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// In the order in which they are enqueued.
    pub nodes: Vec<Node>,
    /// By stage.
    pub stages: Vec<StageEnds>,
    /// The most frames that a wait looks back.
    pub deepest: u32,
}

/// Dissolves markers, and the moves that `is_nothing` names.
pub fn order(plan: &Plan, is_nothing: impl Fn(u32) -> bool) -> Order {
    let mut order = Order::default();
    order.stages.resize(plan.stages.len(), StageEnds::default());
    let queues = receivers(plan);
    let mut node_of: BTreeMap<u32, usize> = BTreeMap::new();
    let mut marker: BTreeMap<u32, u32> = BTreeMap::new();
    // Nodes first: waits may name commands further down, of frames before.
    for command in &plan.frame {
        let work = match command.action {
            Action::Launch(task) => Work::Task(task),
            Action::Send(transfer) if !is_nothing(transfer) => Work::Transfer(transfer),
            Action::Send(_)
            | Action::Receive(_)
            | Action::Begin(_)
            | Action::End(_)
            | Action::Write(_) => {
                continue;
            }
        };
        let (stage, queue) = match work {
            Work::Task(task) => {
                let task = &plan.tasks[task as usize];
                (task.stage, task.queue)
            }
            Work::Transfer(transfer) => {
                let stage = plan.transfers[transfer as usize].stage;
                (stage, queues.get(&transfer).copied().unwrap_or_default())
            }
        };
        node_of.insert(command.id, order.nodes.len());
        order.nodes.push(Node {
            work,
            stage,
            queue,
            after: Vec::new(),
        });
    }
    let sends: BTreeMap<u32, u32> = plan
        .frame
        .iter()
        .filter_map(|command| match command.action {
            Action::Send(transfer) => Some((transfer, command.id)),
            Action::Launch(_)
            | Action::Receive(_)
            | Action::Begin(_)
            | Action::End(_)
            | Action::Write(_) => None,
        })
        .collect();
    for command in &plan.frame {
        if let Action::Receive(transfer) = command.action
            && let Some(&send) = sends.get(&transfer)
        {
            marker.insert(command.id, send);
        }
    }
    let resolver = Resolver {
        plan,
        node_of: &node_of,
        same_as: &marker,
    };
    let mut afters: Vec<Vec<After>> = Vec::new();
    for command in &plan.frame {
        let after = resolver.all(command.id);
        match command.action {
            Action::Begin(stage) => order.stages[stage as usize].begin = after,
            Action::End(stage) => order.stages[stage as usize].end = after,
            Action::Launch(_) | Action::Send(_) if node_of.contains_key(&command.id) => {
                afters.push(after);
            }
            Action::Launch(_) | Action::Send(_) | Action::Receive(_) | Action::Write(_) => {}
        }
    }
    for (index, after) in afters.into_iter().enumerate() {
        let after = needed(plan, &order.nodes, index, after);
        order.nodes[index].after = after;
    }
    let all = order.nodes.iter().flat_map(|node| &node.after);
    let ends = order.stages.iter().flat_map(|stage| &stage.begin);
    order.deepest = all.chain(ends).map(|after| after.back).max().unwrap_or(0);
    order
}

/// The queue of the `receive` of every transfer.
fn receivers(plan: &Plan) -> BTreeMap<u32, u32> {
    plan.frame
        .iter()
        .filter_map(|command| match (command.action, command.queue) {
            (Action::Receive(transfer), Some(queue)) => Some((transfer, queue)),
            _ => None,
        })
        .collect()
}

struct Resolver<'r> {
    plan: &'r Plan,
    node_of: &'r BTreeMap<u32, usize>,
    same_as: &'r BTreeMap<u32, u32>,
}

impl Resolver<'_> {
    /// What command `id` waits for, as nodes.
    fn all(&self, id: u32) -> Vec<After> {
        let mut found = Vec::new();
        let mut open = BTreeSet::from([(0_u32, id)]);
        // A marker that waits for itself of earlier frames says nothing new there: a frame begins when the one before has ended.
        let mut seen = BTreeSet::new();
        while let Some((back, id)) = open.pop_first() {
            if !seen.insert(id) {
                continue;
            }
            for wait in &self.plan.frame[id as usize].wait {
                let back = back.saturating_add(wait.frames_back);
                let command = self.same_as.get(&wait.command).copied();
                let command = command.unwrap_or(wait.command);
                match self.node_of.get(&command) {
                    Some(&node) => found.push(After { node, back }),
                    None if !seen.contains(&command) => {
                        open.insert((back, command));
                    }
                    None => {}
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Leaves out what queues that run in order imply.
fn needed(plan: &Plan, nodes: &[Node], index: usize, after: Vec<After>) -> Vec<After> {
    let is_ordered = |queue: u32| plan.queues[queue as usize].kind == QueueKind::Compute;
    let own = nodes[index].queue;
    let mut last: BTreeMap<u32, After> = BTreeMap::new();
    let mut kept = Vec::new();
    for wait in after {
        let queue = nodes[wait.node].queue;
        if !is_ordered(queue) {
            kept.push(wait);
            continue;
        }
        if queue == own && is_ordered(own) {
            continue;
        }
        let later = |one: After, other: After| {
            (std::cmp::Reverse(one.back), one.node) > (std::cmp::Reverse(other.back), other.node)
        };
        let entry = last.entry(queue).or_insert(wait);
        if later(wait, *entry) {
            *entry = wait;
        }
    }
    kept.extend(last.into_values());
    kept.sort_unstable();
    kept
}
