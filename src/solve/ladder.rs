//! The ladder for a whole problem: list schedules, exact blocks between gates, then search and bounds by turns.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::time::Duration;

use paracompile_plan::Nanoseconds;
use paracompile_plan::plan::StoppedBy;

use super::judge::Placed;
use super::{Answer, Instance, Method, Progress, Request, SolveError, judge};
use crate::mapping::decompose::{Evidence, Rung, Settled, block_count, series};
use crate::mapping::exact::{self, solve_exactly};
use crate::mapping::fine::{self, FineError, Formulation, Settings};
use crate::mapping::frontier::{self, Coverage, Reached};
use crate::mapping::{
    self, Budget, Effort, Floor, ListRule, Problem, RaisedBy, Relaxation, Search, Solution, Work,
    improve, lower_bound, relaxation_bound, schedule, single,
};
use crate::milp::{Limits, Remaining, Watch};

/// Solves an instance; the answer is judged from the instance alone.
pub fn solve(instance: &Instance, request: &Request<'_>) -> Result<Answer, SolveError> {
    let problem = instance.problem();
    let mut ladder = Ladder::new(&problem, request)?;
    match request.method {
        Method::Auto => ladder.climb()?,
        Method::Frontier => ladder.frontier()?,
        Method::Exact => ladder.exact()?,
        Method::Milp => ladder.program(Formulation::Strengthened)?,
        Method::BigM => ladder.program(Formulation::Plain)?,
        Method::LocalSearch => match request.left {
            Some(left) => ladder.timed_turns(left, false)?,
            None => ladder.search(),
        },
        Method::List(_) => {}
    }
    ladder.answer(instance)
}

/// Any number; that it is fixed makes runs repeatable.
const SEED: u64 = 20_260_904;

/// Moves of the search that measures itself.
const FIRST_MOVES: u64 = 40_000;

/// What a turn of the search takes of the time that is left.
const SHARE_OF_SEARCH: f64 = 0.35;

/// What the exact search of the whole may take of the time, and then that of the blocks.
const SHARE_OF_EXACT: f64 = 0.25;
const SHARE_OF_SERIES: f64 = 0.4;

/// What the bounds take of the time that is left behind a turn of the search.
const SHARE_OF_BOUNDS: f64 = 0.85;

/// Bounds until the clock ends them.
const EVERYTHING: Work = Work {
    rounds: 200,
    trials: 12,
    probes: 24,
    nodes: NonZeroU32::new(20000),
    refutations: 8,
    repairs: 40,
    gap_millionths: 0,
};

/// Bounds of a block between gates in a turn of it, if the clock ends them.
const fn work_of_turn(turn: u32) -> Work {
    Work {
        rounds: if turn == 0 { 60 } else { 200 },
        trials: if turn == 0 { 3 } else { 12 },
        probes: 24,
        nodes: None,
        refutations: 0,
        repairs: 0,
        gap_millionths: 0,
    }
}

/// Turns of a block, if the clock ends them.
const TURNS: u32 = 2;

/// Programs of blocks with more pairs of operators and processors take as long as those of the whole.
const MOST_PAIRS_OF_BLOCK: usize = 450;

/// Bounds by counted work.
const fn work(effort: Effort) -> Work {
    let (rounds, trials, probes, nodes, refutations) = match effort {
        Effort::Quick => (10, 0, 0, None, 0),
        Effort::Normal => (40, 3, 24, None, 0),
        Effort::Thorough => (100, 10, 24, NonZeroU32::new(1000), 4),
    };
    let repairs = 4;
    Work {
        rounds,
        trials,
        probes,
        nodes,
        refutations,
        repairs,
        gap_millionths: 0,
    }
}

/// Moves a second.
#[expect(clippy::cast_precision_loss, reason = "a speed is an estimate")]
fn per_second(moves: u64, taken: Duration) -> f64 {
    moves as f64 / taken.as_secs_f64().max(1e-3)
}

/// Moves that fit into a time, a little less.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate above zero"
)]
fn moves_in(time: Duration, speed: f64) -> u64 {
    (0.95 * time.as_secs_f64() * speed).max(1000.0) as u64
}

/// What is known so far.
struct Ladder<'a> {
    problem: &'a Problem,
    request: &'a Request<'a>,
    solution: Solution,
    value: u64,
    found_by: String,
    bound: u64,
    certified: u64,
    bound_by: String,
}

