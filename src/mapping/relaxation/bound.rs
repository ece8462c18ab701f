//! The destructive bound: a horizon below which the relaxation is empty is no makespan.
//!
//! Windows shrink with the horizon, so a relaxation that says little of all schedules may refute the short ones.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::rc::Rc;

use paracompile_plan::Nanoseconds;

use crate::mapping::{Budget, Problem, enough};

use super::cuts::Cut;
use super::ground::{Ground, signed};
use super::orders::Pair;
use super::spans::Span;
use super::trials::Search;
use super::windows::Windows;

/// Larger times do not fit the fixed point of relaxed values.
const LARGEST: u64 = 1 << 40;

/// Pairs of operators and processors of the largest problem: one solve of a larger program takes minutes.
const MOST_PAIRS: usize = 4_000;

/// Of the interval that is left, a trial takes this many tenths.
const TENTHS: i64 = 3;

/// How much counted work a bound may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Rounds of rows for each horizon, over all its windows.
    pub rounds: u32,
    /// Horizons that the linear program tries after the first, which is one below the known makespan.
    pub trials: u32,
    /// Pairs that may be probed one after another without excluding one.
    pub probes: u32,
    /// Branch-and-bound nodes of each integer program; none without.
    pub nodes: Option<NonZeroU32>,
    /// Horizons that the integer program tries.
    pub refutations: u32,
    /// How often each of these gets rows and orders that its point violates, and is solved again.
    pub repairs: u32,
    /// A bound whose gap to the known makespan is at most this, in millionths, is good enough.
    pub gap_millionths: u32,
}

/// Bounds that are known before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floor {
    /// No schedule takes less.
    pub bound: Nanoseconds,
    /// No schedule takes less, by integer arithmetic alone.
    pub certified: Nanoseconds,
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

/// Raises `floor` towards `known`, the makespan of a schedule.
///
/// Problems of more than 4,000 pairs of operators and processors, or of times of more than 2^40 ns, keep the floor.
pub fn relaxation_bound(
    problem: &Problem,
    known: Nanoseconds,
    floor: Floor,
    work: Work,
    budget: Budget<'_>,
) -> Relaxed {
    let is_settled = floor.bound >= enough(known, work.gap_millionths);
    // What is stated before the first program is solved takes a second for the largest problems.
    if is_settled || budget.should_stop() {
        return floor.as_it_is();
    }
    Relaxation::new(problem).map_or(floor.as_it_is(), |mut relaxation| {
        relaxation.raise(known, floor, work, budget)
    })
}

impl Floor {
    /// A bound that rests on integer arithmetic alone.
    pub const fn certain(bound: Nanoseconds) -> Self {
        Self {
            bound,
            certified: bound,
        }
    }

    fn as_it_is(self) -> Relaxed {
        Relaxed {
            bound: self.bound,
            certified: self.certified,
            bound_by: None,
            certified_by: None,
        }
    }
}

/// The relaxation of a problem, with all that was learned about it.
pub struct Relaxation<'a> {
    pub(super) ground: Rc<Ground<'a>>,
    /// No schedule is shorter.
    pub(super) low: i64,
    /// The same by integer arithmetic alone.
    pub(super) certified: i64,
    /// The makespan of a schedule.
    pub(super) high: i64,
    /// Nobody asks for a higher bound.
    pub(super) enough: i64,
    /// What raised `low` last.
    pub(super) raised_by: Option<RaisedBy>,
    /// The lower end at which the linear program was last at its wits' end.
    pub(super) settled: Option<i64>,
    /// Rows with a multiplier at the end of the last horizon.
    pub(super) active: BTreeSet<Cut>,
    /// Rows of the last horizon.
    pub(super) present: BTreeSet<Cut>,
    /// Rows that points of the integer program violated, and orders that they left open.
    pub(super) repairs: BTreeSet<Cut>,
    pub(super) decided: BTreeSet<Pair>,
    /// The largest horizon for which a pair of operator and processor is known to be in no schedule.
    pub(super) out_below: Vec<Vec<i64>>,
}

impl std::fmt::Debug for Relaxation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Relaxation")
            .field("low", &self.low)
            .field("high", &self.high)
            .finish_non_exhaustive()
    }
}

impl<'a> Relaxation<'a> {
    /// Nothing is learned yet; `None` for problems that are too large or have nothing to be decided.
    pub fn new(problem: &'a Problem) -> Option<Self> {
        let pairs = problem.operators.len() * problem.homes.len();
        if pairs > MOST_PAIRS || problem.operators.len() < 2 {
            return None;
        }
        Some(Self {
            ground: Rc::new(Ground::new(problem)),
            low: 0,
            certified: 0,
            high: 0,
            enough: 0,
            raised_by: None,
            settled: None,
            active: BTreeSet::new(),
            present: BTreeSet::new(),
            repairs: BTreeSet::new(),
            decided: BTreeSet::new(),
            out_below: vec![vec![i64::MIN; problem.homes.len()]; problem.operators.len()],
        })
    }

    /// Raises `floor` towards `known`, the makespan of a schedule.
    pub fn raise(
        &mut self,
        known: Nanoseconds,
        floor: Floor,
        work: Work,
        budget: Budget<'_>,
    ) -> Relaxed {
        let enough = enough(known, work.gap_millionths);
        if known.count() >= LARGEST || floor.bound >= enough {
            return floor.as_it_is();
        }
        self.high = signed(known.count());
        self.enough = signed(enough.count());
        self.certified = self.certified.max(signed(floor.certified.count()));
        self.low = self.low.max(signed(floor.bound.count()));
        self.raised_by = None;
        // Rows and windows build on the bound that they start from.
        let is_certified = self.low == self.certified;
        let mut turn = Search {
            relaxation: self,
            work,
            budget,
        };
        turn.linear();
        let certified_by = turn.relaxation.raised_by.filter(|_| is_certified);
        if is_certified {
            turn.relaxation.certified = turn.relaxation.low;
        }
        turn.integer();
        Relaxed {
            bound: unsigned(self.low),
            certified: unsigned(self.certified),
            bound_by: self.raised_by,
            certified_by,
        }
    }

    /// Whether a bound refutes the horizon, or nobody asks for more.
    pub(super) fn is_enough(&self, bound: i64, horizon: i64) -> bool {
        bound > horizon || bound >= self.enough
    }

    /// A horizon not far above what is refuted, below one that could not be.
    pub(super) fn between(&self, open: i64) -> i64 {
        self.low + (open - self.low) * TENTHS / 10
    }

    pub(super) fn windows(&self, horizon: i64) -> Option<Windows> {
        Windows::below(&self.ground, horizon, |i, p| {
            self.out_below[i][p] >= horizon
        })
    }

    /// Rows that held the bound of the last horizon, or at first those of the whole stage.
    pub(super) fn first_cuts(&self) -> Vec<Cut> {
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
