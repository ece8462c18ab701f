//! The destructive bound: a horizon below which the relaxation is empty is no makespan.
//!
//! Windows shrink with the horizon, so a relaxation that says little of all schedules may refute the short ones.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use paracompile_plan::Nanoseconds;

use crate::mapping::{Budget, Problem};
use crate::milp::{
    self, Limits, LinearProgram, MilpError, Relaxed as LinearStatus, Remaining, Scale, Watch,
};

use super::cuts::Cut;
use super::ground::Ground;
use super::separate::{Point, separate};
use super::spans::Span;
use super::statement::Statement;
use super::windows::Windows;

/// Larger times do not fit the fixed point of relaxed values.
const LARGEST: u64 = 1 << 40;

/// Simplex iterations between two questions whether to stop.
const SLICE: u32 = 5_000;

/// Rounds that raise the bound by less than a [`STALL`]th of the horizon before a horizon is left.
const STALLED: u32 = 4;
const STALL: i64 = 5_000;

/// Programs with whole assignments a horizon: after each, rows that its point violates are added.
const REPAIRS: u32 = 2;

/// Of the interval that is left, a trial takes this many tenths, and an interval of less than a [`CLOSE`]th is left alone.
const TENTHS: i64 = 3;
const CLOSE: i64 = 200;

/// How much counted work the bound may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Horizons that are tried, for the linear relaxation and again for whole assignments.
    pub trials: u32,
    /// Rounds of rows a horizon.
    pub rounds: u32,
    /// Simplex iterations of all linear programs.
    pub iterations: u32,
    /// Branch-and-bound nodes a horizon with whole assignments; zero for none.
    pub nodes: u32,
}

/// How the best bound came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelaxationMethod {
    /// No better than what was known.
    Known,
    /// Multipliers of the linear relaxation, in integers.
    Linear,
    /// The relaxation with whole assignments, by the solver's word.
    Integer,
}

/// A bound, and how much of it does not depend on the solver's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relaxed {
    /// No schedule is shorter.
    pub bound: Nanoseconds,
    /// The part that was proven in integers; at most `bound`.
    pub certified: Nanoseconds,
    /// Where `bound` comes from.
    pub method: RelaxationMethod,
}

/// Raises `floor`, a bound that is known, towards `known`, the makespan of a schedule.
pub fn relaxation_bound(
    problem: &Problem,
    known: Nanoseconds,
    floor: Nanoseconds,
    work: Work,
    budget: Budget<'_>,
) -> Relaxed {
    let mut best = Relaxed {
        bound: floor,
        certified: floor,
        method: RelaxationMethod::Known,
    };
    if known.count() >= LARGEST || floor >= known || problem.operators.len() < 2 {
        return best;
    }
    let ground = Ground::new(problem);
    let mut search = Search {
        ground: &ground,
        budget,
        work,
        iterations: work.iterations,
        low: signed(floor),
        high: signed(known),
        active: BTreeSet::new(),
        present: BTreeSet::new(),
    };
    search.bisect(search.high - 1, |search, trial| search.linear_below(trial));
    if search.low > signed(floor) {
        best = Relaxed {
            bound: unsigned(search.low),
            certified: unsigned(search.low),
            method: RelaxationMethod::Linear,
        };
    }
    if let Some(nodes) = NonZeroU32::new(work.nodes) {
        let first = search.between();
        search.bisect(first, |search, trial| search.integer_below(trial, nodes));
        if unsigned(search.low) > best.bound {
            best.bound = unsigned(search.low);
            best.method = RelaxationMethod::Integer;
        }
    }
    best
}

struct Search<'a> {
    ground: &'a Ground<'a>,
    budget: Budget<'a>,
    work: Work,
    /// Simplex iterations that are left.
    iterations: u32,
    /// No schedule is shorter.
    low: i64,
    /// The makespan of a schedule.
    high: i64,
    /// Rows with a multiplier at the end of the last horizon.
    active: BTreeSet<Cut>,
    /// Rows of the last horizon.
    present: BTreeSet<Cut>,
}

