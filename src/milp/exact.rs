//! A linear relaxation whose numbers are integers, and bounds of it that no floating-point number can spoil.
//!
//! Any multipliers `y` of the rows (not negative for inequalities) prove a bound, good or bad:
//! `c x >= Σ_i y_i b_i + Σ_j min over the box of x_j of (c_j - Σ_i y_i a_ij) x_j` (Neumaier and Shcherbina 2004).
//! The solver only suggests multipliers; they are rounded to multiples of `2^-SHIFT`, and the sum is computed in integers.

use super::linear_program::fixed;
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
        self.priced(multipliers).map(|priced| priced.bound())
    }

    /// The sum that proves the bound, with the reduced cost of each column; `None` where a number leaves the range of 128 bits.
    pub fn priced(&self, multipliers: &[i128]) -> Option<Priced> {
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
            let at = if cost >= 0 {
                column.lower
            } else {
                column.upper
            };
            total = total.checked_add(cost.checked_mul(i128::from(at))?)?;
        }
        Some(Priced { total, reduced })
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

    /// Values of [`Self::to_model`]'s variables as those of a linear program, in units of `1 / ONE`.
    pub fn to_fixed(&self, scale: &Scale, values: &[f64]) -> Vec<i64> {
        let unit = scale.to_units(1);
        self.columns
            .iter()
            .zip(values)
            .map(|(column, &value)| match column.unit {
                Unit::Share => fixed(value, 1.0),
                Unit::Time => fixed(value, 1.0 / unit),
            })
            .collect()
    }

    /// Rows that an integer point violates, and columns that it takes out of their box.
    pub fn violations(&self, point: &[i64]) -> Vec<String> {
        let columns = self.columns.iter().zip(point).enumerate();
        let outside = columns.filter_map(|(index, (column, &value))| {
            let fits = (column.lower..=column.upper).contains(&value);
            (!fits).then(|| format!("column {index} = {value} of {column:?}"))
        });
        let rows = self.rows.iter().enumerate();
        let broken = rows
            .filter(|(_, row)| !row.admits(point))
            .map(|(index, row)| format!("row {index}: {row:?}"));
        outside.chain(broken).collect()
    }
}

/// A bound and what columns add to it that leave the end of their box where they cost least; in units of `2^-SHIFT`.
#[derive(Clone, Debug)]
pub struct Priced {
    total: i128,
    reduced: Vec<i128>,
}

impl Priced {
    /// No point that counts is below; the objective is an integer at these, so the bound is rounded up.
    pub fn bound(&self) -> i64 {
        rounded_up(self.total)
    }

    /// No point that counts, and in which a column of unit box is one, is below.
    pub fn bound_with(&self, column: usize) -> i64 {
        rounded_up(self.total.saturating_add(self.reduced[column].max(0)))
    }

    /// The same of points in which the column is zero.
    pub fn bound_without(&self, column: usize) -> i64 {
        rounded_up(self.total.saturating_sub(self.reduced[column].min(0)))
    }
}

fn rounded_up(total: i128) -> i64 {
    let (floor, rest) = (total >> SHIFT, total & ((1 << SHIFT) - 1));
    let bound = floor + i128::from(rest > 0);
    i64::try_from(bound).unwrap_or(if bound < 0 { i64::MIN } else { i64::MAX })
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

#[cfg(test)]
mod tests {
    use super::super::{LinearProgram, ONE, Relaxed};
    use super::*;

    /// Least `c` with `c >= 3 x + 5 y`, `x + y = 1` and `2 y >= 1`: 4 at `x = y = 1/2`.
    fn mixture() -> ExactProgram {
        let share = ExactColumn {
            unit: Unit::Share,
            lower: 0,
            upper: 1,
            reach: 1,
            cost: 0,
        };
        let time = ExactColumn {
            unit: Unit::Time,
            lower: 0,
            upper: 9,
            reach: 100,
            cost: 1,
        };
        let row = |terms: &[(usize, i64)], sense, right, unit| ExactRow {
            terms: terms.to_vec(),
            sense,
            right,
            unit,
        };
        ExactProgram {
            columns: vec![time, share, share],
            rows: vec![
                row(&[(0, 1), (1, -3), (2, -5)], Sense::AtLeast, 0, Unit::Time),
                row(&[(1, 1), (2, 1)], Sense::Equal, 1, Unit::Share),
                row(&[(2, 2)], Sense::AtLeast, 1, Unit::Share),
            ],
        }
    }

    #[test]
    fn the_multipliers_of_an_optimum_prove_it() {
        let program = mixture();
        let (_, found) = LinearProgram::new(&program)
            .unwrap()
            .solve(100, None)
            .unwrap();
        assert_eq!(found.status, Relaxed::Optimal);
        assert!((found.values[0] - 4 * ONE).abs() <= 1);
        assert_eq!(program.bound(&found.multipliers), Some(4));
    }

    #[test]
    fn a_row_that_is_added_counts_in_the_next_solve() {
        let mut program = mixture();
        let (mut linear, _) = LinearProgram::new(&program)
            .unwrap()
            .solve(100, None)
            .unwrap();
        let row = ExactRow {
            terms: vec![(2, 4)],
            sense: Sense::AtLeast,
            right: 3,
            unit: Unit::Share,
        };
        linear.add(&row).unwrap();
        program.rows.push(row);
        let (linear, found) = linear.solve(100, None).unwrap();
        assert_eq!(linear.rows(), 4);
        // 3/4 + 15/4 = 4.5, and no integer below 5 is at least that.
        assert_eq!(program.bound(&found.multipliers), Some(5));
    }

    #[test]
    fn multipliers_that_are_no_optimum_prove_less_and_forbidden_ones_nothing() {
        let program = mixture();
        let unit = 1_i128 << SHIFT;
        assert_eq!(program.bound(&[]), Some(0));
        assert_eq!(program.bound(&[unit, 3 * unit, 0]), Some(3));
        // A negative multiplier of an inequality would turn it round.
        assert_eq!(program.bound(&[-unit, 0, -5 * unit]), Some(0));
        // Wild ones are valid as well.
        assert!(program.bound(&[7 * unit, 40 * unit, 90 * unit]).unwrap() <= 4);
    }

    #[test]
    fn a_program_of_whole_choices_keeps_its_times_exact() {
        let program = mixture();
        let scale = Scale::new([1], 9, 2).unwrap();
        let model = program.to_model(&scale, |column| column == 2);
        let limits = super::super::Limits::counted(std::num::NonZeroU32::MAX);
        let outcome = super::super::solve(&model, &scale, None, &limits).unwrap();
        assert_eq!(scale.lower_bound(outcome.bound), 5);
        let values = program.to_fixed(&scale, &outcome.incumbent.unwrap().values);
        assert_eq!(values, [5 * ONE, 0, ONE]);
        assert!(program.violations(&[5, 0, 1]).is_empty());
        assert_eq!(program.violations(&[4, 0, 1]).len(), 1);
    }
}
