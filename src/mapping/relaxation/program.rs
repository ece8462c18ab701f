//! The program for one trial: shares, starts, and what edges ask of them.
//!
//! Symbols are those of `docs/formulation.md`: `x[i][p]`, `S[i][p]` (start times share), `z[e][p, q]`, `tau[e][p, q]`, C and the slack `e` of all windows.

use super::super::fine::exit_delay;
use super::rows::{Column, Kind, Row, signed};
use super::ways::{Frame, Ways};

/// What a nanosecond beyond a window costs; a schedule below the trial needs none, so any price gives valid bounds.
const PRICE_OF_SLACK: i64 = 16;

/// More pairs of processors on edges get one row an edge without start times of their own.
const MOST_JOINT_PAIRS: usize = 6000;

/// C.
pub(super) const MAKESPAN: usize = 0;
/// By how much all windows are exceeded.
pub(super) const SLACK: usize = 1;

/// Variables, and rows that hold for every schedule below the trial.
pub(super) struct Program {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
    /// `x[i][p]` at `i · m + p`; the start share stands behind it.
    shares: Vec<Option<usize>>,
    /// What stands for an edge whose ends are on a pair of processors.
    #[cfg(test)]
    joints: Vec<Joint>,
    processors: usize,
}

impl Program {
    /// `floor` is a bound that is known.
    pub(super) fn new(frame: &Frame<'_>, ways: &Ways, floor: u64) -> Self {
        let (n, m) = (frame.operators(), frame.processors());
        let time = |least: u64, most: u64, cost: i64| Column {
            kind: Kind::Time,
            cost,
            least: signed(least),
            most: signed(most),
            is_whole: false,
        };
        let mut columns = vec![
            time(floor.min(ways.trial), 2 * ways.trial, 1),
            time(0, 2 * ways.trial, PRICE_OF_SLACK),
        ];
        let mut shares = vec![None; n * m];
        for i in 0..n {
            for p in ways.possible(i) {
                shares[i * m + p] = Some(columns.len());
                columns.push(Column {
                    kind: Kind::Share,
                    cost: 0,
                    least: 0,
                    most: 1,
                    is_whole: true,
                });
                columns.push(time(0, 2 * ways.trial, 0));
            }
        }
        let mut program = Self {
            columns,
            rows: Vec::new(),
            shares,
            #[cfg(test)]
            joints: Vec::new(),
            processors: m,
        };
        for i in 0..n {
            program.place(frame, ways, i);
        }
        for p in (0..m).filter(|p| frame.problem.must_use & (1 << p) != 0) {
            let mut row = Row::shares(1);
            row.is_equality = false;
            for i in (0..n).filter(|&i| ways.is_possible(i, p)) {
                row.add(program.share(i, p), 1);
            }
            program.rows.push(row);
        }
        let joint: usize = (0..frame.precedence.edges.len())
            .map(|edge| program.joint_pairs(frame, ways, edge).len())
            .sum();
        for edge in 0..frame.precedence.edges.len() {
            program.join(frame, ways, edge, joint <= MOST_JOINT_PAIRS);
        }
        program.rows = program.rows.into_iter().map(Row::collected).collect();
        program
    }

    #[cfg(test)]
    pub(super) fn joints(&self) -> &[Joint] {
        &self.joints
    }

    /// `x[i][p]` of a possible pair.
    pub(super) fn share(&self, operator: usize, processor: usize) -> usize {
        self.shares[operator * self.processors + processor]
            .expect("only possible pairs are asked for")
    }

    /// `S[i][p]` of a possible pair.
    pub(super) fn start(&self, operator: usize, processor: usize) -> usize {
        self.share(operator, processor) + 1
    }

    /// Adds `factor` times the start of an operator.
    pub(super) fn add_start(&self, row: &mut Row, ways: &Ways, operator: usize, factor: i64) {
        for p in ways.possible(operator) {
            row.add(self.start(operator, p), factor);
        }
    }

    /// Adds `factor` times the end of an operator.
    pub(super) fn add_end(&self, row: &mut Row, ways: &Ways, operator: usize, factor: i64) {
        self.add_start(row, ways, operator, factor);
        for p in ways.possible(operator) {
            let time = signed(ways.time(operator, p));
            row.add(self.share(operator, p), factor * time);
        }
    }

    /// One processor, a start within its window, and an end before C.
    fn place(&mut self, frame: &Frame<'_>, ways: &Ways, i: usize) {
        let mut once = Row::shares(1);
        let mut end = Row::time();
        end.add(MAKESPAN, 1);
        self.add_end(&mut end, ways, i, -1);
        for p in ways.possible(i) {
            let (share, start) = (self.share(i, p), self.start(i, p));
            once.add(share, 1);
            let mut early = Row::time();
            early.add(start, 1);
            early.add(share, -signed(ways.head(i, p)));
            let mut late = Row::time();
            late.add(share, signed(ways.latest(i, p)));
            late.add(start, -1);
            late.add(SLACK, 1);
            self.rows.extend([early, late]);
            let exit = exit_delay(frame.problem, i, frame.problem.homes[p]);
            end.add(share, -signed(ways.tail(i, p).max(exit)));
        }
        self.rows.extend([once, end]);
    }