impl<'a> Ladder<'a> {
    /// Starts with the best that is quick: the method's own rule, or the best list schedule.
    fn new(problem: &'a Problem, request: &'a Request<'a>) -> Result<Self, SolveError> {
        let rules = match request.method {
            Method::List(rule) => vec![rule],
            Method::Auto
            | Method::Frontier
            | Method::Exact
            | Method::Milp
            | Method::BigM
            | Method::LocalSearch => ListRule::ALL.to_vec(),
        };
        let by_rule = rules
            .iter()
            .filter_map(|rule| Some((rule.schedule(problem)?, rule.name())));
        let alone = (0..problem.homes.len())
            .filter(|_| !matches!(request.method, Method::List(_)))
            .filter_map(|processor| Some((single(problem, processor)?, "single")));
        let (value, solution, found_by) = by_rule
            .chain(alone)
            .map(|(solution, name)| (value_of(problem, &solution), solution, name))
            .min_by_key(|(value, _, _)| *value)
            .ok_or_else(|| SolveError::Refuted("no list schedule".to_owned()))?;
        let bound = lower_bound(problem).count();
        let ladder = Self {
            problem,
            request,
            solution,
            value,
            found_by: found_by.to_owned(),
            bound,
            certified: bound,
            bound_by: "intervals".to_owned(),
        };
        ladder.tell();
        Ok(ladder)
    }

    fn climb(&mut self) -> Result<(), SolveError> {
        if self.is_done() {
            return Ok(());
        }
        let is_small = self.problem.operators.len() <= exact::LARGEST;
        if is_small {
            self.exact_at_first()?;
        }
        // A single block would be searched in the same way again.
        let is_searched = is_small && block_count(self.problem) == 1;
        if !self.is_done() && !is_searched {
            self.series()?;
        }
        match self.request.left {
            _ if self.is_done() => Ok(()),
            None => self.counted_turns(),
            Some(left) => self.timed_turns(left, true),
        }
    }

    /// Block by block between gates.
    fn series(&mut self) -> Result<(), SolveError> {
        let solved = self.within(SHARE_OF_SERIES, |ladder, budget| {
            let problem = ladder.problem;
            let effort = ladder.request.effort;
            // What is one block is the business of the turns that follow.
            let has_clock = ladder.request.left.is_some();
            let improve = |block: &Problem, known: Settled, turn: u32| {
                if block.operators.len() == problem.operators.len() {
                    return known;
                }
                let pairs = block.operators.len() * block.homes.len();
                let work = if has_clock {
                    (pairs <= MOST_PAIRS_OF_BLOCK).then(|| work_of_turn(turn))
                } else {
                    Some(work(effort))
                };
                let moves = if turn == 0 {
                    effort.moves(block.operators.len())
                } else {
                    0
                };
                by_turns(block, known, moves, work, budget)
            };
            let turns = if has_clock { TURNS } else { 1 };
            series(
                problem,
                effort,
                Rung {
                    improve: &improve,
                    turns,
                },
                budget,
            )
        });
        if let Some(solved) = solved {
            let place = if solved.blocks > 1 {
                " between gates"
            } else {
                ""
            };
            self.offer(solved.solution, &format!("{}{place}", solved.methods));
            let by = format!("{}{place}", names(&solved.evidence));
            self.raise(solved.certified.count(), true, &by)?;
            self.raise(solved.bound.count(), false, &by)?;
        }
        Ok(())
    }

    /// Search and bounds by counted work.
    fn counted_turns(&mut self) -> Result<(), SolveError> {
        self.search();
        if self.is_done() {
            return Ok(());
        }
        let Some(mut relaxation) = Relaxation::new(self.problem) else {
            return Ok(());
        };
        self.relax(&mut relaxation, 1.0, work(self.request.effort))
    }

