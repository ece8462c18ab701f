//! A mixed-integer linear program to be minimised: variables with bounds, named rows, an objective.
//!
//! Rows are kept as data, so that a known point can be checked against them without a solver.

use std::fmt;

/// A variable of one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variable(usize);

impl Variable {
    /// Its place in a vector of values.
    pub const fn index(self) -> usize {
        self.0
    }
}

/// A linear expression.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Linear {
    terms: Vec<(Variable, f64)>,
    constant: f64,
}

impl Linear {
    /// Zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `coefficient · variable`.
    #[must_use]
    pub fn plus(mut self, coefficient: f64, variable: Variable) -> Self {
        self.terms.push((variable, coefficient));
        self
    }

    /// Adds a number.
    #[must_use]
    pub fn plus_constant(mut self, constant: f64) -> Self {
        self.constant += constant;
        self
    }

    /// Adds `factor · other`.
    #[must_use]
    pub fn plus_scaled(mut self, factor: f64, other: &Self) -> Self {
        self.terms.extend(
            other
                .terms
                .iter()
                .map(|&(variable, coefficient)| (variable, factor * coefficient)),
        );
        self.constant += factor * other.constant;
        self
    }

    /// Its value at a point.
    pub fn evaluate(&self, values: &[f64]) -> f64 {
        self.terms
            .iter()
            .fold(self.constant, |sum, &(variable, coefficient)| {
                sum + coefficient * values[variable.0]
            })
    }

    /// Terms with one coefficient a variable, by variable, without zeros.
    fn collected(mut self) -> Self {
        self.terms.sort_by_key(|&(variable, _)| variable);
        let mut terms: Vec<(Variable, f64)> = Vec::with_capacity(self.terms.len());
        for (variable, coefficient) in self.terms {
            match terms.last_mut() {
                Some((last, sum)) if *last == variable => *sum += coefficient,
                Some(_) | None => terms.push((variable, coefficient)),
            }
        }
        terms.retain(|&(_, coefficient)| coefficient.abs() > 0.0);
        Self {
            terms,
            constant: self.constant,
        }
    }

    pub(super) fn terms(&self) -> &[(Variable, f64)] {
        &self.terms
    }

    pub(super) fn constant(&self) -> f64 {
        self.constant
    }
}

impl From<Variable> for Linear {
    fn from(variable: Variable) -> Self {
        Self::new().plus(1.0, variable)
    }
}

/// Whether a variable must be a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Domain {
    Continuous,
    Integer,
}

#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) lower: f64,
    pub(super) upper: f64,
    pub(super) domain: Domain,
}

/// How a row's expression relates to zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    AtLeastZero,
    Zero,
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    name: String,
    pub(super) expression: Linear,
    pub(super) relation: Relation,
}

/// A program to be minimised.
#[derive(Clone, Debug, Default)]
pub struct Model {
    columns: Vec<Column>,
    rows: Vec<Row>,
    objective: Linear,
}

impl Model {
    /// A program without variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// A variable that is zero or one.
    pub fn binary(&mut self) -> Variable {
        self.column(0.0, 1.0, Domain::Integer)
    }

    /// A variable between finite bounds.
    pub fn continuous(&mut self, lower: f64, upper: f64) -> Variable {
        self.column(lower, upper, Domain::Continuous)
    }

    /// Requires `left >= right`.
    pub fn require_at_least(&mut self, name: fmt::Arguments<'_>, left: Linear, right: &Linear) {
        self.row(name, left.plus_scaled(-1.0, right), Relation::AtLeastZero);
    }

    /// Requires `left = right`.
    pub fn require_equal(&mut self, name: fmt::Arguments<'_>, left: Linear, right: &Linear) {
        self.row(name, left.plus_scaled(-1.0, right), Relation::Zero);
    }

    /// Sets what is minimised.
    pub fn minimise(&mut self, objective: Linear) {
        self.objective = objective.collected();
    }

    /// How many variables there are.
    pub fn num_variables(&self) -> usize {
        self.columns.len()
    }

    /// How many rows there are.
    pub fn num_rows(&self) -> usize {
        self.rows.len()
    }

    /// Names of the rows, variables' bounds and domains that a point violates by more than `tolerance`; empty where it is feasible.
    pub fn violations(&self, values: &[f64], tolerance: f64) -> Vec<String> {
        let columns = self.columns.iter().zip(values).enumerate();
        let broken_columns = columns.filter_map(|(index, (column, &value))| {
            let fractional = match column.domain {
                Domain::Continuous => 0.0,
                Domain::Integer => (value - value.round()).abs(),
            };
            let outside = (column.lower - value).max(value - column.upper);
            (fractional.max(outside) > tolerance).then(|| format!("variable {index} = {value}"))
        });
        let broken_rows = self.rows.iter().filter_map(|row| {
            let value = row.expression.evaluate(values);
            let violation = match row.relation {
                Relation::AtLeastZero => -value,
                Relation::Zero => value.abs(),
            };
            (violation > tolerance).then(|| format!("{} by {violation}", row.name))
        });
        broken_columns.chain(broken_rows).collect()
    }

    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(super) fn objective(&self) -> &Linear {
        &self.objective
    }

    fn column(&mut self, lower: f64, upper: f64, domain: Domain) -> Variable {
        self.columns.push(Column {
            lower,
            upper,
            domain,
        });
        Variable(self.columns.len() - 1)
    }

    fn row(&mut self, name: fmt::Arguments<'_>, expression: Linear, relation: Relation) {
        self.rows.push(Row {
            name: name.to_string(),
            expression: expression.collected(),
            relation,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_variables_are_added_up_and_zeros_vanish() {
        let mut model = Model::new();
        let (a, b) = (model.binary(), model.binary());
        let expression = Linear::from(b).plus(2.0, a).plus(-1.0, b).collected();
        assert_eq!(expression, Linear::new().plus(2.0, a));
    }

    #[test]
    fn violations_name_the_row_and_the_variable() {
        let mut model = Model::new();
        let a = model.binary();
        let b = model.continuous(0.0, 4.0);
        model.require_at_least(
            format_args!("cover"),
            Linear::from(a).plus(1.0, b),
            &Linear::new().plus_constant(3.0),
        );
        assert!(model.violations(&[1.0, 2.0], 1e-6).is_empty());
        assert_eq!(model.violations(&[0.0, 2.5], 1e-6), ["cover by 0.5"]);
        assert_eq!(
            model.violations(&[0.5, 5.0], 1e-6),
            ["variable 0 = 0.5", "variable 1 = 5"]
        );
    }
}
