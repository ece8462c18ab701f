//! The fine mapping of one problem: shortest makespan first, then least energy, with a bound for both.

use paracompile_plan::{Nanojoules, Nanoseconds};

use crate::mapping::{Objective, Problem, Solution, schedule};
use crate::milp::{self, Limits, MilpError, Scale, Status};

use super::decode::decode;
use super::energy::{energy_scale, minimise_energy};
use super::error::{Claim, FineError, StartFault};
use super::plant::plant;
use super::precedence::Precedence;
use super::statement::Statement;
use super::windows::Windows;
use super::{order, plain};

/// Operators of the largest problem; the closure of precedence takes a byte for each pair of them.
const MOST_OPERATORS: usize = 4096;

/// What to solve, apart from the problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// How the problem is stated.
    pub formulation: Formulation,
    /// Where the last operator must run; anywhere if `None`.
    pub exit_processor: Option<usize>,
    /// What decides between schedules of the same makespan.
    pub tie_break: TieBreak,
}

/// How the problem is stated; the optimum is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Formulation {
    /// Windows, loads, linked transfers, and orders where they are open.
    #[default]
    Strengthened,
    /// Big-M over all parallel pairs: the reference.
    Plain,
}

/// What decides between schedules of the same makespan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TieBreak {
    /// Whatever is found.
    #[default]
    Any,
    /// The least dynamic energy, by a second solve under the makespan found.
    LeastEnergy,
}

/// A fine mapping and what is proven about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FineOutcome {
    /// The mapping.
    pub solution: Solution,
    /// What it reaches, computed anew in integers.
    pub objective: Objective,
    /// No mapping of the problem is shorter.
    pub bound: Nanoseconds,
    /// Whether the makespan is optimal: the bound reaches it.
    pub proven: bool,
    /// No mapping within this makespan takes less energy; `None` where that was not asked or the solver proved nothing.
    pub energy_bound: Option<Nanojoules>,
}

impl FineOutcome {
    /// Whether the energy is the least within the makespan.
    pub fn proves_energy(&self) -> bool {
        self.energy_bound == Some(self.objective.energy)
    }
}

/// Solves with the strengthened formulation for the makespan.
pub fn solve(
    problem: &Problem,
    start: &Solution,
    limits: &Limits<'_>,
) -> Result<FineOutcome, FineError> {
    solve_with(problem, start, &Settings::default(), limits)
}

/// Solves as `settings` say; the result is never worse than `start`.
pub fn solve_with(
    problem: &Problem,
    start: &Solution,
    settings: &Settings,
    limits: &Limits<'_>,
) -> Result<FineOutcome, FineError> {
    check_operators(problem)?;
    let precedence = Precedence::of(problem);
    check_rows(problem, &precedence)?;
    check_start(problem, start, &precedence, settings).map_err(FineError::Start)?;
    let mut outcome = FineOutcome {
        solution: start.clone(),
        objective: schedule(problem, start).objective,
        bound: Nanoseconds::ZERO,
        proven: false,
        energy_bound: None,
    };
    shorten(problem, &precedence, settings, limits, &mut outcome)?;
    match settings.tie_break {
        TieBreak::Any => {}
        TieBreak::LeastEnergy => save_energy(problem, &precedence, settings, limits, &mut outcome)?,
    }
    outcome.proven = outcome.bound == outcome.objective.makespan;
    Ok(outcome)
}

/// First objective: the makespan.
fn shorten(
    problem: &Problem,
    precedence: &Precedence,
    settings: &Settings,
    limits: &Limits<'_>,
    outcome: &mut FineOutcome,
) -> Result<(), FineError> {
    let reached = outcome.objective.makespan;
    let windows = windows(problem, precedence, settings, reached)?;
    outcome.bound = Nanoseconds::new(windows.path_bound());
    if outcome.bound < reached {
        let mut statement = Statement::new(problem, precedence, &windows)?;
        match settings.formulation {
            Formulation::Strengthened => {
                order::state(&mut statement);
                statement.minimise_makespan();
            }
            Formulation::Plain => plain::state(&mut statement),
        }
        let scale = statement.scale;
        let bound = improve(&statement, &scale, limits, outcome)?;
        outcome.bound = outcome.bound.max(Nanoseconds::new(bound));
    }
    if outcome.bound > outcome.objective.makespan {
        return Err(FineError::Contradiction {
            claim: Claim::Bound(outcome.bound),
            reached: outcome.objective.makespan,
        });
    }
    Ok(())
}

/// Second objective: the energy, within the makespan reached.
fn save_energy(
    problem: &Problem,
    precedence: &Precedence,
    settings: &Settings,
    limits: &Limits<'_>,
    outcome: &mut FineOutcome,
) -> Result<(), FineError> {
    let strengthened = Settings {
        formulation: Formulation::Strengthened,
        ..*settings
    };
    let ceiling = outcome.objective.makespan;
    let windows = windows(problem, precedence, &strengthened, ceiling)?;
    let mut statement = Statement::new(problem, precedence, &windows)?;
    order::state(&mut statement);
    let scale = energy_scale(problem)?;
    minimise_energy(&mut statement, &scale);
    let bound = Nanojoules::new(improve(&statement, &scale, limits, outcome)?);
    if bound > outcome.objective.energy {
        return Err(FineError::Contradiction {
            claim: Claim::Energy(bound),
            reached: outcome.objective.makespan,
        });
    }
    outcome.energy_bound = Some(bound);
    Ok(())
}

