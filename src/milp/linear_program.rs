//! A linear program that grows by rows and is solved again from where it stood.
//!
//! Rows and boxes come in integers and values go out in fixed point, so that nothing outside this module computes in floating point.
//! What the solver says is a suggestion: bounds are proven by [`ExactProgram::bound`] from the multipliers.

use std::time::Duration;

use highs::{Col, HighsModelStatus, RowProblem, Sense as Direction};

use super::MilpError;
use super::exact::{ExactProgram, ExactRow, SHIFT, Sense, Unit};
use super::solve::set;

/// Values of a relaxation are integers in units of `1 / ONE`.
pub const ONE: i64 = 1 << 20;

/// Largest time in solver units: the solver's tolerances are absolute.
const RANGE: i64 = 1 << 10;

/// How the simplex method came to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relaxed {
    /// At an optimum, up to the solver's tolerance.
    Optimal,
    /// The iterations were used up; another call goes on.
    Unfinished,
    /// There is no point, says the solver.
    Infeasible,
}

/// A point and multipliers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// How the solve ended.
    pub status: Relaxed,
    /// Value of each column in units of `1 / ONE`.
    pub values: Vec<i64>,
    /// Multiplier of each row, in units of `2^-SHIFT`.
    pub multipliers: Vec<i128>,
}

/// A program inside the solver.
#[derive(Debug)]
pub struct LinearProgram {
    solver: highs::Model,
    columns: Vec<Col>,
    units: Vec<Unit>,
    /// Unit of each row that was handed over.
    rows: Vec<Unit>,
    /// Nanoseconds in a solver unit, a power of two.
    scale: f64,
}

