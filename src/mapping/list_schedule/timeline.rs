//! What is busy when, while operators are placed one after another, with insertion into gaps.

use paracompile_plan::Nanoseconds;

use super::super::{Problem, Solution};

/// Busy intervals of each processor, by start.
#[derive(Clone, Debug)]
pub(super) struct Timeline<'a> {
    problem: &'a Problem,
    busy: Vec<Vec<(Nanoseconds, Nanoseconds, usize)>>,
    /// Processor and end of each operator that is placed.
    placed: Vec<Option<(usize, Nanoseconds)>>,
}

/// Where an operator could go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) processor: usize,
    pub(super) start: Nanoseconds,
    pub(super) end: Nanoseconds,
    /// When the longest move of an output home would end.
    pub(super) home: Nanoseconds,
}

impl<'a> Timeline<'a> {
    pub(super) fn new(problem: &'a Problem) -> Self {
        Self {
            problem,
            busy: vec![Vec::new(); problem.homes.len()],
            placed: vec![None; problem.operators.len()],
        }
    }

    /// The first gap on each processor that supports `operator`; producers that are not placed are not waited for.
    pub(super) fn slots(&self, operator: usize) -> impl Iterator<Item = Slot> + '_ {
        (0..self.problem.homes.len()).filter_map(move |processor| self.slot(operator, processor))
    }

    /// The first gap on a processor; `None` if it does not support `operator`.
    pub(super) fn slot(&self, operator: usize, processor: usize) -> Option<Slot> {
        let duration = self.problem.operators[operator].times[processor]?;
        let start = self.gap(processor, self.ready(operator, processor), duration);
        let end = start + duration;
        Some(Slot {
            processor,
            start,
            end,
            home: end + way_home(self.problem, operator, processor),
        })
    }

    pub(super) fn occupy(&mut self, operator: usize, slot: Slot) {
        let busy = &mut self.busy[slot.processor];
        let entry = (slot.start, slot.end, operator);
        let at = busy.partition_point(|&other| other <= entry);
        busy.insert(at, entry);
        self.placed[operator] = Some((slot.processor, slot.end));
    }

    /// When everything that `operator` reads has arrived at `processor`.
    fn ready(&self, operator: usize, processor: usize) -> Nanoseconds {
        let home = self.problem.homes[processor];
        self.problem.operators[operator]
            .reads
            .iter()
            .map(|&index| {
                let tensor = &self.problem.tensors[index];
                let move_time = |from: usize| {
                    tensor.moves[from][home].map_or(Nanoseconds::ZERO, |cost| cost.time)
                };
                match tensor.producer {
                    Some(producer) => self.placed[producer]
                        .map_or(Nanoseconds::ZERO, |(from, end)| {
                            end + move_time(self.problem.homes[from])
                        }),
                    None if tensor.is_held_for(home) => Nanoseconds::ZERO,
                    None => move_time(tensor.held[0]),
                }
            })
            .max()
            .unwrap_or(Nanoseconds::ZERO)
    }

    /// The first start at or behind `ready` at which the processor is free for `duration`.
    fn gap(&self, processor: usize, ready: Nanoseconds, duration: Nanoseconds) -> Nanoseconds {
        let mut start = ready;
        for &(busy_from, busy_until, _) in &self.busy[processor] {
            if start + duration <= busy_from {
                break;
            }
            start = start.max(busy_until);
        }
        start
    }

    pub(super) fn into_solution(self) -> Solution {
        let mut slots: Vec<_> = self.busy.iter().flatten().copied().collect();
        // An operator without duration stands before what starts at the same time, and index order is topological.
        slots.sort_unstable();
        Solution {
            processors: self
                .placed
                .iter()
                .map(|placed| placed.expect("a list scheduler places every operator").0)
                .collect(),
            sequence: slots.into_iter().map(|(_, _, operator)| operator).collect(),
        }
    }
}

/// Time of the longest move of an output home.
pub(super) fn way_home(problem: &Problem, operator: usize, processor: usize) -> Nanoseconds {
    problem.operators[operator]
        .writes
        .iter()
        .map(|&tensor| &problem.tensors[tensor])
        .filter(|tensor| tensor.to_io)
        .filter_map(|tensor| tensor.moves[problem.homes[processor]][problem.io])
        .map(|cost| cost.time)
        .max()
        .unwrap_or(Nanoseconds::ZERO)
}
