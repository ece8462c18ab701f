//! Start windows of every operator on every processor, from longest paths and an upper bound of the makespan.
//!
//! Heads and tails are exact lower bounds of what must come before and after, with the best processors chosen separately on each path.

use crate::mapping::Problem;

use super::precedence::{Precedence, edge_delay, entry_arrival, exit_delay};

/// Heads `H`, tails `T` and what fits below the horizon, in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    /// `head[i][p]`: operator `i` on `p` starts no earlier.
    pub(super) head: Vec<Vec<u64>>,
    /// `tail[i][p]`: from the end of `i` on `p` to the end of the stage passes at least this.
    pub(super) tail: Vec<Vec<u64>>,
    /// Duration where the pair is possible at all below the horizon.
    pub(super) time: Vec<Vec<Option<u64>>>,
    /// The upper bound of the makespan.
    pub(super) horizon: u64,
}

impl Windows {
    /// Windows below `horizon`; pairs that do not fit are dropped until nothing changes.
    ///
    /// `None` where an operator fits nowhere: then no schedule is as short as the horizon.
    pub(super) fn below(
        problem: &Problem,
        precedence: &Precedence,
        mut time: Vec<Vec<Option<u64>>>,
        horizon: u64,
    ) -> Option<Self> {
        loop {
            let head = heads(problem, precedence, &time);
            let tail = tails(problem, precedence, &time);
            let mut has_changed = false;
            for (operator, times) in time.iter_mut().enumerate() {
                for (processor, duration) in times.iter_mut().enumerate() {
                    let does_not_fit = duration.is_some_and(|duration| {
                        head[operator][processor]
                            .saturating_add(duration)
                            .saturating_add(tail[operator][processor])
                            > horizon
                    });
                    if does_not_fit {
                        *duration = None;
                        has_changed = true;
                    }
                }
                if times.iter().all(Option::is_none) {
                    return None;
                }
            }
            if !has_changed {
                return Some(Self {
                    head,
                    tail,
                    time,
                    horizon,
                });
            }
        }
    }

    /// Processors on which an operator is possible, with its duration.
    pub(super) fn possible(&self, operator: usize) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.time[operator]
            .iter()
            .enumerate()
            .filter_map(|(processor, time)| time.map(|time| (processor, time)))
    }

    /// `L`: latest start of a possible pair; zero for others.
    pub(super) fn latest_start(&self, operator: usize, processor: usize) -> u64 {
        let time = self.time[operator][processor].unwrap_or(0);
        self.horizon
            .saturating_sub(self.tail[operator][processor])
            .saturating_sub(time)
    }

    /// The earliest start over all possible processors.
    pub(super) fn earliest_start(&self, operator: usize) -> u64 {
        self.possible(operator)
            .map(|(processor, _)| self.head[operator][processor])
            .min()
            .unwrap_or(0)
    }

    /// The latest end over all possible processors.
    pub(super) fn latest_end(&self, operator: usize) -> u64 {
        self.possible(operator)
            .map(|(processor, _)| self.horizon.saturating_sub(self.tail[operator][processor]))
            .max()
            .unwrap_or(0)
    }

    /// No schedule is shorter: the longest path with the best processor for each operator.
    pub(super) fn path_bound(&self) -> u64 {
        (0..self.time.len())
            .filter_map(|operator| {
                self.possible(operator)
                    .map(|(processor, time)| {
                        self.head[operator][processor] + time + self.tail[operator][processor]
                    })
                    .min()
            })
            .max()
            .unwrap_or(0)
    }

    /// Whether two operators can run on these processors with a move of `delay` between them.
    pub(super) fn can_join(
        &self,
        (from, source): (usize, usize),
        delay: u64,
        (to, target): (usize, usize),
    ) -> bool {
        let (Some(before), Some(after)) = (self.time[from][source], self.time[to][target]) else {
            return false;
        };
        [before, delay, after, self.tail[to][target]]
            .into_iter()
            .fold(self.head[from][source], u64::saturating_add)
            <= self.horizon
    }

    /// Whether `first` can run before `second` on a processor that both can use.
    pub(super) fn can_precede(&self, first: usize, second: usize, processor: usize) -> bool {
        match (self.time[first][processor], self.time[second][processor]) {
            (Some(time), Some(_)) => {
                self.head[first][processor] + time <= self.latest_start(second, processor)
            }
            (None, _) | (_, None) => false,
        }
    }
}

/// `H[j][q] = max over edges (i, j) of min over p of H[i][p] + t[i][p] + c[p][q]`, and no earlier than what enters.
fn heads(problem: &Problem, precedence: &Precedence, time: &[Vec<Option<u64>>]) -> Vec<Vec<u64>> {
    let processors = problem.homes.len();
    let mut head = vec![vec![0_u64; processors]; time.len()];
    for operator in 0..time.len() {
        for processor in 0..processors {
            let home = problem.homes[processor];
            let mut earliest = entry_arrival(problem, operator, home);
            for &edge in &precedence.incoming[operator] {
                let edge = &precedence.edges[edge];
                let arrival = (0..processors)
                    .filter_map(|other| {
                        time[edge.from][other].map(|duration| {
                            head[edge.from][other]
                                .saturating_add(duration)
                                .saturating_add(edge_delay(
                                    problem,
                                    edge,
                                    problem.homes[other],
                                    home,
                                ))
                        })
                    })
                    .min()
                    .unwrap_or(u64::MAX);
                earliest = earliest.max(arrival);
            }
            head[operator][processor] = earliest;
        }
    }
    head
}

/// `T[i][p] = max over edges (i, j) of min over q of c[p][q] + t[j][q] + T[j][q]`, and no less than what leaves.
fn tails(problem: &Problem, precedence: &Precedence, time: &[Vec<Option<u64>>]) -> Vec<Vec<u64>> {
    let processors = problem.homes.len();
    let mut tail = vec![vec![0_u64; processors]; time.len()];
    for operator in (0..time.len()).rev() {
        for processor in 0..processors {
            let home = problem.homes[processor];
            let mut longest = exit_delay(problem, operator, home);
            for &edge in &precedence.outgoing[operator] {
                let edge = &precedence.edges[edge];
                let rest = (0..processors)
                    .filter_map(|other| {
                        time[edge.to][other].map(|duration| {
                            tail[edge.to][other]
                                .saturating_add(duration)
                                .saturating_add(edge_delay(
                                    problem,
                                    edge,
                                    home,
                                    problem.homes[other],
                                ))
                        })
                    })
                    .min()
                    .unwrap_or(u64::MAX);
                longest = longest.max(rest);
            }
            tail[operator][processor] = longest;
        }
    }
    tail
}
