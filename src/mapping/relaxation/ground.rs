//! What does not depend on the horizon: who lies between whom, and how far apart two operators are at least.

use crate::mapping::Problem;
use crate::mapping::fine::{Precedence, edge_delay};
use crate::mapping::intervals::{Loads, intersect, members, related, transposed};

/// More pairs of operator and processor have distances that fill the memory.
const MOST_PAIRS: usize = 2_500;

/// No way from the one to the other.
pub(super) const APART: i64 = i64::MIN / 4;

/// Distances between operators.
pub(super) struct Ground<'a> {
    pub(super) problem: &'a Problem,
    pub(super) precedence: Precedence,
    pub(super) processors: usize,
    /// Ancestors of each operator.
    pub(super) before: Vec<Vec<u64>>,
    /// Descendants of each operator.
    pub(super) behind: Vec<Vec<u64>>,
    /// `D[u][w]`: from the end of `u` to the start of `w`, by priced load of what lies between; [`APART`] where `u` is no ancestor.
    pub(super) load: Vec<Vec<i64>>,
    /// Priced load of all ancestors, and of all descendants.
    pub(super) load_before: Vec<i64>,
    pub(super) load_behind: Vec<i64>,
    /// `dist(u@a, w@b)`; empty where there are too many.
    distances: Vec<i64>,
}

impl<'a> Ground<'a> {
    pub(super) fn new(problem: &'a Problem) -> Self {
        let count = problem.operators.len();
        let loads = Loads::new(problem);
        let before = related(problem);
        let behind = transposed(&before);
        let of = |set: &[u64]| signed(loads.of(set));
        let mut ground = Self {
            problem,
            precedence: Precedence::of(problem),
            processors: problem.homes.len(),
            load: vec![vec![APART; count]; count],
            load_before: before.iter().map(|set| of(set)).collect(),
            load_behind: behind.iter().map(|set| of(set)).collect(),
            before,
            behind,
            distances: Vec::new(),
        };
        if count * ground.processors <= MOST_PAIRS {
            ground.measure_loads(&loads);
            ground.measure_distances();
        }
        ground
    }

    /// Duration of an operator on a processor.
    pub(super) fn time(&self, operator: usize, processor: usize) -> Option<i64> {
        self.problem.operators[operator].times[processor].map(|time| signed(time.count()))
    }

    /// Whether distances between operators are known.
    pub(super) fn has_distances(&self) -> bool {
        !self.distances.is_empty()
    }

    /// From the end of `u` on `a` to the start of `w` on `b` passes at least this.
    pub(super) fn distance(&self, u: usize, a: usize, w: usize, b: usize) -> i64 {
        let pairs = self.problem.operators.len() * self.processors;
        self.distances[(u * self.processors + a) * pairs + w * self.processors + b]
    }

    /// `D[u][w] = max(priced load between, max over v between of D[u][v] + least time of v + D[v][w])`.
    fn measure_loads(&mut self, loads: &Loads) {
        let count = self.problem.operators.len();
        let least: Vec<i64> = (0..count)
            .map(|v| (0..self.processors).filter_map(|p| self.time(v, p)).min())
            .map(|time| time.unwrap_or(0))
            .collect();
        let mut between = vec![0; count.div_ceil(64)];
        for w in 0..count {
            for u in members(&self.before[w])
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
            {
                intersect(&self.behind[u], &self.before[w], &mut between);
                let mut longest = signed(loads.of(&between));
                for v in members(&between) {
                    longest = longest.max(self.load[u][v] + least[v] + self.load[v][w]);
                }
                self.load[u][w] = longest;
            }
        }
    }

    /// `dist(u@a, w@b) = max(D[u][w], max over edges (v, w) of min over q of dist(u@a, v@q) + t[v][q] + c[q][b])`.
    fn measure_distances(&mut self) {
        let (count, processors) = (self.problem.operators.len(), self.processors);
        let pairs = count * processors;
        let delays = self.delays();
        let mut distances = vec![APART; pairs * pairs];
        for u in 0..count {
            for a in (0..processors).filter(|&a| self.time(u, a).is_some()) {
                let row = &mut distances[(u * processors + a) * pairs..][..pairs];
                for w in members(&self.behind[u]) {
                    for b in (0..processors).filter(|&b| self.time(w, b).is_some()) {
                        let mut longest = self.load[u][w];
                        for &edge in &self.precedence.incoming[w] {
                            let v = self.precedence.edges[edge].from;
                            let delay = |q: usize| delays[(edge * processors + q) * processors + b];
                            let way = if v == u {
                                delay(a)
                            } else if self.behind[u][v >> 6] >> (v & 63) & 1 == 1 {
                                (0..processors)
                                    .filter_map(|q| {
                                        let time = self.time(v, q)?;
                                        Some(row[v * processors + q] + time + delay(q))
                                    })
                                    .min()
                                    .unwrap_or(APART)
                            } else {
                                APART
                            };
                            longest = longest.max(way);
                        }
                        row[w * processors + b] = longest;
                    }
                }
            }
        }
        self.distances = distances;
    }

    /// `c[e][p][q]` of every edge and pair of processors.
    pub(super) fn delays(&self) -> Vec<i64> {
        let homes = &self.problem.homes;
        let mut delays = Vec::new();
        for edge in &self.precedence.edges {
            for &a in homes {
                for &b in homes {
                    delays.push(signed(edge_delay(self.problem, edge, a, b)));
                }
            }
        }
        delays
    }
}

/// Times of problems that are relaxed are far below the largest number.
pub(super) fn signed(time: u64) -> i64 {
    i64::try_from(time)
        .unwrap_or(i64::MAX / 8)
        .min(i64::MAX / 8)
}
