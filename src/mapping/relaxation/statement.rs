//! Columns and rows of the relaxation for one horizon; symbols are those of `docs/formulation.md`.
//!
//! Starts and ends count from the opening of their window, so that the lower half of every window is a bound of a column.

use crate::milp::{ExactColumn, ExactProgram, ExactRow, Sense, Unit};

use super::ground::{Ground, signed};
use super::windows::Windows;

/// What a nanosecond outside a window costs the solver; a real schedule pays nothing, so no bound depends on it.
const ELASTICITY: i64 = 64;

/// A pair of locations that an edge may join.
#[derive(Clone, Debug)]
pub(super) struct Joint {
    /// Location of the producer and of the reader.
    pub(super) from: usize,
    pub(super) to: usize,
    /// `c[e][a][b]`.
    delay: i64,
    /// `z[e][a, b]`.
    pub(super) z: usize,
}

/// The program of one horizon.
pub(super) struct Statement<'a> {
    pub(super) ground: &'a Ground<'a>,
    pub(super) windows: &'a Windows,
    pub(super) program: ExactProgram,
    /// `C`.
    pub(super) makespan: usize,
    /// How far windows are stretched for the solver; zero in every schedule.
    pub(super) stretch: usize,
    /// `x[i][p]`.
    pub(super) x: Vec<Vec<Option<usize>>>,
    /// `S[i][p] - H[i][p] x[i][p]`, where `S[i][p]` is the start of `i` if it runs on `p` and zero otherwise.
    pub(super) start: Vec<Vec<Option<usize>>>,
    /// For each edge that can need a transfer.
    pub(super) joints: Vec<Vec<Joint>>,
}

impl<'a> Statement<'a> {
    /// The columns and the rows that are always there; no schedule is shorter than `floor`.
    pub(super) fn new(ground: &'a Ground<'a>, windows: &'a Windows, floor: i64) -> Self {
        let mut statement = Self {
            ground,
            windows,
            program: ExactProgram::default(),
            makespan: 0,
            stretch: 0,
            x: vec![vec![None; ground.processors]; windows.time.len()],
            start: vec![vec![None; ground.processors]; windows.time.len()],
            joints: vec![Vec::new(); ground.precedence.edges.len()],
        };
        statement.makespan = statement.time_column(floor, windows.horizon, 1);
        statement.stretch = statement.time_column(0, 0, ELASTICITY);
        for i in 0..windows.time.len() {
            for (p, _) in windows.possible(i) {
                statement.x[i][p] = Some(statement.share_column());
                let width = windows.latest(i, p) - windows.head[i][p];
                statement.start[i][p] = Some(statement.time_column(0, width, 0));
            }
            assign_each_operator_once(&mut statement, i);
        }
        use_required_processors(&mut statement);
        for edge in 0..ground.precedence.edges.len() {
            statement.join(edge);
            if !statement.joints[edge].is_empty() {
                link_transfers(&mut statement, edge);
            }
            wait_for_inputs(&mut statement, edge);
        }
        statement
    }

    /// `Σ_p S[i][p]`: terms of the start of an operator.
    pub(super) fn start_of(&self, i: usize, factor: i64) -> Vec<(usize, i64)> {
        self.weighted(i, factor, |p| self.windows.head[i][p])
    }

    /// Terms of the end of an operator.
    pub(super) fn end_of(&self, i: usize, factor: i64) -> Vec<(usize, i64)> {
        self.weighted(i, factor, |p| {
            self.windows.head[i][p] + self.windows.time[i][p].unwrap_or(0)
        })
    }

    /// `factor · Σ_p (start column + weight(p) · x[i][p])`.
    pub(super) fn weighted(
        &self,
        i: usize,
        factor: i64,
        weight: impl Fn(usize) -> i64,
    ) -> Vec<(usize, i64)> {
        let mut terms = Vec::new();
        for (p, column) in self.x[i].iter().enumerate() {
            if let (Some(x), Some(start)) = (column, self.start[i][p]) {
                terms.push((*x, factor * weight(p)));
                terms.push((start, factor));
            }
        }
        terms
    }

    pub(super) fn require(
        &mut self,
        terms: Vec<(usize, i64)>,
        sense: Sense,
        right: i64,
        unit: Unit,
    ) {
        let mut terms = terms;
        terms.retain(|&(_, coefficient)| coefficient != 0);
        self.program.rows.push(ExactRow {
            terms,
            sense,
            right,
            unit,
        });
    }

    pub(super) fn share_column(&mut self) -> usize {
        self.program.columns.push(ExactColumn {
            unit: Unit::Share,
            lower: 0,
            upper: 1,
            reach: 1,
            cost: 0,
        });
        self.program.columns.len() - 1
    }

