//! Trial horizons: rows are added to the relaxation of each until it is empty or they help no more.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::mapping::Budget;
use crate::milp::{LinearProgram, MilpError, Priced, Relaxed as LinearStatus};

use super::bound::{RaisedBy, Relaxation, Work};
use super::cuts::Cut;
use super::separate::{Point, separate};
use super::statement::Statement;

/// Simplex iterations between two questions whether to stop.
const SLICE: u32 = 5_000;

/// Rounds that raise the bound by less than a [`STALL`]th of the horizon before a horizon is left.
const STALLED: u32 = 4;
const STALLED_AT_FLOOR: u32 = 12;
const STALL: i64 = 5_000;

/// A trial that is closer to the bound than a [`CLOSE`]th of the makespan is not worth it.
const CLOSE: i64 = 2_000;

/// Pairs that are out, from which on windows are worth computing again before more are probed.
const WORTH_A_ROUND: usize = 10;

/// A relaxation to which rows were added while they helped.
pub(super) struct Tight {
    /// The best certified bound.
    pub(super) bound: i64,
    /// What proves it.
    proof: Option<Priced>,
    program: Option<LinearProgram>,
}

/// One turn of work on a relaxation.
pub(super) struct Search<'s, 'a> {
    pub(super) relaxation: &'s mut Relaxation<'a>,
    pub(super) work: Work,
    pub(super) budget: Budget<'s>,
}

impl Search<'_, '_> {
    /// Horizons by the linear program, unless it was at its wits' end with this bound before.
    pub(super) fn linear(&mut self) {
        if self.relaxation.settled == Some(self.relaxation.low) {
            return;
        }
        let by = [RaisedBy::LinearProgram, RaisedBy::LinearTrial];
        let trials = self.work.trials.saturating_add(1);
        self.bisect(trials, self.relaxation.high - 1, by, Self::linear_below);
        if !self.budget.should_stop() {
            self.relaxation.settled = Some(self.relaxation.low);
        }
    }

    /// Horizons by the integer program, if it may have nodes.
    pub(super) fn integer(&mut self) {
        let Some(nodes) = self.work.nodes else {
            return;
        };
        let by = [RaisedBy::IntegerProgram, RaisedBy::IntegerTrial];
        let first = self.relaxation.between(self.relaxation.high);
        self.bisect(self.work.refutations, first, by, |search, trial| {
            search.integer_below(trial, nodes)
        });
    }

    /// Tries horizons, ever closer to what is refuted; what raises the bound is its value, or that a horizon is empty.
    fn bisect(
        &mut self,
        trials: u32,
        first: i64,
        [by_value, by_trial]: [RaisedBy; 2],
        mut bound_below: impl FnMut(&mut Self, i64) -> Result<i64, MilpError>,
    ) {
        let mut trial = first;
        let mut open = self.relaxation.high;
        for _ in 0..trials {
            let is_over = self.relaxation.low >= open.min(self.relaxation.enough);
            if is_over || self.budget.should_stop() {
                break;
            }
            // Trouble in the solver leaves the bound as it is: no bound is lost by not raising it.
            let Ok(found) = bound_below(self, trial) else {
                break;
            };
            let (low, by) = if found > trial {
                (trial + 1, by_trial)
            } else {
                open = open.min(trial);
                (found, by_value)
            };
            if low > self.relaxation.low {
                self.relaxation.low = low;
                self.relaxation.raised_by = Some(by);
            }
            trial = self.relaxation.between(open);
            if trial <= self.relaxation.low + self.relaxation.high / CLOSE {
                break;
            }
        }
    }

