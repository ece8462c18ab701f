//! The coarse mapping of one problem: the outer branches first, then the nested ones on what is left free.

use paracompile_plan::Nanoseconds;

use crate::mapping::fine::{self, FineError, Settings, TieBreak};
use crate::mapping::{Objective, Problem, Solution, schedule};
use crate::milp::Limits;

use super::contract::{Contraction, contract};
use super::nested::{Level, NextLevel};
use super::{CoarseError, earliest_finish};

/// A branch of a fan-in block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoarseBranch {
    /// All its operators, those of nested branches included; none for a bypass.
    pub ops: Vec<usize>,
    /// Where it forks inside, the branches of the fan-in blocks in it.
    pub nested: Vec<CoarseBranch>,
}

/// A coarse mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoarseOutcome {
    /// The mapping, operator by operator.
    pub solution: Solution,
    /// What it reaches as a fine mapping, where an operator waits only for what it reads.
    pub objective: Objective,
    /// Makespan of the outer level in coarse terms, where a task waits for all its inputs.
    pub coarse_makespan: Nanoseconds,
    /// No mapping of outer branches is shorter in coarse terms; it bounds neither fine nor nested mappings.
    pub coarse_bound: Nanoseconds,
    /// Whether the outer level is optimal in coarse terms.
    pub proven: bool,
}

pub(super) const SETTINGS: Settings = Settings {
    formulation: fine::Formulation::Strengthened,
    exit_processor: None,
    tie_break: TieBreak::LeastEnergy,
};

/// Maps branches to processors; operators outside of all branches are tasks of their own.
///
/// Each level of nesting is one more program, under the same limits.
pub fn solve(
    problem: &Problem,
    branches: &[CoarseBranch],
    limits: &Limits<'_>,
) -> Result<CoarseOutcome, CoarseError> {
    fine::check_operators(problem).map_err(FineError::from)?;
    let groups: Vec<Vec<usize>> = branches.iter().map(|branch| branch.ops.clone()).collect();
    let outer = contract(problem, &groups)?;
    let mut level = solve_outer(outer, limits)?;
    let CoarseProof {
        makespan: coarse_makespan,
        bound: coarse_bound,
    } = level.proof;
    let solution = level.mapping.contraction.expand(&level.mapping.solution);
    let mut best = (schedule(problem, &solution).objective, solution);
    let mut is_covered = level.is_covered;
    let mut open: Vec<&CoarseBranch> = branches.iter().collect();
    while !open.is_empty() {
        let next = NextLevel::below(problem, &level.mapping, &open)?;
        open = next.branches;
        let Some(finer) = next.problem else {
            continue;
        };
        level.mapping = finer.solve(problem.must_use, is_covered, limits)?;
        let solution = level.mapping.contraction.expand(&level.mapping.solution);
        let objective = schedule(problem, &solution).objective;
        let covers = covers(problem, &solution);
        if (covers && !is_covered) || (covers == is_covered && objective < best.0) {
            best = (objective, solution);
        }
        is_covered |= covers;
    }
    if !is_covered {
        return Err(CoarseError::Uncovered);
    }
    let (objective, solution) = best;
    Ok(CoarseOutcome {
        solution,
        objective,
        coarse_makespan,
        coarse_bound,
        proven: coarse_makespan == coarse_bound,
    })
}

/// The outer level, solved.
struct Outer {
    mapping: Level,
    proof: CoarseProof,
    /// Whether it uses every processor that must be used; nested branches may still do so if not.
    is_covered: bool,
}

struct CoarseProof {
    makespan: Nanoseconds,
    bound: Nanoseconds,
}

fn solve_outer(mut outer: Contraction, limits: &Limits<'_>) -> Result<Outer, CoarseError> {
    let covering = earliest_finish(&outer.problem);
    let is_covered = covering.is_some();
    let start = if let Some(start) = covering {
        start
    } else {
        outer.problem.must_use = 0;
        earliest_finish(&outer.problem).ok_or(CoarseError::Uncovered)?
    };
    let outcome = fine::solve_with(&outer.problem, &start, &SETTINGS, limits)?;
    Ok(Outer {
        mapping: Level {
            contraction: outer,
            solution: outcome.solution,
        },
        proof: CoarseProof {
            makespan: outcome.objective.makespan,
            bound: outcome.bound,
        },
        is_covered,
    })
}

/// Whether a solution uses every processor that must be used.
fn covers(problem: &Problem, solution: &Solution) -> bool {
    (0..problem.homes.len()).all(|processor| {
        problem.must_use >> processor & 1 == 0 || solution.processors.contains(&processor)
    })
}