    /// Pairs of processors that an edge can join below the trial; empty where nothing on it takes time.
    fn joint_pairs(&self, frame: &Frame<'_>, ways: &Ways, edge: usize) -> Vec<(usize, usize, u64)> {
        let (i, j) = ends(frame, edge);
        let mut pairs = Vec::new();
        let mut has_delay = false;
        for p in ways.possible(i) {
            for q in ways.possible(j) {
                let delay = frame.delay(edge, p, q);
                has_delay |= delay > 0;
                let through = ways
                    .head(i, p)
                    .saturating_add(ways.time(i, p))
                    .saturating_add(delay)
                    .saturating_add(ways.time(j, q))
                    .saturating_add(ways.tail(j, q));
                if through <= ways.trial {
                    pairs.push((p, q, delay));
                }
            }
        }
        if has_delay { pairs } else { Vec::new() }
    }

    fn join(&mut self, frame: &Frame<'_>, ways: &Ways, edge: usize, with_starts: bool) {
        let (i, j) = ends(frame, edge);
        let pairs = self.joint_pairs(frame, ways, edge);
        let mut whole = Row::time();
        self.add_start(&mut whole, ways, j, 1);
        self.add_end(&mut whole, ways, i, -1);
        if pairs.is_empty() {
            // Either nothing takes time, or no pair is possible, and then the shares have no point anyway.
            self.rows.push(whole);
            return;
        }
        let first = self.columns.len();
        for _ in &pairs {
            self.columns.push(Column {
                kind: Kind::Share,
                cost: 0,
                least: 0,
                most: 1,
                is_whole: false,
            });
        }
        #[cfg(test)]
        for (at, &(source, target, _)) in pairs.iter().enumerate() {
            self.joints.push(Joint {
                from: i,
                to: j,
                source,
                target,
                share: first + at,
                start: with_starts.then_some(first + pairs.len() + at),
            });
        }
        for p in ways.possible(i) {
            let mut row = Row::shares(0);
            row.add(self.share(i, p), -1);
            for (at, _) in pairs.iter().enumerate().filter(|(_, pair)| pair.0 == p) {
                row.add(first + at, 1);
            }
            self.rows.push(row);
        }
        for q in ways.possible(j) {
            let mut row = Row::shares(0);
            row.add(self.share(j, q), -1);
            for (at, _) in pairs.iter().enumerate().filter(|(_, pair)| pair.1 == q) {
                row.add(first + at, 1);
            }
            self.rows.push(row);
        }
        if !with_starts {
            for (at, &(_, _, delay)) in pairs.iter().enumerate() {
                whole.add(first + at, -signed(delay));
            }
            self.rows.push(whole);
            return;
        }
        self.join_starts(ways, (i, j), &pairs, first);
    }

    /// The producer's start in each pair, within the windows of both.
    fn join_starts(
        &mut self,
        ways: &Ways,
        (i, j): (usize, usize),
        pairs: &[(usize, usize, u64)],
        first: usize,
    ) {
        let starts = self.columns.len();
        for (at, &(p, q, delay)) in pairs.iter().enumerate() {
            self.columns.push(Column {
                kind: Kind::Time,
                cost: 0,
                least: 0,
                most: signed(2 * ways.trial),
                is_whole: false,
            });
            let latest = ways
                .latest(i, p)
                .min(ways.latest(j, q) - ways.time(i, p) - delay);
            let mut early = Row::time();
            early.add(starts + at, 1);
            early.add(first + at, -signed(ways.head(i, p)));
            let mut late = Row::time();
            late.add(first + at, signed(latest));
            late.add(starts + at, -1);
            late.add(SLACK, 1);
            self.rows.extend([early, late]);
        }
        for p in ways.possible(i) {
            let mut row = Row::time();
            row.is_equality = true;
            row.add(self.start(i, p), -1);
            for (at, _) in pairs.iter().enumerate().filter(|(_, pair)| pair.0 == p) {
                row.add(starts + at, 1);
            }
            self.rows.push(row);
        }
        for q in ways.possible(j) {
            let mut row = Row::time();
            row.add(self.start(j, q), 1);
            for (at, &(p, _, delay)) in pairs.iter().enumerate().filter(|(_, pair)| pair.1 == q) {
                row.add(starts + at, -1);
                row.add(first + at, -signed(ways.time(i, p) + delay));
            }
            self.rows.push(row);
        }
    }
}

/// Variables of an edge on a pair of processors.
#[cfg(test)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Joint {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) source: usize,
    pub(super) target: usize,
    pub(super) share: usize,
    pub(super) start: Option<usize>,
}

fn ends(frame: &Frame<'_>, edge: usize) -> (usize, usize) {
    let edge = &frame.precedence.edges[edge];
    (edge.from, edge.to)
}