    /// A bound on every schedule that fits the horizon, certified; above the horizon there is none.
    pub(super) fn linear_below(&mut self, horizon: i64) -> Result<i64, MilpError> {
        let ground = Rc::clone(&self.relaxation.ground);
        let mut best = self.relaxation.low;
        let mut rounds = self.work.rounds;
        loop {
            let Some(windows) = self.relaxation.windows(horizon) else {
                return Ok(horizon + 1);
            };
            let mut statement = Statement::new(&ground, &windows, self.relaxation.low);
            let tight = self.tighten(&mut statement, &mut rounds)?;
            best = best.max(tight.bound);
            if self.relaxation.is_enough(best, horizon) || self.budget.should_stop() {
                return Ok(best);
            }
            let Some(proof) = tight.proof else {
                return Ok(best);
            };
            let mut dropped = self.drop_costly_pairs(&statement, &proof);
            if let Some(program) = tight.program
                && self.work.probes > 0
                && dropped < WORTH_A_ROUND
            {
                dropped += self.probe(&mut statement, program, &proof)?;
            }
            if dropped == 0 || rounds == 0 {
                return Ok(best);
            }
        }
    }

    /// Solves the relaxation, adds the rows that its point violates, and so on; the best certified bound, and what proves it.
    pub(super) fn tighten(
        &mut self,
        statement: &mut Statement<'_>,
        rounds: &mut u32,
    ) -> Result<Tight, MilpError> {
        let windows = statement.windows;
        let horizon = windows.horizon;
        let base = statement.program.rows.len();
        let mut cuts: Vec<Cut> = Vec::new();
        let mut present = BTreeSet::new();
        let mut wanted = self.relaxation.first_cuts();
        let mut linear: Option<LinearProgram> = None;
        let mut best = self.relaxation.low;
        let mut own = i64::MIN;
        let mut proof = None;
        let mut stalled = 0;
        while *rounds > 0 {
            *rounds -= 1;
            for cut in wanted.drain(..).filter(|&cut| present.insert(cut)) {
                let row = cut.row(statement, self.relaxation.low);
                if let Some(row) = row {
                    cuts.push(cut);
                    statement.program.rows.push(row);
                }
            }
            let mut program = match linear.take() {
                Some(program) => program,
                None => LinearProgram::new(&statement.program)?,
            };
            for row in &statement.program.rows[program.rows()..] {
                program.add(row)?;
            }
            let suggestion = loop {
                let (next, suggestion) = program.solve(SLICE, self.budget.left())?;
                program = next;
                let is_over = suggestion.status != LinearStatus::Unfinished;
                if is_over || self.budget.should_stop() {
                    break suggestion;
                }
            };
            let priced = statement.program.priced(&suggestion.multipliers);
            // Rows may need a while to reach what is known already.
            let bound = priced.as_ref().map_or(own, Priced::bound);
            let gain = bound.saturating_sub(own);
            if gain >= 0 {
                own = bound;
                proof = priced.or(proof);
            }
            best = best.max(own);
            if suggestion.status == LinearStatus::Optimal {
                self.relaxation.active = cuts
                    .iter()
                    .zip(&suggestion.multipliers[base..])
                    .filter(|&(_, &multiplier)| multiplier > 0)
                    .map(|(&cut, _)| cut)
                    .collect();
            }
            stalled = if gain < horizon / STALL {
                stalled + 1
            } else {
                0
            };
            // At the floor the program has nothing to minimise, and rows work unseen; a quick look does not wait for them.
            let patience = if own > self.relaxation.low || self.work.trials < 2 {
                STALLED
            } else {
                STALLED_AT_FLOOR
            };
            let is_over = self.relaxation.is_enough(best, horizon) || stalled >= patience;
            if suggestion.status != LinearStatus::Optimal || is_over || self.budget.should_stop() {
                linear = Some(program);
                break;
            }
            let point = Point::new(statement, &suggestion.values);
            wanted = separate(
                &point,
                self.relaxation.low,
                &present,
                windows.time.len().max(100),
            );
            linear = Some(program);
            if wanted.is_empty() {
                break;
            }
        }
        self.relaxation.present = present;
        Ok(Tight {
            bound: best,
            proof,
            program: linear,
        })
    }
}
