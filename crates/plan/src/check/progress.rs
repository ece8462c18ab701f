//! Proves on the commands as they stand that a stream of frames can neither deadlock nor overwrite what is still read.
//!
//! A wait never looks forward in frames, so a cycle of the unrolled graph lies within one frame: sorting the graph of one frame proves all of them acyclic.
//! Across frames only `begin` waits, for `end` markers, and every command is between the markers of its stage.
//! So "the last reader of frame f − c ends before the writer of frame f begins" is a shortest path over stages, with frames back as lengths; `end` of a stage one frame ago extends a shorter one.

use std::collections::BTreeMap;

use super::dataflow::Dataflow;
use super::placement::Placement;
use super::violation::{Place, Violation};
use crate::plan::{Action, QueueKind};

/// Adds what the waits fail to guarantee.
pub(super) fn judge(placement: &Placement<'_>, flow: &Dataflow, found: &mut Vec<Violation>) {
    let graph = FrameGraph::new(placement);
    let sorted = graph.sort();
    if sorted.len() < placement.plan.frame.len() {
        found.push(Violation::Deadlock {
            waiting: placement.plan.frame.len() - sorted.len(),
        });
        return;
    }
    graph.enclosed(placement, flow, &sorted, found);
    copies(placement, flow, found);
}

/// Commands of one frame; a transfer's two commands start and end together.
struct FrameGraph {
    /// The command that stands for this one: of a transfer its `send`.
    stands_for: Vec<usize>,
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
    begin: BTreeMap<u32, usize>,
    end: BTreeMap<u32, usize>,
}

impl FrameGraph {
    fn new(placement: &Placement<'_>) -> Self {
        let plan = placement.plan;
        let count = plan.frame.len();
        let mut graph = Self {
            stands_for: (0..count).collect(),
            successors: vec![Vec::new(); count],
            predecessors: vec![Vec::new(); count],
            begin: BTreeMap::new(),
            end: BTreeMap::new(),
        };
        let mut sends = BTreeMap::new();
        for (index, command) in plan.frame.iter().enumerate() {
            match command.action {
                Action::Send(id) => {
                    sends.insert(id, index);
                }
                Action::Begin(stage) => {
                    graph.begin.insert(stage, index);
                }
                Action::End(stage) => {
                    graph.end.insert(stage, index);
                }
                Action::Receive(_) | Action::Launch(_) | Action::Write(_) => {}
            }
        }
        for (index, command) in plan.frame.iter().enumerate() {
            if let Action::Receive(id) = command.action {
                graph.stands_for[index] = sends.get(&id).copied().unwrap_or(index);
            }
        }
        let mut last = vec![None; plan.queues.len()];
        for (index, command) in plan.frame.iter().enumerate() {
            let compute = command.queue.filter(|&queue| {
                (plan.queues.get(queue as usize))
                    .is_some_and(|queue| queue.kind == QueueKind::Compute)
            });
            if let Some(before) = compute.and_then(|queue| last[queue as usize].replace(index)) {
                graph.edge(before, index);
            }
            for wait in &command.wait {
                if wait.frames_back == 0 && (wait.command as usize) < count {
                    graph.edge(wait.command as usize, index);
                }
            }
        }
        graph
    }

    fn edge(&mut self, from: usize, to: usize) {
        let (from, to) = (self.stands_for[from], self.stands_for[to]);
        self.successors[from].push(to);
        self.predecessors[to].push(from);
    }

    /// Commands in an order that respects all waits; those on cycles or behind them are left out.
    fn sort(&self) -> Vec<usize> {
        let mut open: Vec<usize> = self.predecessors.iter().map(Vec::len).collect();
        let mut sorted: Vec<usize> = (0..open.len()).filter(|&index| open[index] == 0).collect();
        let mut next = 0;
        while let Some(&index) = sorted.get(next) {
            next += 1;
            for &successor in &self.successors[index] {
                open[successor] -= 1;
                if open[successor] == 0 {
                    sorted.push(successor);
                }
            }
        }
        sorted
    }

    /// Every command comes after `begin` of its stage and before its `end`.
    fn enclosed(
        &self,
        placement: &Placement<'_>,
        flow: &Dataflow,
        sorted: &[usize],
        found: &mut Vec<Violation>,
    ) {
        let frame = &placement.plan.frame;
        let stage_of = |action: Action| match action {
            Action::Launch(task) => placement.tasks.get(task as usize).map(|task| task.stage),
            Action::Send(id) | Action::Receive(id) => {
                flow.moves.get(id as usize).map(|entry| entry.stage)
            }
            Action::Begin(stage) | Action::End(stage) => Some(stage as usize),
            Action::Write(_) => None,
        };
        let marker = |markers: &BTreeMap<u32, usize>, index: usize| {
            let stage = u32::try_from(stage_of(frame[index].action)?).ok()?;
            markers.get(&stage).copied()
        };
        let mut after_begin = vec![false; frame.len()];
        for &index in sorted {
            let begin = marker(&self.begin, index);
            after_begin[index] = begin == Some(index)
                || (self.predecessors[index].iter())
                    .any(|&earlier| after_begin[earlier] && marker(&self.begin, earlier) == begin);
        }
        let mut before_end = vec![false; frame.len()];
        for &index in sorted.iter().rev() {
            let end = marker(&self.end, index);
            before_end[index] = end == Some(index)
                || (self.successors[index].iter())
                    .any(|&later| before_end[later] && marker(&self.end, later) == end);
        }
        for index in 0..frame.len() {
            let node = self.stands_for[index];
            if !after_begin[node] || !before_end[node] {
                found.push(Violation::OutsideStage {
                    at: Place::Frame(index),
                });
            }
        }
    }
}

/// No copy is overwritten before its last reader, by shortest paths over stages (Floyd and Warshall).
fn copies(placement: &Placement<'_>, flow: &Dataflow, found: &mut Vec<Violation>) {
    let plan = placement.plan;
    let count = plan.stages.len();
    let mut back = vec![vec![None; count]; count];
    for command in &plan.frame {
        let Action::Begin(stage) = command.action else {
            continue;
        };
        for wait in &command.wait {
            let waited = plan.frame.get(wait.command as usize);
            if let Some(Action::End(earlier)) = waited.map(|command| command.action)
                && (stage as usize) < count
                && (earlier as usize) < count
            {
                shorten(
                    &mut back[earlier as usize][stage as usize],
                    u64::from(wait.frames_back),
                );
            }
        }
    }
    // A stage that does not wait for itself a frame ago cannot turn a shorter path into the one needed.
    let repeats: Vec<bool> = (0..count)
        .map(|stage| back[stage][stage] == Some(1))
        .collect();
    for via in 0..count {
        for from in 0..count {
            for to in 0..count {
                if let (Some(first), Some(second)) = (back[from][via], back[via][to]) {
                    shorten(&mut back[from][to], first + second);
                }
            }
        }
    }
    for (index, buffer) in flow.buffers.iter().enumerate() {
        let Some(copies) = plan
            .buffers
            .get(index)
            .map(|buffer| u64::from(buffer.copies))
        else {
            continue;
        };
        let (writer, reader) = (buffer.first, buffer.last);
        let safe = repeats[writer] && back[reader][writer].is_some_and(|length| length <= copies);
        if buffer.is_of_frame() && !safe {
            found.push(Violation::Overwritten {
                at: Place::Buffer(index),
                writer,
                reader,
            });
        }
    }
}

fn shorten(length: &mut Option<u64>, other: u64) {
    *length = Some(length.map_or(other, |length| length.min(other)));
}
