//! One level of nesting: branches that fork are opened, and their nested branches may go to processors that nothing beside them uses.
//!
//! Everything else stays where the level above put it; only the order may change.

use crate::mapping::fine::{self, Precedence};
use crate::mapping::{Problem, Solution};
use crate::milp::Limits;

use super::contract::{Contraction, contract};
use super::solve::SETTINGS;
use super::{CoarseBranch, CoarseError, earliest_finish};

/// A level that is solved: tasks, and where they run.
#[derive(Clone, Debug)]
pub(super) struct Level {
    pub(super) contraction: Contraction,
    pub(super) solution: Solution,
}

/// What comes below a level.
pub(super) struct NextLevel<'a> {
    /// The nested branches of the branches that were opened.
    pub(super) branches: Vec<&'a CoarseBranch>,
    /// Their problem; `None` where no branch could be opened.
    pub(super) problem: Option<OpenedProblem>,
}

/// A level with some branches opened, and the level above as its start.
pub(super) struct OpenedProblem {
    contraction: Contraction,
    start: Solution,
}

impl<'a> NextLevel<'a> {
    /// Opens those of `branches`, tasks of `level`, that fork inside and have a free processor beside their own.
    pub(super) fn below(
        problem: &Problem,
        level: &Level,
        branches: &[&'a CoarseBranch],
    ) -> Result<Self, CoarseError> {
        let count = problem.operators.len();
        let placed = level.contraction.expand(&level.solution);
        let related = related(problem);
        // Each operator may stay; nested ones may also go to what is free for the branch that they are in.
        let mut allowed: Vec<u16> = placed.processors.iter().map(|&p| 1 << p).collect();
        let mut is_opened = vec![false; count];
        let mut nested: Vec<&CoarseBranch> = Vec::new();
        for branch in branches {
            let is_member = membership(count, &branch.ops);
            let free = free_processors(problem, &placed, &related, &is_member);
            if branch.nested.iter().all(|inner| inner.ops.is_empty()) || free == 0 {
                continue;
            }
            for &operator in &branch.ops {
                is_opened[operator] = true;
            }
            for inner in &branch.nested {
                for &operator in &inner.ops {
                    if !is_member.get(operator).copied().unwrap_or(false) {
                        return Err(CoarseError::Overlap { operator });
                    }
                    allowed[operator] |= free;
                }
                nested.push(inner);
            }
        }
        if nested.is_empty() {
            return Ok(Self {
                branches: Vec::new(),
                problem: None,
            });
        }
        let closed = level
            .contraction
            .tasks
            .iter()
            .filter(|task| !is_opened[task[0]]);
        let groups: Vec<Vec<usize>> = closed
            .cloned()
            .chain(nested.iter().map(|inner| inner.ops.clone()))
            .collect();
        let mut contraction = contract(problem, &groups)?;
        for (task, operators) in contraction.tasks.iter().enumerate() {
            let allowed = allowed[operators[0]];
            let times = &mut contraction.problem.operators[task].times;
            for (processor, time) in times.iter_mut().enumerate() {
                if allowed >> processor & 1 == 0 {
                    *time = None;
                }
            }
        }
        let start = refine(level, &placed, &contraction);
        Ok(Self {
            branches: nested,
            problem: Some(OpenedProblem { contraction, start }),
        })
    }
}

impl OpenedProblem {
    /// Solves the level; where the one above did not use every required processor, this one need not but tries.
    pub(super) fn solve(
        mut self,
        must_use: u16,
        is_covered: bool,
        limits: &Limits<'_>,
    ) -> Result<Level, CoarseError> {
        self.contraction.problem.must_use = must_use;
        if !is_covered {
            match earliest_finish(&self.contraction.problem) {
                Some(covering) => self.start = covering,
                None => self.contraction.problem.must_use = 0,
            }
        }
        let outcome = fine::solve_with(&self.contraction.problem, &self.start, &SETTINGS, limits)?;
        Ok(Level {
            contraction: self.contraction,
            solution: outcome.solution,
        })
    }
}

/// The mapping of the level above in terms of the opened tasks, which take the place of the branch that they come from.
fn refine(above: &Level, placed: &Solution, below: &Contraction) -> Solution {
    let mut rank = vec![0; placed.processors.len()];
    for (position, &task) in above.solution.sequence.iter().enumerate() {
        for &operator in &above.contraction.tasks[task] {
            rank[operator] = position;
        }
    }
    // Tasks below are numbered topologically, so a stable sort keeps that order inside a branch.
    let mut sequence: Vec<usize> = (0..below.tasks.len()).collect();
    sequence.sort_by_key(|&task| rank[below.tasks[task][0]]);
    Solution {
        processors: below
            .tasks
            .iter()
            .map(|operators| placed.processors[operators[0]])
            .collect(),
        sequence,
    }
}

/// Processors that run neither a part of the branch nor anything that could run beside a part of it.
fn free_processors(
    problem: &Problem,
    placed: &Solution,
    related: &[Vec<bool>],
    is_member: &[bool],
) -> u16 {
    let is_beside = |other: usize| {
        (0..is_member.len()).any(|inside| is_member[inside] && !related[other][inside])
    };
    let used = (0..is_member.len())
        .filter(|&other| is_member[other] || is_beside(other))
        .fold(0_u16, |mask, other| mask | 1 << placed.processors[other]);
    (0..problem.homes.len()).fold(0, |mask, processor| mask | 1 << processor) & !used
}

fn membership(count: usize, operators: &[usize]) -> Vec<bool> {
    let mut is_member = vec![false; count];
    for &operator in operators {
        is_member[operator] = true;
    }
    is_member
}

/// Whether one operator precedes the other.
fn related(problem: &Problem) -> Vec<Vec<bool>> {
    let mut related = Precedence::of(problem).precedes;
    let forth = related.clone();
    for (later, row) in related.iter_mut().enumerate() {
        for (is_related, ancestors) in row.iter_mut().zip(&forth) {
            *is_related |= ancestors[later];
        }
    }
    related
}
