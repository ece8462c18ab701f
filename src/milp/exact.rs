//! A linear relaxation whose numbers are integers, and bounds of it that no floating-point number can spoil.
//!
//! Any multipliers `y` of the rows (not negative for inequalities) prove a bound, good or bad:
//! `c x >= Σ_i y_i b_i + Σ_j min over the box of x_j of (c_j - Σ_i y_i a_ij) x_j` (Neumaier and Shcherbina 2004).
//! The solver only suggests multipliers; they are rounded to multiples of `2^-SHIFT`, and the sum is computed in integers.

use super::{Linear, Model, Scale, Variable};

/// Multipliers are integers in units of `2^-SHIFT`.
pub const SHIFT: u32 = 40;

/// What a column counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A share between zero and one.
    Share,
    /// Time, in nanoseconds.
    Time,
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExactColumn {
    /// What it counts.
    pub unit: Unit,
    /// The least value.
    pub lower: i64,
    /// The largest value of any point that the bound must hold for.
    pub upper: i64,
    /// The largest value that the solver may choose: a looser box lets it find multipliers where the tight one is empty.
    pub reach: i64,
    /// Its coefficient in the objective.
    pub cost: i64,
}

/// How a row's sum relates to its right side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// At least.
    AtLeast,
    /// Equal.
    Equal,
}

/// A row: `Σ a_j x_j` is at least, or equal to, the right side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactRow {
    /// Columns with coefficients, each column once.
    pub terms: Vec<(usize, i64)>,
    /// How they relate.
    pub sense: Sense,
    /// The right side.
    pub right: i64,
    /// What the row counts.
    pub unit: Unit,
}

/// A program to be minimised, in integers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExactProgram {
    /// Columns.
    pub columns: Vec<ExactColumn>,
    /// Rows.
    pub rows: Vec<ExactRow>,
}

impl ExactProgram {
    /// A bound on the objective of every point of the boxes that satisfies the rows, from any multipliers in units of `2^-SHIFT`.
    ///
    /// Multipliers of inequalities below zero count as zero; rows without a multiplier as well.
    /// `None` where a number leaves the range of 128 bits.
    pub fn bound(&self, multipliers: &[i128]) -> Option<i64> {
        let mut reduced: Vec<i128> = self
            .columns
            .iter()
            .map(|column| i128::from(column.cost) << SHIFT)
            .collect();
        let mut total = 0_i128;
        for (row, &multiplier) in self.rows.iter().zip(multipliers) {
            let multiplier = match row.sense {
                Sense::AtLeast => multiplier.max(0),
                Sense::Equal => multiplier,
            };
            if multiplier == 0 {
                continue;
            }
            total = total.checked_add(multiplier.checked_mul(i128::from(row.right))?)?;
            for &(column, coefficient) in &row.terms {
                let part = multiplier.checked_mul(i128::from(coefficient))?;
                reduced[column] = reduced[column].checked_sub(part)?;
            }
        }
        for (column, &cost) in self.columns.iter().zip(&reduced) {
            let at = if cost >= 0 { column.lower } else { column.upper };
            total = total.checked_add(cost.checked_mul(i128::from(at))?)?;
        }
        // The objective is an integer at every point that counts, so the bound is rounded up.
        let (floor, rest) = (total >> SHIFT, total & ((1 << SHIFT) - 1));
        i64::try_from(floor + i128::from(rest > 0)).ok()
    }

    /// The same program for the solver's branch and bound, with the columns of `whole` integer and times in the units of `scale`.
    ///
    /// What comes of it rests on the solver's word.
    pub fn to_model(&self, scale: &Scale, whole: impl Fn(usize) -> bool) -> Model {
        let mut model = Model::new();
        let units = |time: i64| {
            let size = scale.to_units(time.unsigned_abs());
            if time < 0 { -size } else { size }
        };
        let columns: Vec<Variable> = self
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| match column.unit {
                Unit::Share if whole(index) => model.binary(),
                Unit::Share => model.continuous(plain(column.lower), plain(column.upper)),
                Unit::Time => model.continuous(units(column.lower), units(column.upper)),
            })
            .collect();
        for (index, row) in self.rows.iter().enumerate() {
            let shares = |count: i64| match row.unit {
                Unit::Share => plain(count),
                Unit::Time => units(count),
            };
            let left = row
                .terms
                .iter()
                .fold(Linear::new(), |sum, &(column, coefficient)| {
                    let factor = match self.columns[column].unit {
                        Unit::Share => shares(coefficient),
                        Unit::Time => plain(coefficient),
                    };
                    sum.plus(factor, columns[column])
                });
            let right = Linear::new().plus_constant(shares(row.right));
            let name = format_args!("row[{index}]");
            match row.sense {
                Sense::AtLeast => model.require_at_least(name, left, &right),
                Sense::Equal => model.require_equal(name, left, &right),
            }
        }
        let costs = self.columns.iter().zip(&columns);
        model.minimise(costs.fold(Linear::new(), |sum, (column, &variable)| {
            sum.plus(plain(column.cost), variable)
        }));
        model
    }

    /// Rows that an integer point violates, and columns that it takes out of their box.
    pub fn violations(&self, point: &[i64]) -> Vec<String> {
        let columns = self.columns.iter().zip(point).enumerate();
        let outside = columns.filter_map(|(index, (column, &value))| {
            let fits = (column.lower..=column.upper).contains(&value);
            (!fits).then(|| format!("column {index} = {value} of {column:?}"))
        });
        let broken = self.rows.iter().enumerate().filter_map(|(index, row)| {
            (!row.admits(point)).then(|| format!("row {index}: {row:?}"))
        });
        outside.chain(broken).collect()
    }
}

impl ExactRow {
    /// The sum of the terms at a point, in 128 bits.
    pub fn sum(&self, point: &[i64]) -> i128 {
        self.terms
            .iter()
            .map(|&(column, coefficient)| i128::from(coefficient) * i128::from(point[column]))
            .sum()
    }

    /// Whether a point satisfies it.
    pub fn admits(&self, point: &[i64]) -> bool {
        let sum = self.sum(point);
        match self.sense {
            Sense::AtLeast => sum >= i128::from(self.right),
            Sense::Equal => sum == i128::from(self.right),
        }
    }
}

/// Counts and factors of shares are far below 2^53; larger ones are rounded, and only the solver's word rests on them.
#[expect(clippy::cast_precision_loss, reason = "callers keep counts small")]
fn plain(count: i64) -> f64 {
    count as f64
}
