//! From a schedule to a value for every variable: the solver's start, and a test of every row.

use crate::mapping::{Schedule, Solution};

use super::precedence::entry_origin;
use super::statement::Statement;

/// The point of the program that stands for a solution and its schedule.
pub(super) fn plant(
    statement: &Statement<'_>,
    solution: &Solution,
    schedule: &Schedule,
) -> Vec<f64> {
    let problem = statement.problem;
    let home = |operator: usize| problem.homes[solution.processors[operator]];
    let mut values = vec![0.0; statement.model.num_variables()];
    for (operator, row) in statement.x.iter().enumerate() {
        let processor = solution.processors[operator];
        if let Some(variable) = row[processor] {
            values[variable.index()] = 1.0;
        }
        if let Some(used) = statement.u[processor] {
            values[used.index()] = 1.0;
        }
        let start = schedule.timings[operator].start.count();
        values[statement.s[operator].index()] = statement.scale.to_units(start);
    }
    let makespan = schedule.objective.makespan.count();
    values[statement.makespan.index()] = statement.scale.to_units(makespan);
    for (edge, pairs) in statement.precedence.edges.iter().zip(&statement.z) {
        if let Some(variable) = pairs.get(&(home(edge.from), home(edge.to))) {
            values[variable.index()] = 1.0;
        }
    }
    let mut position = vec![0; problem.operators.len()];
    for (place, &operator) in solution.sequence.iter().enumerate() {
        position[operator] = place;
    }
    for (&(i, j), variable) in &statement.o {
        let share = solution.processors[i] == solution.processors[j];
        if share && position[i] < position[j] {
            values[variable.index()] = 1.0;
        }
    }
    for (&(tensor, a, b), variable) in &statement.y {
        let facts = &problem.tensors[tensor];
        let reads_there = |&reader: &usize| home(reader) == b;
        let is_moved = match facts.producer {
            Some(producer) => {
                let is_asked_for =
                    facts.readers.iter().any(reads_there) || (facts.to_io && b == problem.io);
                home(producer) == a && is_asked_for
            }
            None => {
                entry_origin(problem, tensor, b) == Some(a) && facts.readers.iter().any(reads_there)
            }
        };
        if is_moved {
            values[variable.index()] = 1.0;
        }
    }
    values
}
