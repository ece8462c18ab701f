//! The loop: cuts until they bring nothing, then shorter and shorter trials refuted.

use std::num::NonZeroU32;

use paracompile_plan::Nanoseconds;

use super::super::{Budget, Problem};
use super::certificate::certified;
use super::energetic;
use super::intervals::{self, Point};
use super::program::{MAKESPAN, Program, SLACK};
use super::rows::{Column, Kind, Row, signed};
use super::ways::{Frame, Ways};
use crate::milp::{self, Limits, Linear, LinearProgram, MilpError, Model, Scale, Status, Watch};

/// Sums of times in rows and certificates must fit their integers.
const LARGEST: u64 = 1 << 44;

/// How much counted work a bound may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Rounds of cuts for each trial.
    pub rounds: u32,
    /// Trials of the linear program.
    pub trials: u32,
    /// Branch-and-bound nodes of each integer program; none without.
    pub nodes: Option<NonZeroU32>,
    /// Trials of the integer program.
    pub refutations: u32,
}

/// What a relaxation proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relaxed {
    /// No schedule takes less, by integer arithmetic and the word of the MILP solver.
    pub bound: Nanoseconds,
    /// No schedule takes less, by integer arithmetic alone.
    pub certified: Nanoseconds,
}

/// Raises the bound `floor` of a problem for which a schedule of `known` exists.
///
/// Where numbers are too large for exact rows, or the solver fails, the bound stays what it is.
pub fn relaxation_bound(
    problem: &Problem,
    known: Nanoseconds,
    floor: Nanoseconds,
    work: Work,
    budget: Budget<'_>,
) -> Relaxed {
    let mut search = Search {
        known: known.count(),
        bound: floor.count(),
        certified: floor.count(),
        cuts: Vec::new(),
        budget,
    };
    if known.count() < LARGEST && !problem.operators.is_empty() && floor < known {
        let frame = Frame::new(problem);
        // A solver that fails leaves what was proven before.
        let _ = search.raise(&frame, work);
    }
    Relaxed {
        bound: Nanoseconds::new(search.bound),
        certified: Nanoseconds::new(search.certified),
    }
}

struct Search<'a> {
    known: u64,
    bound: u64,
    certified: u64,
    /// Cuts that were of use, to start the next trial with.
    cuts: Vec<intervals::Key>,
    budget: Budget<'a>,
}

/// What became of a trial.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// No schedule is as short.
    Refuted,
    /// Nobody knows.
    Open,
}

