//! From a schedule to a value for every column: a test of every row.

use crate::mapping::{Schedule, Solution};

use super::ground::signed;
use super::statement::Statement;

/// The point of the relaxation that stands for a schedule within its horizon.
pub(super) fn plant(
    statement: &Statement<'_>,
    solution: &Solution,
    schedule: &Schedule,
) -> Vec<i64> {
    let mut point = vec![0; statement.program.columns.len()];
    point[statement.makespan] = signed(schedule.objective.makespan.count());
    for (i, &p) in solution.processors.iter().enumerate() {
        let start = signed(schedule.timings[i].start.count());
        point[statement.x[i][p].unwrap()] = 1;
        point[statement.start[i][p].unwrap()] = start - statement.windows.head[i][p];
    }
    let home = |i: usize| statement.ground.problem.homes[solution.processors[i]];
    for (edge, joints) in statement.joints.iter().enumerate() {
        let facts = &statement.ground.precedence.edges[edge];
        let chosen = (home(facts.from), home(facts.to));
        for joint in joints {
            if (joint.from, joint.to) == chosen {
                point[joint.z] = 1;
            }
        }
    }
    point
}