impl LinearProgram {
    /// Hands a program to the solver.
    pub fn new(program: &ExactProgram) -> Result<Self, MilpError> {
        let largest = program
            .columns
            .iter()
            .filter(|column| column.unit == Unit::Time)
            .map(|column| column.upper)
            .max()
            .unwrap_or(1);
        let mut nanoseconds = 1;
        while largest / nanoseconds > RANGE {
            nanoseconds *= 2;
        }
        let scale = to_float(nanoseconds);
        let per = |unit| match unit {
            Unit::Share => 1.0,
            Unit::Time => scale,
        };
        let mut problem = RowProblem::default();
        let columns: Vec<Col> = program
            .columns
            .iter()
            .map(|column| {
                let unit = per(column.unit);
                // The objective counts time.
                let cost = to_float(column.cost) * unit / scale;
                let (lower, upper) = (to_float(column.lower), to_float(column.reach));
                problem.add_column(cost, lower / unit..=upper / unit)
            })
            .collect();
        let units: Vec<Unit> = program.columns.iter().map(|column| column.unit).collect();
        for row in &program.rows {
            let (terms, right) = scaled(row, &columns, &units, scale);
            match row.sense {
                Sense::AtLeast => problem.add_row(right.., terms),
                Sense::Equal => problem.add_row(right..=right, terms),
            }
        }
        let mut solver = problem
            .try_optimise(Direction::Minimise)
            .map_err(|status| MilpError::Refused {
                what: format!("the linear program ({status:?})"),
            })?;
        set(&mut solver, "output_flag", false)?;
        set(&mut solver, "threads", 1)?;
        set(&mut solver, "parallel", "off")?;
        set(&mut solver, "random_seed", 1)?;
        set(&mut solver, "solver", "simplex")?;
        Ok(Self {
            solver,
            columns,
            units,
            rows: program.rows.iter().map(|row| row.unit).collect(),
            scale,
        })
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Adds a row; the next solve starts from where the last one ended.
    pub fn add(&mut self, row: &ExactRow) -> Result<(), MilpError> {
        let (terms, right) = scaled(row, &self.columns, &self.units, self.scale);
        let added = match row.sense {
            Sense::AtLeast => self.solver.try_add_row(right.., terms),
            Sense::Equal => self.solver.try_add_row(right..=right, terms),
        };
        added.map_err(|status| MilpError::Refused {
            what: format!("a row ({status:?})"),
        })?;
        self.rows.push(row.unit);
        Ok(())
    }

    /// Holds a share between two values in all solves that follow.
    pub fn hold(&mut self, column: usize, lower: i64, upper: i64) {
        self.solver
            .change_column_bounds(self.columns[column], to_float(lower)..=to_float(upper));
    }

    /// Goes on for at most `iterations` of the simplex method, and for at most this time.
    pub fn solve(
        mut self,
        iterations: u32,
        limit: Option<Duration>,
    ) -> Result<(Self, Suggestion), MilpError> {
        let seconds = limit.map_or(f64::INFINITY, |limit| limit.as_secs_f64());
        set(&mut self.solver, "time_limit", seconds)?;
        set(
            &mut self.solver,
            "simplex_iteration_limit",
            i32::try_from(iterations).unwrap_or(i32::MAX),
        )?;
        let solved = self
            .solver
            .try_solve()
            .map_err(|status| MilpError::Failed {
                status: format!("{status:?}"),
            })?;
        let status = status(solved.status())?;
        let solution = solved.get_solution();
        let values = solution
            .columns()
            .iter()
            .zip(&self.units)
            .map(|(&value, unit)| match unit {
                Unit::Share => fixed(value, 1.0),
                Unit::Time => fixed(value, self.scale),
            })
            .collect();
        let multipliers = solution
            .dual_rows()
            .iter()
            .zip(&self.rows)
            .map(|(&dual, unit)| match unit {
                Unit::Time => multiplier(dual, 1.0),
                Unit::Share => multiplier(dual, self.scale),
            })
            .collect();
        self.solver = solved.into();
        let suggestion = Suggestion {
            status,
            values,
            multipliers,
        };
        Ok((self, suggestion))
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the enum is the binding's and not exhaustive; whatever else it says is no answer"
)]
fn status(status: HighsModelStatus) -> Result<Relaxed, MilpError> {
    match status {
        HighsModelStatus::Optimal | HighsModelStatus::ModelEmpty => Ok(Relaxed::Optimal),
        HighsModelStatus::Infeasible => Ok(Relaxed::Infeasible),
        HighsModelStatus::ReachedIterationLimit
        | HighsModelStatus::ReachedTimeLimit
        | HighsModelStatus::Unknown => Ok(Relaxed::Unfinished),
        other => Err(MilpError::Failed {
            status: format!("{other:?}"),
        }),
    }
}

/// A row in solver units: one of times counts in the unit of times, so its shares' coefficients are divided by it.
fn scaled(row: &ExactRow, columns: &[Col], units: &[Unit], scale: f64) -> (Vec<(Col, f64)>, f64) {
    let factor = match row.unit {
        Unit::Share => 1.0,
        Unit::Time => scale,
    };
    let terms = row
        .terms
        .iter()
        .map(|&(column, coefficient)| {
            let unit = match units[column] {
                Unit::Share => 1.0,
                Unit::Time => scale,
            };
            (columns[column], to_float(coefficient) * (unit / factor))
        })
        .collect();
    (terms, to_float(row.right) / factor)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the solver may see rounded numbers; the certificate uses the integers"
)]
fn to_float(value: i64) -> f64 {
    value as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a suggestion may be rounded; out of range saturates"
)]
pub(super) fn fixed(value: f64, unit: f64) -> i64 {
    (value * unit * ONE as f64).round() as i64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "any multiplier gives a valid bound; out of range saturates"
)]
fn multiplier(dual: f64, unit: f64) -> i128 {
    // Beyond 2^20 times the unit the solver is lost, and sums must stay far below 128 bits.
    let largest = (1_i64 << 40) as f64;
    ((dual * unit).clamp(-largest, largest) * (1_i64 << SHIFT) as f64).round() as i128
}