impl Search<'_> {
    fn raise(&mut self, frame: &Frame<'_>, work: Work) -> Result<(), MilpError> {
        self.try_certified(frame, self.known - 1, work.rounds)?;
        let mut most = self.known;
        for _ in 0..work.trials {
            let gap = most.saturating_sub(self.certified);
            if gap < 1 + self.known / 5000 || self.budget.should_stop() {
                break;
            }
            let trial = self.certified + gap * 3 / 10;
            match self.try_certified(frame, trial, work.rounds)? {
                Verdict::Refuted => {}
                Verdict::Open => most = trial,
            }
        }
        let Some(nodes) = work.nodes else {
            return Ok(());
        };
        let mut most = self.known;
        for _ in 0..work.refutations {
            let gap = most.saturating_sub(self.bound);
            if gap < 1 + self.known / 5000 || self.budget.should_stop() {
                break;
            }
            let trial = self.bound + gap * 3 / 10;
            match self.try_whole(frame, trial, work.rounds, nodes)? {
                Verdict::Refuted => {}
                Verdict::Open => most = trial,
            }
        }
        Ok(())
    }

    fn note_certified(&mut self, bound: u64, trial: u64) -> Verdict {
        // Schedules above the trial are not the program's business.
        let bound = bound.min(trial + 1);
        self.certified = self.certified.max(bound);
        self.bound = self.bound.max(bound);
        if bound > trial {
            Verdict::Refuted
        } else {
            Verdict::Open
        }
    }

    /// The linear program under `trial`, with cuts as long as they raise it.
    fn try_certified(
        &mut self,
        frame: &Frame<'_>,
        trial: u64,
        rounds: u32,
    ) -> Result<Verdict, MilpError> {
        let Some(ways) = Ways::below(frame, trial) else {
            return Ok(self.note_certified(trial + 1, trial));
        };
        let cut = self.cut(frame, &ways, rounds)?;
        Ok(self.note_certified(cut.bound, trial))
    }

    fn cut(&mut self, frame: &Frame<'_>, ways: &Ways, rounds: u32) -> Result<Cut, MilpError> {
        let unit = unit(ways.trial);
        let floor = self.certified;
        let mut program = Program::new(frame, ways, floor);
        let mut keys: Vec<Option<intervals::Key>> = vec![None; program.rows.len()];
        for &key in &self.cuts {
            if let Some(row) = intervals::row(frame, ways, &program, key, floor) {
                program.rows.push(row);
                keys.push(Some(key));
            }
        }
        let mut linear = linear(&program, unit)?;
        let mut bound = 0;
        let mut stale = 0;
        let mut multipliers = Vec::new();
        let least = float(signed(ways.trial)) * 1e-5;
        for _ in 0..rounds {
            let outcome = linear.solve(self.budget.left())?;
            let now =
                certified(&program.columns, &program.rows, &outcome.multipliers, unit).unwrap_or(0);
            stale = if now > bound + ways.trial / 20_000 {
                0
            } else {
                stale + 1
            };
            bound = bound.max(now);
            multipliers = outcome.multipliers;
            if !outcome.is_optimal || bound > ways.trial || stale > 2 || self.budget.should_stop() {
                break;
            }
            let values: Vec<f64> = program
                .columns
                .iter()
                .zip(&outcome.values)
                .map(|(column, value)| match column.kind {
                    Kind::Time => value * unit,
                    Kind::Share => *value,
                })
                .collect();
            let point = Point { values: &values };
            let loads = intervals::separate(frame, ways, &program, &point, floor, least, 200);
            let windows = energetic::separate(frame, ways, &program, &values, least, 12);
            let mut new: Vec<(Option<intervals::Key>, Row)> = loads
                .into_iter()
                .filter_map(|key| {
                    Some((
                        Some(key),
                        intervals::row(frame, ways, &program, key, floor)?,
                    ))
                })
                .collect();
            new.extend(
                windows
                    .into_iter()
                    .filter_map(|key| Some((None, energetic::row(frame, ways, &program, key)?))),
            );
            if new.is_empty() {
                break;
            }
            for (key, row) in new {
                add(&mut linear, &program.columns, &row, unit)?;
                program.rows.push(row);
                keys.push(key);
            }
        }
        // What has a price is worth having from the start next time.
        self.cuts = keys
            .iter()
            .zip(&multipliers)
            .filter(|(_, multiplier)| **multiplier > 1e-9)
            .filter_map(|(key, _)| *key)
            .collect();
        Ok(Cut { program, bound })
    }

    /// Whole assignments under `trial`; what refutes is the solver.
    fn try_whole(
        &mut self,
        frame: &Frame<'_>,
        trial: u64,
        rounds: u32,
        nodes: NonZeroU32,
    ) -> Result<Verdict, MilpError> {
        let Some(ways) = Ways::below(frame, trial) else {
            return Ok(self.note_certified(trial + 1, trial));
        };
        let cut = self.cut(frame, &ways, rounds)?;
        if self.note_certified(cut.bound, trial) == Verdict::Refuted {
            return Ok(Verdict::Refuted);
        }
        let (model, scale) = whole(&cut.program, &ways)?;
        let remaining = || self.budget.remaining();
        let limits = Limits {
            nodes,
            watch: Watch::Asked(&remaining),
        };
        let outcome = milp::solve(&model, &scale, None, &limits)?;
        let bound = match outcome.status {
            Status::Infeasible => trial + 1,
            Status::Optimal | Status::NodeLimit | Status::Stopped => {
                scale.lower_bound(outcome.bound).min(trial + 1)
            }
        };
        self.bound = self.bound.max(bound);
        Ok(if bound > trial {
            Verdict::Refuted
        } else {
            Verdict::Open
        })
    }
}

