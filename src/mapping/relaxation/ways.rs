//! Windows of every operator on every processor below a trial makespan, and least times between operators.
//!
//! Heads, tails and distances follow the longest path with the best processors on each, raised by load: what lies between two operators must be worked off by all processors together.

use super::super::Problem;
use super::super::fine::Precedence;
use super::super::fine::{edge_delay, entry_arrival, exit_delay};
use super::super::intervals::{Loads, intersect, members, related, transposed};

/// Not possible.
pub(super) const NEVER: u64 = u64::MAX;

/// Above this many places (operators times processors) distances between operators are not kept.
const MOST_PLACES: usize = 2500;

/// What does not depend on the trial.
pub(super) struct Frame<'a> {
    pub(super) problem: &'a Problem,
    pub(super) precedence: Precedence,
    /// For each operator the set of those before it, and of those behind it.
    pub(super) before: Vec<Vec<u64>>,
    pub(super) behind: Vec<Vec<u64>>,
    /// Least time between the end of `u` and the start of `w` by load, at `u · n + w`; empty for large problems.
    load: Vec<u64>,
    /// The same from the start of everything to each operator, and from each to the end.
    load_before: Vec<u64>,
    load_behind: Vec<u64>,
}

impl<'a> Frame<'a> {
    pub(super) fn new(problem: &'a Problem) -> Self {
        let before = related(problem);
        let behind = transposed(&before);
        let loads = Loads::new(problem);
        let count = problem.operators.len();
        let mut load = Vec::new();
        if count * problem.homes.len() <= MOST_PLACES {
            load = vec![0; count * count];
            let mut between = vec![0; count.div_ceil(64)];
            for w in 0..count {
                for u in members(&before[w]) {
                    intersect(&behind[u], &before[w], &mut between);
                    load[u * count + w] = loads.of(&between);
                }
            }
        }
        Self {
            problem,
            precedence: Precedence::of(problem),
            load_before: before.iter().map(|set| loads.of(set)).collect(),
            load_behind: behind.iter().map(|set| loads.of(set)).collect(),
            before,
            behind,
            load,
        }
    }

    pub(super) fn operators(&self) -> usize {
        self.problem.operators.len()
    }

    pub(super) fn processors(&self) -> usize {
        self.problem.homes.len()
    }

    fn between(&self, u: usize, w: usize) -> u64 {
        if self.load.is_empty() {
            0
        } else {
            self.load[u * self.operators() + w]
        }
    }

    /// Delay on an edge from processor `p` to `q`.
    pub(super) fn delay(&self, edge: usize, p: usize, q: usize) -> u64 {
        let homes = &self.problem.homes;
        edge_delay(
            self.problem,
            &self.precedence.edges[edge],
            homes[p],
            homes[q],
        )
    }
}

/// Windows below a trial.
pub(super) struct Ways {
    processors: usize,
    /// Duration of operator `i` on processor `p` at `i · m + p`; [`NEVER`] where it does not fit below the trial.
    time: Vec<u64>,
    head: Vec<u64>,
    tail: Vec<u64>,
    /// The trial C.
    pub(super) trial: u64,
    /// From the end of `u` on `a` to the start of `w` on `b`, at `(u · m + a) · n m + w · m + b`; [`NEVER`] where no path leads; empty for large problems.
    distance: Vec<u64>,
}

impl Ways {
    /// `None` where an operator fits nowhere: then no schedule is as short as the trial.
    pub(super) fn below(frame: &Frame<'_>, trial: u64) -> Option<Self> {
        let processors = frame.processors();
        let mut ways = Self {
            processors,
            time: frame
                .problem
                .operators
                .iter()
                .flat_map(|operator| &operator.times)
                .map(|time| time.map_or(NEVER, |time| time.count()))
                .collect(),
            head: Vec::new(),
            tail: Vec::new(),
            trial,
            distance: Vec::new(),
        };
        loop {
            ways.fill_heads(frame);
            ways.fill_tails(frame);
            let mut has_changed = false;
            for at in 0..ways.time.len() {
                if ways.time[at] == NEVER {
                    continue;
                }
                let through = ways.head[at]
                    .saturating_add(ways.time[at])
                    .saturating_add(ways.tail[at]);
                if through > trial {
                    ways.time[at] = NEVER;
                    has_changed = true;
                }
            }
            let fits = |operator: usize| (0..processors).any(|p| ways.is_possible(operator, p));
            if !(0..frame.operators()).all(fits) {
                return None;
            }
            if !has_changed {
                break;
            }
        }
        ways.fill_distances(frame);
        Some(ways)
    }

    pub(super) fn is_possible(&self, operator: usize, processor: usize) -> bool {
        self.time[operator * self.processors + processor] != NEVER
    }