    fn time_column(&mut self, lower: i64, upper: i64, cost: i64) -> usize {
        self.program.columns.push(ExactColumn {
            unit: Unit::Time,
            lower,
            upper,
            reach: 4 * self.windows.horizon,
            cost,
        });
        self.program.columns.len() - 1
    }

    /// Locations at which an operator can run, ascending, with its processors there.
    pub(super) fn locations(&self, i: usize) -> Vec<(usize, Vec<usize>)> {
        let mut locations: Vec<(usize, Vec<usize>)> = Vec::new();
        for (p, _) in self.windows.possible(i) {
            let home = self.ground.problem.homes[p];
            match locations.iter_mut().find(|(location, _)| *location == home) {
                Some((_, processors)) => processors.push(p),
                None => locations.push((home, vec![p])),
            }
        }
        locations
    }

    /// Creates the joints of an edge if something may have to move.
    fn join(&mut self, edge: usize) {
        let facts = &self.ground.precedence.edges[edge];
        let (i, j) = (facts.from, facts.to);
        let (sources, targets) = (self.locations(i), self.locations(j));
        let delay = |a, b| {
            signed(crate::mapping::fine::edge_delay(
                self.ground.problem,
                facts,
                a,
                b,
            ))
        };
        let can_move = sources
            .iter()
            .any(|(a, _)| targets.iter().any(|(b, _)| delay(*a, *b) > 0));
        if !can_move {
            return;
        }
        let windows = self.windows;
        let mut joints = Vec::new();
        for (a, from) in &sources {
            let ends = from
                .iter()
                .map(|&p| windows.head[i][p] + windows.time[i][p].unwrap_or(0));
            let opens = ends.min().unwrap_or(0);
            let last_ends = from.iter().map(|&p| windows.horizon - windows.tail[i][p]);
            let last_end = last_ends.max().unwrap_or(0);
            for (b, to) in &targets {
                let delay = delay(*a, *b);
                let last_start = to.iter().map(|&q| windows.latest(j, q)).max().unwrap_or(0);
                let closes = last_end.min(last_start - delay);
                if opens <= closes {
                    joints.push((*a, *b, delay));
                }
            }
        }
        for (from, to, delay) in joints {
            let z = self.share_column();
            self.joints[edge].push(Joint { from, to, delay, z });
        }
    }
}

/// `Σ_p x[i][p] = 1`.
fn assign_each_operator_once(statement: &mut Statement<'_>, i: usize) {
    let terms = statement.x[i].iter().flatten().map(|&x| (x, 1)).collect();
    statement.require(terms, Sense::Equal, 1, Unit::Share);
}

/// `Σ_i x[i][p] >= 1` for each processor that must be used (M2).
fn use_required_processors(statement: &mut Statement<'_>) {
    for p in 0..statement.ground.processors {
        if statement.ground.problem.must_use >> p & 1 == 1 {
            let running = statement.x.iter().filter_map(|row| row[p]);
            let terms = running.map(|x| (x, 1)).collect();
            statement.require(terms, Sense::AtLeast, 1, Unit::Share);
        }
    }
}

/// `Σ_q S[j][q] >= Σ_p (S[i][p] + t[i][p] x[i][p]) + Σ_ab c[e][a][b] z[e][a, b]`.
fn wait_for_inputs(statement: &mut Statement<'_>, edge: usize) {
    let facts = &statement.ground.precedence.edges[edge];
    let mut terms = statement.start_of(facts.to, 1);
    terms.extend(statement.end_of(facts.from, -1));
    let moves = statement.joints[edge].iter();
    terms.extend(moves.map(|joint| (joint.z, -joint.delay)));
    statement.require(terms, Sense::AtLeast, 0, Unit::Time);
}

/// `Σ_b z[e][a, b] = Σ_{p at a} x[i][p]` and `Σ_a z[e][a, b] = Σ_{q at b} x[j][q]`.
fn link_transfers(statement: &mut Statement<'_>, edge: usize) {
    let facts = &statement.ground.precedence.edges[edge];
    let (i, j) = (facts.from, facts.to);
    for (a, processors) in statement.locations(i) {
        let joints = statement.joints[edge]
            .iter()
            .filter(|joint| joint.from == a);
        let mut terms: Vec<_> = joints.map(|joint| (joint.z, 1)).collect();
        terms.extend(
            processors
                .iter()
                .filter_map(|&p| Some((statement.x[i][p]?, -1))),
        );
        statement.require(terms, Sense::Equal, 0, Unit::Share);
    }
    for (b, processors) in statement.locations(j) {
        let joints = statement.joints[edge].iter().filter(|joint| joint.to == b);
        let mut terms: Vec<_> = joints.map(|joint| (joint.z, 1)).collect();
        terms.extend(
            processors
                .iter()
                .filter_map(|&q| Some((statement.x[j][q]?, -1))),
        );
        statement.require(terms, Sense::Equal, 0, Unit::Share);
    }
}