/// Solves a statement from the outcome's solution, keeps a better one, and returns the bound in the objective's own unit.
fn improve(
    statement: &Statement<'_>,
    scale: &Scale,
    limits: &Limits<'_>,
    outcome: &mut FineOutcome,
) -> Result<u64, FineError> {
    let problem = statement.problem;
    let planted = plant(
        statement,
        &outcome.solution,
        &schedule(problem, &outcome.solution),
    );
    debug_assert_eq!(
        statement.model.violations(&planted, 1e-6),
        Vec::<String>::new(),
        "a real schedule satisfies every row"
    );
    let result = milp::solve(&statement.model, scale, Some(&planted), limits)?;
    match result.status {
        Status::Infeasible => {
            return Err(FineError::Contradiction {
                claim: Claim::Infeasible,
                reached: outcome.objective.makespan,
            });
        }
        Status::Optimal | Status::NodeLimit | Status::Stopped => {}
    }
    let found = result
        .incumbent
        .and_then(|incumbent| decode(statement, &incumbent.values));
    if let Some(solution) = found {
        let objective = schedule(problem, &solution).objective;
        if objective < outcome.objective {
            outcome.solution = solution;
            outcome.objective = objective;
        }
    }
    Ok(scale.lower_bound(result.bound))
}

/// Possible pairs and their windows below what is reached, or below the serial horizon for the plain formulation.
fn windows(
    problem: &Problem,
    precedence: &Precedence,
    settings: &Settings,
    reached: Nanoseconds,
) -> Result<Windows, FineError> {
    let mut time: Vec<Vec<Option<u64>>> = problem
        .operators
        .iter()
        .map(|operator| {
            let times = operator.times.iter();
            times.map(|time| time.map(Nanoseconds::count)).collect()
        })
        .collect();
    if let (Some(exit), Some(last)) = (settings.exit_processor, time.last_mut()) {
        for (processor, time) in last.iter_mut().enumerate() {
            if processor != exit {
                *time = None;
            }
        }
    }
    let horizon = match settings.formulation {
        Formulation::Strengthened => reached.count(),
        Formulation::Plain => serial_horizon(problem),
    };
    // The start is a schedule within the horizon, so every operator fits somewhere.
    Windows::below(problem, precedence, time, horizon).ok_or(FineError::Contradiction {
        claim: Claim::Infeasible,
        reached,
    })
}

/// The length of the longest schedule without waiting for anything but inputs and processors: everything one after another.
fn serial_horizon(problem: &Problem) -> u64 {
    let work = problem.operators.iter().map(|operator| {
        let times = operator.times.iter().flatten();
        times.map(|time| time.count()).max().unwrap_or(0)
    });
    let moves = problem.tensors.iter().map(|tensor| {
        let moves = tensor.moves.iter().flatten().flatten();
        moves.map(|cost| cost.time.count()).max().unwrap_or(0)
    });
    work.chain(moves).fold(0, u64::saturating_add)
}

/// Refuses problems whose closure of precedence alone would take too much memory.
pub(crate) fn check_operators(problem: &Problem) -> Result<(), MilpError> {
    check_count("operators", problem.operators.len(), MOST_OPERATORS)
}

/// Refuses problems whose program would be too large, before it is built.
fn check_rows(problem: &Problem, precedence: &Precedence) -> Result<(), MilpError> {
    let processors = problem.homes.len();
    // One row a processor, one a direction and one for both.
    let orders = precedence
        .open_pairs()
        .count()
        .saturating_mul(processors + 3);
    let transfers = precedence
        .edges
        .len()
        .saturating_mul(processors * processors);
    check_count("rows", orders.saturating_add(transfers), milp::LARGEST)
}

fn check_count(what: &'static str, count: usize, limit: usize) -> Result<(), MilpError> {
    if count > limit {
        Err(MilpError::TooLarge { what, count, limit })
    } else {
        Ok(())
    }
}

fn check_start(
    problem: &Problem,
    start: &Solution,
    precedence: &Precedence,
    settings: &Settings,
) -> Result<(), StartFault> {
    let operators = problem.operators.len();
    if start.processors.len() != operators || start.sequence.len() != operators {
        return Err(StartFault::Length {
            processors: start.processors.len(),
            sequence: start.sequence.len(),
            operators,
        });
    }
    for (operator, &processor) in start.processors.iter().enumerate() {
        let times = &problem.operators[operator].times;
        if times.get(processor).copied().flatten().is_none() {
            return Err(StartFault::Unsupported {
                operator,
                processor,
            });
        }
    }
    let mut is_done = vec![false; operators];
    for &operator in &start.sequence {
        let is_new = is_done.get(operator).is_some_and(|done| !done);
        let is_ready = is_new
            && precedence.incoming[operator]
                .iter()
                .all(|&edge| is_done[precedence.edges[edge].from]);
        if !is_ready {
            return Err(StartFault::Order { operator });
        }
        is_done[operator] = true;
    }
    let unused = (0..problem.homes.len()).find(|&processor| {
        problem.must_use >> processor & 1 == 1 && !start.processors.contains(&processor)
    });
    if let Some(processor) = unused {
        return Err(StartFault::Unused { processor });
    }
    match (settings.exit_processor, start.processors.last()) {
        (Some(exit), Some(&last)) if exit != last => Err(StartFault::Exit { processor: exit }),
        (Some(_), Some(_)) | (None, _) | (_, None) => Ok(()),
    }
}