    pub(super) fn possible(&self, operator: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.processors).filter(move |&p| self.is_possible(operator, p))
    }

    /// Duration of a possible pair.
    pub(super) fn time(&self, operator: usize, processor: usize) -> u64 {
        self.time[operator * self.processors + processor]
    }

    pub(super) fn head(&self, operator: usize, processor: usize) -> u64 {
        self.head[operator * self.processors + processor]
    }

    pub(super) fn tail(&self, operator: usize, processor: usize) -> u64 {
        self.tail[operator * self.processors + processor]
    }

    /// Latest start of a possible pair.
    pub(super) fn latest(&self, operator: usize, processor: usize) -> u64 {
        self.trial - self.tail(operator, processor) - self.time(operator, processor)
    }

    pub(super) fn has_distances(&self) -> bool {
        !self.distance.is_empty()
    }

    /// From the end of `u` on `a` to the start of `w` on `b`, between which a path leads.
    pub(super) fn distance(&self, (u, a): (usize, usize), (w, b): (usize, usize)) -> u64 {
        let m = self.processors;
        self.distance[(u * m + a) * self.time.len() + w * m + b]
    }

    /// Least end of an operator.
    fn end(&self, operator: usize) -> u64 {
        self.possible(operator)
            .map(|p| {
                self.head(operator, p)
                    .saturating_add(self.time(operator, p))
            })
            .min()
            .unwrap_or(NEVER)
    }

    /// Least time from the start of an operator to the end of everything.
    fn rest(&self, operator: usize) -> u64 {
        self.possible(operator)
            .map(|p| {
                self.tail(operator, p)
                    .saturating_add(self.time(operator, p))
            })
            .min()
            .unwrap_or(NEVER)
    }

    fn fill_heads(&mut self, frame: &Frame<'_>) {
        self.head = vec![0; self.time.len()];
        let mut ends = vec![0_u64; frame.operators()];
        for operator in 0..frame.operators() {
            let raised = members(&frame.before[operator])
                .map(|u| ends[u].saturating_add(frame.between(u, operator)))
                .fold(frame.load_before[operator], u64::max);
            for p in 0..self.processors {
                let home = frame.problem.homes[p];
                let mut head = raised.max(entry_arrival(frame.problem, operator, home));
                for &edge in &frame.precedence.incoming[operator] {
                    let from = frame.precedence.edges[edge].from;
                    let arrival = self
                        .possible(from)
                        .map(|a| {
                            self.head(from, a)
                                .saturating_add(self.time(from, a))
                                .saturating_add(frame.delay(edge, a, p))
                        })
                        .min()
                        .unwrap_or(NEVER);
                    head = head.max(arrival);
                }
                self.head[operator * self.processors + p] = head;
            }
            ends[operator] = self.end(operator);
        }
    }

    fn fill_tails(&mut self, frame: &Frame<'_>) {
        self.tail = vec![0; self.time.len()];
        let mut rests = vec![0_u64; frame.operators()];
        for operator in (0..frame.operators()).rev() {
            let raised = members(&frame.behind[operator])
                .map(|w| rests[w].saturating_add(frame.between(operator, w)))
                .fold(frame.load_behind[operator], u64::max);
            for p in 0..self.processors {
                let home = frame.problem.homes[p];
                let mut tail = raised.max(exit_delay(frame.problem, operator, home));
                for &edge in &frame.precedence.outgoing[operator] {
                    let to = frame.precedence.edges[edge].to;
                    let rest = self
                        .possible(to)
                        .map(|b| {
                            self.tail(to, b)
                                .saturating_add(self.time(to, b))
                                .saturating_add(frame.delay(edge, p, b))
                        })
                        .min()
                        .unwrap_or(NEVER);
                    tail = tail.max(rest);
                }
                self.tail[operator * self.processors + p] = tail;
            }
            rests[operator] = self.rest(operator);
        }
    }

    fn fill_distances(&mut self, frame: &Frame<'_>) {
        let places = self.time.len();
        if places > MOST_PLACES {
            return;
        }
        let m = self.processors;
        let mut distance = vec![NEVER; places * places];
        for u in 0..frame.operators() {
            for a in 0..m {
                let row = &mut distance[(u * m + a) * places..(u * m + a + 1) * places];
                for w in members(&frame.behind[u]) {
                    let load = frame.between(u, w);
                    for b in 0..m {
                        let mut most = load;
                        for &edge in &frame.precedence.incoming[w] {
                            let from = frame.precedence.edges[edge].from;
                            let way = if from == u {
                                frame.delay(edge, a, b)
                            } else if row[from * m] == NEVER {
                                continue;
                            } else {
                                self.possible(from)
                                    .map(|q| {
                                        row[from * m + q]
                                            .saturating_add(self.time(from, q))
                                            .saturating_add(frame.delay(edge, q, b))
                                    })
                                    .min()
                                    .unwrap_or(0)
                            };
                            most = most.max(way);
                        }
                        row[w * m + b] = most;
                    }
                }
            }
        }
        self.distance = distance;
    }
}