    /// Search, and bounds if they are wanted, until the clock ends them.
    ///
    /// A first search says how fast it is, so that the next ones take their shares in one walk each: that finds more than several short ones.
    fn timed_turns(
        &mut self,
        left: &(dyn Fn() -> Duration + Sync),
        has_bounds: bool,
    ) -> Result<(), SolveError> {
        let problem = self.problem;
        let mut relaxation = Relaxation::new(problem).filter(|_| has_bounds);
        let mut search = Search::new(problem, self.solution.clone(), SEED);
        let mut speed = None;
        while !self.is_done() && self.stopped_by(None).is_none() {
            let share = if speed.is_some() {
                SHARE_OF_SEARCH
            } else {
                1.0
            };
            let moves = speed.map_or(FIRST_MOVES, |speed| moves_in(left().mul_f64(share), speed));
            let before = left();
            let target = Nanoseconds::new(self.bound);
            self.within(share, |_, budget| {
                search.round(moves, target, budget);
            });
            self.offer(search.best().clone(), Method::LocalSearch.name());
            if speed.is_none() {
                speed = Some(per_second(moves, before.saturating_sub(left())));
            } else if !self.is_done()
                && let Some(relaxation) = &mut relaxation
            {
                self.relax(relaxation, SHARE_OF_BOUNDS, EVERYTHING)?;
            }
        }
        Ok(())
    }

    /// Raises the bound by linear and integer programs, within a share of the time that is left.
    fn relax(
        &mut self,
        relaxation: &mut Relaxation<'_>,
        share: f64,
        work: Work,
    ) -> Result<(), SolveError> {
        let known = Nanoseconds::new(self.value);
        let floor = Floor {
            bound: Nanoseconds::new(self.bound),
            certified: Nanoseconds::new(self.certified),
        };
        let work = Work {
            gap_millionths: self.request.gap_millionths,
            ..work
        };
        let relaxed = self.within(share, |_, budget| {
            relaxation.raise(known, floor, work, budget)
        });
        // Where nothing gave a bound, it is the one that is known.
        let name = |by: Option<RaisedBy>| by.map_or("", RaisedBy::name);
        let by = name(relaxed.certified_by);
        self.raise(relaxed.certified.count(), true, by)?;
        self.raise(relaxed.bound.count(), false, name(relaxed.bound_by))
    }

    fn frontier(&mut self) -> Result<(), SolveError> {
        self.search();
        // With a clock the clock ends it, unless memory does.
        let states = match self.request.left {
            Some(_) => Effort::Thorough.states().max(self.request.effort.states()),
            None => self.request.effort.states(),
        };
        let found = self.within(1.0, |ladder, budget| {
            frontier::solve_from(
                ladder.problem,
                &[],
                Coverage::Required,
                std::slice::from_ref(&ladder.solution),
                states,
                budget,
            )
        });
        let found = found.ok_or_else(|| SolveError::Unsuitable {
            method: Method::Frontier.name(),
            why: format!(
                "{} operators; at most {} are supported",
                self.problem.operators.len(),
                frontier::LARGEST
            ),
        })?;
        let best = found.exits.into_iter().min_by_key(|exit| exit.objective);
        if let Some(best) = best {
            self.offer(best.solution, "frontier");
        }
        if found.reached != Reached::Schedules {
            let value = self.value;
            self.raise(value, true, "frontier")?;
        }
        Ok(())
    }

    /// What is small enough to be solved in one piece often is, before gates are looked at.
    fn exact_at_first(&mut self) -> Result<(), SolveError> {
        let found = self.within(SHARE_OF_EXACT, |ladder, budget| {
            improve(ladder.problem, &ladder.solution, FIRST_MOVES, budget)
        });
        self.offer(found, Method::LocalSearch.name());
        if !self.is_done() {
            self.solve_whole(SHARE_OF_EXACT, self.request.effort.exact_states())?;
        }
        Ok(())
    }

    fn exact(&mut self) -> Result<(), SolveError> {
        self.search();
        // With a clock the clock ends it.
        let states = match self.request.left {
            Some(_) => u64::MAX,
            None => self.request.effort.exact_states(),
        };
        if self.solve_whole(1.0, states)? {
            return Ok(());
        }
        Err(SolveError::Unsuitable {
            method: Method::Exact.name(),
            why: format!(
                "{} operators; at most {} are supported",
                self.problem.operators.len(),
                exact::LARGEST
            ),
        })
    }

    /// The exact search of the whole from the best so far; `false` where it is too large for that.
    fn solve_whole(&mut self, share: f64, states: u64) -> Result<bool, SolveError> {
        let found = self.within(share, |ladder, budget| {
            solve_exactly(ladder.problem, &ladder.solution, states, budget)
        });
        let Some(found) = found else {
            return Ok(false);
        };
        self.offer(found.value, Method::Exact.name());
        let bound = found.proof.bound(Nanoseconds::new(self.value));
        self.raise(bound.count(), true, Method::Exact.name())?;
        Ok(true)
    }

