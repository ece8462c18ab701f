//! The destructive bound: a horizon below which the relaxation is empty is no makespan.
//!
//! Windows shrink with the horizon, so a relaxation that says little of all schedules may refute the short ones.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use paracompile_plan::Nanoseconds;

use crate::mapping::{Budget, Problem, enough};
use crate::milp::{
    self, Limits, LinearProgram, MilpError, Relaxed as LinearStatus, Scale, Status, Watch,
};

use super::cuts::Cut;
use super::ground::{Ground, signed};
use super::separate::{Point, separate};
use super::spans::Span;
use super::statement::Statement;
use super::windows::Windows;

/// Larger times do not fit the fixed point of relaxed values.
const LARGEST: u64 = 1 << 40;

/// Pairs of operators and processors of the largest problem: one solve of a larger program takes minutes.
const MOST_PAIRS: usize = 4_000;

/// Simplex iterations between two questions whether to stop.
const SLICE: u32 = 5_000;

/// Rounds that raise the bound by less than a [`STALL`]th of the horizon before a horizon is left.
const STALLED: u32 = 4;
const STALL: i64 = 5_000;

/// Programs with whole assignments a horizon: after each, rows that its point violates are added.
const REPAIRS: u32 = 2;

/// Of the interval that is left, a trial takes this many tenths, and one that is closer to the bound than a [`CLOSE`]th of the makespan is not worth it.
const TENTHS: i64 = 3;
const CLOSE: i64 = 2_000;

/// How much counted work a bound may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Rounds of rows for each horizon.
    pub rounds: u32,
    /// Horizons that the linear program tries after the first, which is one below the known makespan.
    pub trials: u32,
    /// Branch-and-bound nodes of each integer program; none without.
    pub nodes: Option<NonZeroU32>,
    /// Horizons that the integer program tries.
    pub refutations: u32,
    /// A bound whose gap to the known makespan is at most this, in millionths, is good enough.
    pub gap_millionths: u32,
}

/// What a relaxation proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relaxed {
    /// No schedule takes less, by integer arithmetic and the word of the MILP solver.
    pub bound: Nanoseconds,
    /// No schedule takes less, by integer arithmetic alone.
    pub certified: Nanoseconds,
    /// What gave the bound; `None` where it is the one that was known before.
    pub bound_by: Option<RaisedBy>,
    /// What gave the certified one.
    pub certified_by: Option<RaisedBy>,
}

/// What raised a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RaisedBy {
    /// The value of the linear program with cuts.
    LinearProgram,
    /// No schedule fits a horizon, by the windows of operators or by the linear program.
    LinearTrial,
    /// The value of the integer program with cuts.
    IntegerProgram,
    /// No schedule fits a horizon, by the integer program.
    IntegerTrial,
}

impl RaisedBy {
    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LinearProgram => "cut LP",
            Self::LinearTrial => "destructive cut LP",
            Self::IntegerProgram => "cut MILP",
            Self::IntegerTrial => "destructive cut MILP",
        }
    }
}

/// Raises `floor`, a bound that is known, towards `known`, the makespan of a schedule.
///
/// Problems of more than 4,000 pairs of operators and processors, or of times of more than 2^40 ns, keep the floor.
pub fn relaxation_bound(
    problem: &Problem,
    known: Nanoseconds,
    floor: Nanoseconds,
    work: Work,
    budget: Budget<'_>,
) -> Relaxed {
    let mut relaxed = Relaxed {
        bound: floor,
        certified: floor,
        bound_by: None,
        certified_by: None,
    };
    let pairs = problem.operators.len() * problem.homes.len();
    let is_in_range = known.count() < LARGEST && (2..=MOST_PAIRS).contains(&pairs);
    let is_settled = floor >= enough(known, work.gap_millionths);
    // What is stated before the first program is solved takes a second for the largest problems.
    if !is_in_range || is_settled || problem.operators.len() < 2 || budget.should_stop() {
        return relaxed;
    }
    let ground = Ground::new(problem);
    let mut search = Search {
        ground: &ground,
        budget,
        rounds: work.rounds,
        low: signed(floor.count()),
        high: signed(known.count()),
        enough: signed(enough(known, work.gap_millionths).count()),
        raised_by: None,
        active: BTreeSet::new(),
        present: BTreeSet::new(),
    };
    let trials = work.trials.saturating_add(1);
    let linear = [RaisedBy::LinearProgram, RaisedBy::LinearTrial];
    search.bisect(trials, search.high - 1, linear, Search::linear_below);
    relaxed.certified = unsigned(search.low);
    relaxed.certified_by = search.raised_by;
    if let Some(nodes) = work.nodes {
        let first = search.between(search.high);
        let integer = [RaisedBy::IntegerProgram, RaisedBy::IntegerTrial];
        search.bisect(work.refutations, first, integer, |search, trial| {
            search.integer_below(trial, nodes)
        });
    }
    relaxed.bound = unsigned(search.low);
    relaxed.bound_by = search.raised_by;
    relaxed
}

struct Search<'a> {
    ground: &'a Ground<'a>,
    budget: Budget<'a>,
    rounds: u32,
    /// No schedule is shorter.
    low: i64,
    /// The makespan of a schedule.
    high: i64,
    /// Nobody asks for a higher bound.
    enough: i64,
    /// What raised `low` last.
    raised_by: Option<RaisedBy>,
    /// Rows with a multiplier at the end of the last horizon.
    active: BTreeSet<Cut>,
    /// Rows of the last horizon.
    present: BTreeSet<Cut>,
}

impl Search<'_> {
    /// A horizon not far above what is refuted, below one that could not be.
    fn between(&self, open: i64) -> i64 {
        self.low + (open - self.low) * TENTHS / 10
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
        let mut open = self.high;
        for _ in 0..trials {
            let is_over = self.low >= open || self.low >= self.enough;
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
            if low > self.low {
                self.low = low;
                self.raised_by = Some(by);
            }
            trial = self.between(open);
            if trial <= self.low + self.high / CLOSE {
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
        let remaining = move || budget.remaining();
        let limits = Limits {
            nodes,
            watch: Watch::Asked(&remaining),
        };
        let scale = Scale::new([1], self.high.unsigned_abs(), windows.time.len() + 1)?;
        let mut is_choice = vec![false; statement.program.columns.len()];
        for &x in statement.x.iter().flatten().flatten() {
            is_choice[x] = true;
        }
        let mut present = self.present.clone();
        for _ in 0..REPAIRS {
            if bound > horizon || bound >= self.enough || self.budget.should_stop() {
                break;
            }
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
        for _ in 0..self.rounds {
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
                let (next, suggestion) = program.solve(SLICE, self.budget.left())?;
                program = next;
                let is_over = suggestion.status != LinearStatus::Unfinished;
                if is_over || self.budget.should_stop() {
                    break suggestion;
                }
            };
            let bound = statement.program.bound(&suggestion.multipliers);
            let gain = bound.unwrap_or(best) - best;
            best = best.max(bound.unwrap_or(best));
            if suggestion.status == LinearStatus::Optimal {
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
            let is_over = best > horizon || best >= self.enough || stalled >= STALLED;
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

fn unsigned(time: i64) -> Nanoseconds {
    Nanoseconds::new(u64::try_from(time).unwrap_or(0))
}
