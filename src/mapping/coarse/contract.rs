//! From operators to tasks: groups of operators become single operators of a smaller problem.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use paracompile_plan::{Nanojoules, Nanoseconds};

use crate::mapping::{Operator, Problem, Solution, Tensor};

use super::CoarseError;

/// A problem whose operators are groups of another problem's operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contraction {
    /// The smaller problem; its tensors have the numbers of the original ones, and those inside a group have no reader.
    pub problem: Problem,
    /// The operators of each task, ascending.
    pub tasks: Vec<Vec<usize>>,
}

impl Contraction {
    /// The solution of the original problem: a group's operators one after another on its processor.
    pub fn expand(&self, solution: &Solution) -> Solution {
        let count = self.tasks.iter().map(Vec::len).sum();
        let mut processors = vec![0; count];
        for (task, operators) in self.tasks.iter().enumerate() {
            for &operator in operators {
                processors[operator] = solution.processors[task];
            }
        }
        let sequence = solution
            .sequence
            .iter()
            .flat_map(|&task| self.tasks[task].iter().copied())
            .collect();
        Solution {
            processors,
            sequence,
        }
    }
}

/// Makes one task of each group; every operator outside of them is a task of its own.
///
/// A task runs on a processor that runs all its operators and takes the sum of their times.
/// Tasks are in topological order, by first operator where that leaves a choice.
pub fn contract(problem: &Problem, groups: &[Vec<usize>]) -> Result<Contraction, CoarseError> {
    let members = partition(problem, groups)?;
    let mut task_of = vec![0; problem.operators.len()];
    for (task, operators) in members.iter().enumerate() {
        for &operator in operators {
            task_of[operator] = task;
        }
    }
    let order = topological(problem, &members, &task_of)?;
    let mut place = vec![0; members.len()];
    for (position, &task) in order.iter().enumerate() {
        place[task] = position;
    }
    for task in &mut task_of {
        *task = place[*task];
    }
    let tasks: Vec<Vec<usize>> = order.iter().map(|&task| members[task].clone()).collect();
    let operators = tasks
        .iter()
        .enumerate()
        .map(|(task, operators)| merge(problem, task, operators, &task_of))
        .collect::<Result<_, _>>()?;
    let tensors = problem
        .tensors
        .iter()
        .map(|tensor| {
            let producer = tensor.producer.map(|operator| task_of[operator]);
            let readers: BTreeSet<usize> = tensor
                .readers
                .iter()
                .map(|&reader| task_of[reader])
                .filter(|&task| producer != Some(task))
                .collect();
            Tensor {
                producer,
                held: tensor.held.clone(),
                readers: readers.into_iter().collect(),
                to_io: tensor.to_io,
                moves: tensor.moves.clone(),
            }
        })
        .collect();
    Ok(Contraction {
        problem: Problem {
            homes: problem.homes.clone(),
            locations: problem.locations,
            io: problem.io,
            operators,
            tensors,
            must_use: problem.must_use,
            devices: problem.devices.clone(),
        },
        tasks,
    })
}

/// Groups and single operators, each ascending, by first operator.
fn partition(problem: &Problem, groups: &[Vec<usize>]) -> Result<Vec<Vec<usize>>, CoarseError> {
    let operators = problem.operators.len();
    let mut is_taken = vec![false; operators];
    let mut members: Vec<Vec<usize>> = Vec::new();
    for group in groups {
        let mut group = group.clone();
        group.sort_unstable();
        for &operator in &group {
            match is_taken.get_mut(operator) {
                None => {
                    return Err(CoarseError::UnknownOperator {
                        first: group[0],
                        operator,
                        operators,
                    });
                }
                Some(true) => return Err(CoarseError::Overlap { operator }),
                Some(taken) => *taken = true,
            }
        }
        if !group.is_empty() {
            members.push(group);
        }
    }
    let singles = (0..operators).filter(|&operator| !is_taken[operator]);
    members.extend(singles.map(|operator| vec![operator]));
    members.sort_unstable();
    Ok(members)
}

/// An order in which each task follows those that it reads from.
fn topological(
    problem: &Problem,
    members: &[Vec<usize>],
    task_of: &[usize],
) -> Result<Vec<usize>, CoarseError> {
    let mut successors: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); members.len()];
    for tensor in &problem.tensors {
        let Some(producer) = tensor.producer else {
            continue;
        };
        for &reader in &tensor.readers {
            if task_of[producer] != task_of[reader] {
                successors[task_of[producer]].insert(task_of[reader]);
            }
        }
    }
    let mut waiting = vec![0_usize; members.len()];
    for &successor in successors.iter().flatten() {
        waiting[successor] += 1;
    }
    let mut ready: BinaryHeap<Reverse<usize>> = (0..members.len())
        .filter(|&task| waiting[task] == 0)
        .map(Reverse)
        .collect();
    let mut order = Vec::with_capacity(members.len());
    while let Some(Reverse(task)) = ready.pop() {
        order.push(task);
        for &successor in &successors[task] {
            waiting[successor] -= 1;
            if waiting[successor] == 0 {
                ready.push(Reverse(successor));
            }
        }
    }
    match waiting.iter().position(|&count| count > 0) {
        Some(task) => Err(CoarseError::NotConvex {
            operator: members[task][0],
        }),
        None => Ok(order),
    }
}

/// One operator for a group: sums of times and energies, and the tensors that cross its border.
fn merge(
    problem: &Problem,
    task: usize,
    operators: &[usize],
    task_of: &[usize],
) -> Result<Operator, CoarseError> {
    let processors = 0..problem.homes.len();
    let times: Vec<Option<Nanoseconds>> = processors
        .clone()
        .map(|processor| {
            operators
                .iter()
                .map(|&operator| problem.operators[operator].times[processor])
                .sum()
        })
        .collect();
    if operators.len() > 1 && times.iter().all(Option::is_none) {
        return Err(CoarseError::NoProcessor {
            first: operators[0],
            operators: operators.len(),
        });
    }
    let energies: Vec<Nanojoules> = processors
        .map(|processor| {
            operators
                .iter()
                .map(|&operator| problem.operators[operator].energies[processor])
                .sum()
        })
        .collect();
    let members = || {
        operators
            .iter()
            .map(|&operator| &problem.operators[operator])
    };
    let reads: BTreeSet<usize> = members()
        .flat_map(|operator| operator.reads.iter().copied())
        .filter(|&tensor| {
            problem.tensors[tensor]
                .producer
                .is_none_or(|producer| task_of[producer] != task)
        })
        .collect();
    let writes: BTreeSet<usize> = members()
        .flat_map(|operator| operator.writes.iter().copied())
        .collect();
    Ok(Operator {
        times,
        energies,
        reads: reads.into_iter().collect(),
        writes: writes.into_iter().collect(),
    })
}