    fn program(&mut self, formulation: Formulation) -> Result<(), SolveError> {
        let nodes = match self.request.effort {
            Effort::Quick => 200,
            Effort::Normal => 5_000,
            Effort::Thorough => 200_000,
        };
        // With a clock the clock ends it.
        let nodes = if self.request.left.is_some() {
            NonZeroU32::MAX
        } else {
            NonZeroU32::new(nodes).unwrap_or(NonZeroU32::MIN)
        };
        let name = self.request.method.name();
        let settings = Settings {
            formulation,
            ..Settings::default()
        };
        let remaining = || match self.request.left {
            _ if (self.request.interrupted)() => Remaining::Nothing,
            None => Remaining::Unlimited,
            Some(left) if left().is_zero() => Remaining::Nothing,
            Some(left) => Remaining::Time(left()),
        };
        let limits = Limits {
            nodes,
            watch: Watch::Asked(&remaining),
        };
        let outcome = fine::solve_with(self.problem, &self.solution, &settings, &limits).map_err(
            |error| match &error {
                FineError::Contradiction { .. } | FineError::Start(_) => {
                    SolveError::Refuted(error.to_string())
                }
                FineError::Solver(why) => SolveError::Unsuitable {
                    method: name,
                    why: why.to_string(),
                },
            },
        )?;
        self.offer(outcome.solution, name);
        self.raise(outcome.bound.count(), false, name)
    }

    fn search(&mut self) {
        let moves = self.request.effort.moves(self.problem.operators.len());
        let found = self.within(1.0, |ladder, budget| {
            improve(ladder.problem, &ladder.solution, moves, budget)
        });
        self.offer(found, "local-search");
    }