impl Search<'_> {
    /// A horizon not far above what is refuted.
    fn between(&self) -> i64 {
        self.low + (self.high - self.low) * TENTHS / 10
    }

    /// Tries horizons, ever closer to what is refuted.
    fn bisect(
        &mut self,
        first: i64,
        mut bound_below: impl FnMut(&mut Self, i64) -> Result<i64, MilpError>,
    ) {
        let mut trial = first;
        let mut open = self.high;
        for _ in 0..self.work.trials {
            if self.low >= open || self.budget.should_stop() {
                break;
            }
            // Trouble in the solver leaves the bound as it is: no bound is lost by not raising it.
            let Ok(found) = bound_below(self, trial) else {
                break;
            };
            if std::env::var("LPLOG").is_ok() {
                eprintln!(
                    "trial {trial}: {} -> {found}; gap {:.3}%",
                    self.low,
                    100.0 * (self.high - found.min(trial + 1)) as f64 / self.high as f64
                );
            } // PROBE
            if found > trial {
                self.low = self.low.max(trial + 1);
            } else {
                self.low = self.low.max(found);
                open = open.min(trial);
            }
            trial = self.low + (open - self.low) * TENTHS / 10;
            if trial <= self.low + self.high / (10 * CLOSE) {
                break;
            }
        }
    }

    /// A bound on every schedule that fits the horizon, certified; above the horizon there is none.
    fn linear_below(&mut self, horizon: i64) -> Result<i64, MilpError> {
        let Some(windows) = Windows::below(self.ground, horizon) else {
            return Ok(horizon + 1);
        };
        let mut statement = Statement::new(self.ground, &windows, self.low);
        self.tighten(&mut statement)
    }

    /// The same with whole assignments, by the solver's word.
    fn integer_below(&mut self, horizon: i64, nodes: NonZeroU32) -> Result<i64, MilpError> {
        let Some(windows) = Windows::below(self.ground, horizon) else {
            return Ok(horizon + 1);
        };
        let mut statement = Statement::new(self.ground, &windows, self.low);
        let mut bound = self.tighten(&mut statement)?;
        let budget = self.budget;
        let ask = move || {
            if budget.should_stop() {
                Remaining::Nothing
            } else {
                Remaining::Unlimited
            }
        };
        let limits = Limits {
            nodes,
            watch: Watch::Asked(&ask),
        };
        let scale = Scale::new([1], self.high.unsigned_abs(), windows.time.len() + 1)?;
        let mut is_choice = vec![false; statement.program.columns.len()];
        for &x in statement.x.iter().flatten().flatten() {
            is_choice[x] = true;
        }
        let mut present = self.present.clone();
        for _ in 0..REPAIRS {
            if bound > horizon || self.budget.should_stop() {
                break;
            }
            let model = statement
                .program
                .to_model(&scale, |column| is_choice[column]);
            let clock = std::time::Instant::now(); // PROBE
            let outcome = milp::solve(&model, &scale, None, &limits)?;
            if std::env::var("LPLOG").is_ok() {
                eprintln!(
                    "  integer {:?} {} -> {} inc {:?} rows {} {:.2}s",
                    outcome.status,
                    bound,
                    scale.lower_bound(outcome.bound),
                    outcome
                        .incumbent
                        .as_ref()
                        .map(|i| i.objective * 1.0 / scale.to_units(1)),
                    statement.program.rows.len(),
                    clock.elapsed().as_secs_f64()
                );
            } // PROBE
            if outcome.status == milp::Status::Infeasible {
                return Ok(horizon + 1);
            }
            bound = bound.max(super::ground::signed(scale.lower_bound(outcome.bound)));
            let Some(found) = outcome.incumbent else {
                break;
            };
            let values = statement.program.to_fixed(&scale, &found.values);
            let point = Point::new(&statement, &values);
            let wanted = separate(&point, self.low, &present, windows.time.len().max(100));
            if wanted.is_empty() {
                break;
            }
            for cut in wanted {
                present.insert(cut);
                let row = cut.row(&statement, self.low);
                statement.program.rows.extend(row);
            }
        }
        Ok(bound)
    }

    /// Solves the relaxation, adds the rows that its point violates, and so on; the best certified bound.
    fn tighten(&mut self, statement: &mut Statement<'_>) -> Result<i64, MilpError> {
        let windows = statement.windows;
        let horizon = windows.horizon;
        let base = statement.program.rows.len();
        let mut cuts: Vec<Cut> = Vec::new();
        let mut present = BTreeSet::new();
        let mut wanted = self.first_cuts();
        let mut linear: Option<LinearProgram> = None;
        let mut best = self.low;
        let mut stalled = 0;
        let clock = std::time::Instant::now(); // PROBE
        for _ in 0..self.work.rounds {
            for cut in wanted.drain(..).filter(|&cut| present.insert(cut)) {
                let row = cut.row(statement, self.low);
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
                let slice = SLICE.min(self.iterations);
                self.iterations -= slice;
                let (next, suggestion) = program.solve(slice)?;
                program = next;
                let is_over = self.iterations == 0 || self.budget.should_stop();
                if suggestion.status != LinearStatus::Unfinished || is_over {
                    break suggestion;
                }
            };
            let bound = statement.program.bound(&suggestion.multipliers);
            let gain = bound.unwrap_or(best) - best;
            best = best.max(bound.unwrap_or(best));
            if std::env::var("LPLOG").is_ok() {
                eprintln!(
                    "  {:?}: rows {} + {} cols {} obj {:.1} stretch {:.2} certified {bound:?} {:.2}s",
                    suggestion.status,
                    base,
                    cuts.len(),
                    statement.program.columns.len(),
                    suggestion.values[statement.makespan] as f64 / 1048576.0,
                    suggestion.values[statement.stretch] as f64 / 1048576.0,
                    clock.elapsed().as_secs_f64()
                );
            } // PROBE
            if suggestion.multipliers.len() == base + cuts.len() {
                self.active = cuts
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
            let is_over = best > horizon || stalled >= STALLED || self.iterations == 0;
            if suggestion.status != LinearStatus::Optimal || is_over || self.budget.should_stop() {
                break;
            }
            let point = Point::new(statement, &suggestion.values);
            wanted = separate(&point, self.low, &present, windows.time.len().max(100));
            if wanted.is_empty() {
                break;
            }
            linear = Some(program);
        }
        self.present = present;
        Ok(best)
    }

    /// Rows that held the bound of the last horizon, or at first those of the whole stage.
    fn first_cuts(&self) -> Vec<Cut> {
        if !self.active.is_empty() {
            return self.active.iter().copied().collect();
        }
        let outgoing = self.ground.precedence.outgoing.iter().enumerate();
        let sinks = outgoing.filter(|(_, edges)| edges.is_empty());
        let ends = sinks.map(|(operator, _)| Cut::EndAfterTail { operator });
        let loads = (0..self.ground.processors)
            .map(|processor| Cut::LoadBetween(Span::whole(None, None, processor)));
        ends.chain(loads).collect()
    }
}

fn signed(time: Nanoseconds) -> i64 {
    super::ground::signed(time.count())
}

fn unsigned(time: i64) -> Nanoseconds {
    Nanoseconds::new(u64::try_from(time).unwrap_or(0))
}
