//! When an operator can start on a processor if the schedule is to end by the horizon: longest paths, raised by loads.

use crate::mapping::fine::{entry_arrival, exit_delay};
use crate::mapping::intervals::members;

use super::ground::{Ground, signed};

/// Heads `H`, tails `T` and the pairs that fit below the horizon `C`.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    /// `head[i][p]`: `i` on `p` starts no earlier.
    pub(super) head: Vec<Vec<i64>>,
    /// `tail[i][p]`: from the end of `i` on `p` to the end of the stage passes at least this.
    pub(super) tail: Vec<Vec<i64>>,
    /// Duration of the possible pairs.
    pub(super) time: Vec<Vec<Option<i64>>>,
    /// `C`.
    pub(super) horizon: i64,
}

impl Windows {
    /// Windows below `horizon`, pairs that do not fit dropped until nothing changes; `None` where no schedule fits.
    ///
    /// Pairs that are known to be in no schedule below the horizon can be left out from the start.
    pub(super) fn below(
        ground: &Ground<'_>,
        horizon: i64,
        is_out: impl Fn(usize, usize) -> bool,
    ) -> Option<Self> {
        let count = ground.problem.operators.len();
        let delays = ground.delays();
        let mut time: Vec<Vec<Option<i64>>> = (0..count)
            .map(|i| {
                (0..ground.processors)
                    .map(|p| ground.time(i, p).filter(|_| !is_out(i, p)))
                    .collect()
            })
            .collect();
        if time.iter().any(|times| times.iter().all(Option::is_none)) {
            return None;
        }
        loop {
            let head = heads(ground, &delays, &time);
            let tail = tails(ground, &delays, &time);
            let mut has_changed = false;
            for (i, times) in time.iter_mut().enumerate() {
                for (p, slot) in times.iter_mut().enumerate() {
                    if slot.is_some_and(|time| head[i][p] + time + tail[i][p] > horizon) {
                        *slot = None;
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
    pub(super) fn possible(&self, operator: usize) -> impl Iterator<Item = (usize, i64)> + '_ {
        let times = self.time[operator].iter().enumerate();
        times.filter_map(|(processor, time)| time.map(|time| (processor, time)))
    }

    /// `L[i][p]`: the latest start of a possible pair.
    pub(super) fn latest(&self, operator: usize, processor: usize) -> i64 {
        let time = self.time[operator][processor].unwrap_or(0);
        self.horizon - self.tail[operator][processor] - time
    }
}

/// `H[j][q]` by paths and entries, raised to the earliest end of an ancestor plus the load between, and to the load of all ancestors.
fn heads(ground: &Ground<'_>, delays: &[i64], time: &[Vec<Option<i64>>]) -> Vec<Vec<i64>> {
    let (problem, processors) = (ground.problem, ground.processors);
    let mut head = vec![vec![0_i64; processors]; time.len()];
    let mut earliest_end = vec![0_i64; time.len()];
    for w in 0..time.len() {
        let mut anywhere = ground.load_before[w];
        if ground.has_distances() {
            for u in members(&ground.before[w]) {
                anywhere = anywhere.max(earliest_end[u] + ground.load[u][w]);
            }
        }
        for q in 0..processors {
            let mut earliest = anywhere.max(signed(entry_arrival(problem, w, problem.homes[q])));
            for &edge in &ground.precedence.incoming[w] {
                let v = ground.precedence.edges[edge].from;
                let arrival = (0..processors)
                    .filter_map(|p| {
                        let delay = delays[(edge * processors + p) * processors + q];
                        Some(head[v][p] + time[v][p]? + delay)
                    })
                    .min();
                earliest = earliest.max(arrival.unwrap_or(0));
            }
            head[w][q] = earliest;
        }
        let ends = (0..processors).filter_map(|p| Some(head[w][p] + time[w][p]?));
        earliest_end[w] = ends.min().unwrap_or(0);
    }
    head
}

/// `T[i][p]`, the same backwards.
fn tails(ground: &Ground<'_>, delays: &[i64], time: &[Vec<Option<i64>>]) -> Vec<Vec<i64>> {
    let (problem, processors) = (ground.problem, ground.processors);
    let mut tail = vec![vec![0_i64; processors]; time.len()];
    let mut shortest_rest = vec![0_i64; time.len()];
    for u in (0..time.len()).rev() {
        let mut anywhere = ground.load_behind[u];
        if ground.has_distances() {
            for w in members(&ground.behind[u]) {
                anywhere = anywhere.max(shortest_rest[w] + ground.load[u][w]);
            }
        }
        for p in 0..processors {
            let mut longest = anywhere.max(signed(exit_delay(problem, u, problem.homes[p])));
            for &edge in &ground.precedence.outgoing[u] {
                let w = ground.precedence.edges[edge].to;
                let rest = (0..processors)
                    .filter_map(|q| {
                        let delay = delays[(edge * processors + p) * processors + q];
                        Some(delay + time[w][q]? + tail[w][q])
                    })
                    .min();
                longest = longest.max(rest.unwrap_or(0));
            }
            tail[u][p] = longest;
        }
        let rests = (0..processors).filter_map(|p| Some(time[u][p]? + tail[u][p]));
        shortest_rest[u] = rests.min().unwrap_or(0);
    }
    tail
}