struct Cut {
    program: Program,
    bound: u64,
}

/// The solver compares with absolute tolerances, so it sees the trial as about a thousand.
fn unit(trial: u64) -> f64 {
    let mut unit = 1_u64;
    while trial / unit > 2000 {
        unit *= 2;
    }
    float(signed(unit))
}

fn linear(program: &Program, unit: f64) -> Result<LinearProgram, MilpError> {
    let variables = program.columns.iter().map(|column| match column.kind {
        Kind::Time => (
            float(column.cost),
            float(column.least) / unit,
            float(column.most) / unit,
        ),
        Kind::Share => (0.0, float(column.least), float(column.most)),
    });
    let mut linear = LinearProgram::new(variables)?;
    for row in &program.rows {
        add(&mut linear, &program.columns, row, unit)?;
    }
    Ok(linear)
}

/// Adds a row in the solver's unit of time.
fn add(
    linear: &mut LinearProgram,
    columns: &[Column],
    row: &Row,
    unit: f64,
) -> Result<(), MilpError> {
    let per_time = match row.kind {
        Kind::Time => unit,
        Kind::Share => 1.0,
    };
    let terms = row.terms.iter().map(|&(variable, coefficient)| {
        let coefficient = match columns[variable].kind {
            Kind::Time => float(coefficient),
            Kind::Share => float(coefficient) / per_time,
        };
        (variable, coefficient)
    });
    linear.add(terms, float(row.right) / per_time, row.is_equality)
}

/// The program with whole shares and no slack, as the MILP solver sees it.
fn whole(program: &Program, ways: &Ways) -> Result<(Model, Scale), MilpError> {
    let scale = Scale::new([1], ways.trial, program.columns.len())?;
    let units = |time: i64| {
        let units = scale.to_units(time.unsigned_abs());
        if time < 0 { -units } else { units }
    };
    let mut model = Model::new();
    let variables: Vec<_> = program
        .columns
        .iter()
        .enumerate()
        .map(|(index, column)| match column.kind {
            Kind::Share if column.is_whole => model.binary(),
            Kind::Share => model.continuous(0.0, 1.0),
            Kind::Time if index == SLACK => model.continuous(0.0, 0.0),
            Kind::Time => model.continuous(
                units(column.least),
                units(column.most).min(units(signed(ways.trial))),
            ),
        })
        .collect();
    for (index, row) in program.rows.iter().enumerate() {
        let number = |coefficient: i64, kind: Kind| match (row.kind, kind) {
            (Kind::Time, Kind::Share) => units(coefficient),
            (Kind::Time, Kind::Time) | (Kind::Share, _) => float(coefficient),
        };
        let left = row
            .terms
            .iter()
            .fold(Linear::new(), |left, &(variable, coefficient)| {
                let number = number(coefficient, program.columns[variable].kind);
                left.plus(number, variables[variable])
            });
        let right = match row.kind {
            Kind::Time => units(row.right),
            Kind::Share => float(row.right),
        };
        let right = Linear::new().plus_constant(right);
        if row.is_equality {
            model.require_equal(format_args!("row[{index}]"), left, &right);
        } else {
            model.require_at_least(format_args!("row[{index}]"), left, &right);
        }
    }
    model.minimise(variables[MAKESPAN].into());
    Ok((model, scale))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the solver's numbers are approximate anyway"
)]
fn float(value: i64) -> f64 {
    value as f64
}