    /// Runs `work` within a share of the time that is left.
    fn within<T>(&self, share: f64, work: impl FnOnce(&Self, Budget<'_>) -> T) -> T {
        let end = self.request.left.map(|left| left().mul_f64(1.0 - share));
        let stop = || self.stopped_by(end);
        let budget = Budget::until(&stop);
        let Some(left) = self.request.left else {
            return work(self, budget);
        };
        let left = || left().saturating_sub(end.unwrap_or_default());
        work(self, budget.with_clock(&left))
    }

    /// Why to stop, with `end` still left on the clock.
    fn stopped_by(&self, end: Option<Duration>) -> Option<StoppedBy> {
        if (self.request.interrupted)() {
            return Some(StoppedBy::Interrupt);
        }
        let left = self.request.left?;
        (left() <= end.unwrap_or_default()).then_some(StoppedBy::Time)
    }

    /// Whether value and bound are as near as is asked.
    fn is_done(&self) -> bool {
        let gap = u128::from(self.value - self.bound) * 1_000_000;
        gap <= u128::from(self.value) * u128::from(self.request.gap_millionths)
    }

    fn offer(&mut self, solution: Solution, found_by: &str) {
        let value = value_of(self.problem, &solution);
        if value < self.value {
            self.value = value;
            self.solution = solution;
            found_by.clone_into(&mut self.found_by);
            self.tell();
        }
    }

    /// A bound above a value is wrong, and nothing is built on it.
    fn raise(&mut self, bound: u64, is_certified: bool, by: &str) -> Result<(), SolveError> {
        if bound > self.value {
            return Err(SolveError::Refuted(format!(
                "{by} claims that no schedule is below {bound}, and there is one of {}",
                self.value
            )));
        }
        if is_certified {
            self.certified = self.certified.max(bound);
        }
        if bound > self.bound {
            self.bound = bound;
            by.clone_into(&mut self.bound_by);
            self.tell();
        }
        Ok(())
    }

    fn tell(&self) {
        (self.request.progress)(&Progress {
            value: self.value,
            bound: self.bound,
        });
    }

    fn answer(self, instance: &Instance) -> Result<Answer, SolveError> {
        let timings = schedule(self.problem, &self.solution).timings;
        let nowhere = Placed {
            processor: usize::MAX,
            start: 0,
        };
        let mut placed = vec![nowhere; timings.len()];
        for (index, timing) in timings.iter().enumerate() {
            placed[instance.operator(index)] = Placed {
                processor: self.solution.processors[index],
                start: timing.start.count(),
            };
        }
        let value = judge(instance, &placed)?;
        if value != self.value {
            return Err(SolveError::Refuted(format!(
                "the search claims {} and its schedule takes {value}",
                self.value
            )));
        }
        let stopped_by = match self.stopped_by(None) {
            _ if self.bound == value => StoppedBy::Complete,
            Some(reason) => reason,
            None if self.is_done() => StoppedBy::Gap,
            None => StoppedBy::Work,
        };
        let method = if self.found_by == self.bound_by {
            self.found_by
        } else {
            format!("{}, bound by {}", self.found_by, self.bound_by)
        };
        Ok(Answer {
            value,
            bound: self.bound,
            certified: self.certified.min(self.bound),
            method,
            stopped_by,
            placed,
        })
    }
}

/// What gave the bounds of blocks; that one operator is solved by looking at it needs no mention beside other blocks.
fn names(evidence: &BTreeSet<Evidence>) -> String {
    let is_told = |by: &&Evidence| evidence.len() == 1 || **by != Evidence::Single;
    let names: Vec<&str> = evidence
        .iter()
        .filter(is_told)
        .map(|by| by.name())
        .collect();
    names.join("+")
}

/// Search and bounds for a block between gates, by counted work.
fn by_turns(
    block: &Problem,
    mut known: Settled,
    moves: u64,
    work: Option<Work>,
    budget: Budget<'_>,
) -> Settled {
    let before = value_of(block, &known.solution);
    if moves > 0 {
        known.solution = improve(block, &known.solution, moves, budget);
    }
    let value = value_of(block, &known.solution);
    if value < before {
        known.found_by = mapping::Method::LocalSearch;
    }
    let Some(work) = work else {
        return known;
    };
    let floor = Floor {
        bound: known.bound,
        certified: known.certified,
    };
    let relaxed = relaxation_bound(block, Nanoseconds::new(value), floor, work, budget);
    known.certified = relaxed.certified;
    if let Some(by) = relaxed.bound_by {
        known.bound = relaxed.bound;
        known.bound_by = Evidence::Relaxation(by);
    }
    known
}

fn value_of(problem: &Problem, solution: &Solution) -> u64 {
    schedule(problem, solution).objective.makespan.count()
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    fn asked(method: Method) -> Request<'static> {
        Request {
            method,
            effort: Effort::Quick,
            gap_millionths: 0,
            interrupted: &|| false,
            left: None,
            progress: &|_| (),
        }
    }

    fn instance(name: &str) -> Instance {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/solver_tests/instances");
        let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
        read(&text, name, None).unwrap()
    }

    #[test]
    fn each_rung_is_named_by_what_it_gave() {
        for (name, method, expected) in [
            ("incC_p3", Method::Exact, "heft, bound by exact"),
            ("inc6_p3", Method::Auto, "exact"),
            (
                "incv3_p3",
                Method::Auto,
                "single+exact between gates, bound by intervals+exact between gates",
            ),
            (
                "petr1_p3",
                Method::LocalSearch,
                "local-search, bound by intervals",
            ),
            ("lay50_p3", Method::Auto, "local-search, bound by cut LP"),
            (
                "tf4_p3",
                Method::Auto,
                "single+exact between gates, bound by intervals+cut LP between gates",
            ),
        ] {
            let answer = solve(&instance(name), &asked(method)).unwrap();
            assert_eq!(answer.method, expected, "{name}");
            assert_eq!(answer.certified, answer.bound, "{name}");
        }
    }

    #[test]
    fn what_builds_on_the_word_of_a_solver_is_not_certified() {
        let instance = instance("lay50_p3");
        let problem = instance.problem();
        let request = asked(Method::Auto);
        let mut ladder = Ladder::new(&problem, &request).unwrap();
        let certified = ladder.certified;
        let claim = certified + 1;
        ladder.raise(claim, false, "a solver").unwrap();
        let mut relaxation = Relaxation::new(&problem).unwrap();
        ladder
            .relax(&mut relaxation, 1.0, work(Effort::Quick))
            .unwrap();
        assert!(ladder.bound >= claim);
        assert_eq!(ladder.certified, certified);
    }
}
