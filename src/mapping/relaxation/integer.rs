//! Trial horizons with whole assignments: an integer program that gets rows and orders where its point is no schedule.

use std::num::NonZeroU32;
use std::rc::Rc;

use crate::milp::{self, Limits, MilpError, Scale, Status, Watch};

use super::cuts::Cut;
use super::ground::signed;
use super::orders::{Pair, decide, overlaps};
use super::separate::{Point, separate};
use super::statement::Statement;
use super::trials::Search;

/// Orders that are decided behind each program with whole assignments, at most.
const MOST_ORDERS: usize = 20;

impl Search<'_, '_> {
    /// A bound on every schedule that fits the horizon, by the solver's word; above the horizon there is none.
    pub(super) fn integer_below(
        &mut self,
        horizon: i64,
        nodes: NonZeroU32,
    ) -> Result<i64, MilpError> {
        let Some(windows) = self.relaxation.windows(horizon) else {
            return Ok(horizon + 1);
        };
        let ground = Rc::clone(&self.relaxation.ground);
        let floor = self.relaxation.low;
        let mut statement = Statement::new(&ground, &windows, floor);
        let mut rounds = self.work.rounds;
        let mut bound = self.tighten(&mut statement, &mut rounds)?.bound;
        let budget = self.budget;
        let remaining = move || budget.remaining();
        let limits = Limits {
            nodes,
            watch: Watch::Asked(&remaining),
        };
        let count = windows.time.len();
        let mut is_choice = vec![false; statement.program.columns.len()];
        for &x in statement.x.iter().flatten().flatten() {
            is_choice[x] = true;
        }
        let mut wanted: Vec<Cut> = self.relaxation.repairs.iter().copied().collect();
        let mut open: Vec<Pair> = self.relaxation.decided.iter().copied().collect();
        let mut present = self.relaxation.present.clone();
        for _ in 0..=self.work.repairs {
            for cut in wanted.drain(..).filter(|&cut| present.insert(cut)) {
                let row = cut.row(&statement, floor);
                statement.program.rows.extend(row);
            }
            for pair in open.drain(..) {
                let y = decide(&mut statement, pair);
                is_choice.resize(y, false);
                is_choice.push(true);
            }
            if self.relaxation.is_enough(bound, horizon) || self.budget.should_stop() {
                break;
            }
            let scale = Scale::new([1], self.relaxation.high.unsigned_abs(), count + 1)?;
            let model = statement
                .program
                .to_model(&scale, |column| is_choice[column]);
            let outcome = milp::solve(&model, &scale, None, &limits)?;
            if outcome.status == Status::Infeasible {
                return Ok(horizon + 1);
            }
            bound = bound.max(signed(scale.lower_bound(outcome.bound)));
            let Some(found) = outcome.incumbent else {
                break;
            };
            let values = statement.program.to_fixed(&scale, &found.values);
            let point = Point::new(&statement, &values);
            wanted = separate(&point, floor, &present, count.max(100));
            open = overlaps(&statement, &point, &self.relaxation.decided, MOST_ORDERS);
            if wanted.is_empty() && open.is_empty() {
                break;
            }
            self.relaxation.repairs.extend(&wanted);
            self.relaxation.decided.extend(&open);
        }
        Ok(bound)
    }
}
