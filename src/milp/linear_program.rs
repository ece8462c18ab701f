//! A linear program that grows: rows are added between solves, and each solve goes on from the basis of the one before.
//!
//! Nothing that it says is a proof; whoever needs one computes it from the multipliers in integers.

use std::time::Duration;

use highs::{ColProblem, HighsModelStatus, HighsSolutionStatus, Model, Sense};

use super::MilpError;
use super::solve::set;

/// A minimisation over variables with bounds, and rows `expression ≥ right`, or `= right`.
pub struct LinearProgram {
    /// Taken out while it is solved.
    model: Option<Model>,
    columns: Vec<highs::Col>,
}

/// Where a solve came to.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearOutcome {
    /// Value of each variable.
    pub values: Vec<f64>,
    /// Multiplier of each row, in the order in which they were added; not negative for inequalities, up to a tolerance.
    pub multipliers: Vec<f64>,
    /// Whether the solver calls the point optimal.
    pub is_optimal: bool,
}

impl std::fmt::Debug for LinearProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinearProgram")
            .field("columns", &self.columns.len())
            .finish_non_exhaustive()
    }
}

impl LinearProgram {
    /// A program without rows; each variable has a cost, a least and a largest value.
    pub fn new(variables: impl IntoIterator<Item = (f64, f64, f64)>) -> Result<Self, MilpError> {
        let refused = |status| MilpError::Failed {
            status: format!("{status:?}"),
        };
        let mut model = Model::try_new(ColProblem::default()).map_err(refused)?;
        model.set_sense(Sense::Minimise);
        set(&mut model, "output_flag", false)?;
        set(&mut model, "threads", 1)?;
        set(&mut model, "parallel", "off")?;
        set(&mut model, "solver", "simplex")?;
        let columns = variables
            .into_iter()
            .map(|(cost, least, most)| {
                model
                    .try_add_column(cost, least..=most, std::iter::empty())
                    .map_err(refused)
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            model: Some(model),
            columns,
        })
    }

    /// Adds a row.
    pub fn add(
        &mut self,
        terms: impl IntoIterator<Item = (usize, f64)>,
        right: f64,
        is_equality: bool,
    ) -> Result<(), MilpError> {
        let columns = &self.columns;
        let terms = terms
            .into_iter()
            .map(|(column, coefficient)| (columns[column], coefficient));
        let model = self.model.as_mut().ok_or_else(lost)?;
        let most = if is_equality { right } else { f64::INFINITY };
        model
            .try_add_row(right..=most, terms)
            .map(|_| ())
            .map_err(|status| MilpError::Refused {
                what: format!("a row ({status:?})"),
            })
    }

    /// Solves it, for at most this time.
    pub fn solve(&mut self, limit: Option<Duration>) -> Result<LinearOutcome, MilpError> {
        let mut model = self.model.take().ok_or_else(lost)?;
        // The clock of the solver runs on over solves.
        let seconds = limit.map_or(f64::INFINITY, |limit| limit.as_secs_f64());
        set(&mut model, "time_limit", seconds)?;
        let solved = model.try_solve().map_err(|status| MilpError::Failed {
            status: format!("{status:?}"),
        })?;
        let status = solved.status();
        let has_point = solved.primal_solution_status() != HighsSolutionStatus::None;
        let solution = solved.get_solution();
        let outcome = LinearOutcome {
            values: solution.columns().to_vec(),
            multipliers: solution.dual_rows().to_vec(),
            is_optimal: status == HighsModelStatus::Optimal && has_point,
        };
        self.model = Some(solved.into());
        Ok(outcome)
    }
}

fn lost() -> MilpError {
    MilpError::Failed {
        status: "lost in an earlier failure".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_added_between_solves_and_have_multipliers() {
        // min x + 2y, 0 <= x, y <= 10.
        let mut program = LinearProgram::new([(1.0, 0.0, 10.0), (2.0, 0.0, 10.0)]).unwrap();
        program.add([(0, 1.0), (1, 1.0)], 4.0, false).unwrap();
        let first = program.solve(None).unwrap();
        assert!(first.is_optimal && (first.values[0] - 4.0).abs() < 1e-9);
        program.add([(0, 1.0)], 3.0, true).unwrap();
        let second = program.solve(None).unwrap();
        assert!((second.values[1] - 1.0).abs() < 1e-9);
        assert!((second.multipliers[0] - 2.0).abs() < 1e-9);
        assert!((second.multipliers[1] + 1.0).abs() < 1e-9);
    }
}
