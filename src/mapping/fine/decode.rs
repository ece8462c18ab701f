//! From a point of the program to a solution: processors from `x`, the sequence from start times.
//!
//! Times are read as an order only; the schedule is computed anew in integers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::mapping::Solution;
use crate::milp::is_one;

use super::statement::Statement;

/// The solution that a point stands for; `None` where an operator has no processor, which rounding of a feasible point cannot give.
pub(super) fn decode(statement: &Statement<'_>, values: &[f64]) -> Option<Solution> {
    let processors: Vec<usize> = statement
        .x
        .iter()
        .map(|row| {
            row.iter().position(|variable| {
                variable.is_some_and(|variable| is_one(values[variable.index()]))
            })
        })
        .collect::<Option<_>>()?;
    // Operators without duration share an instant with a neighbour; middles order them as starts cannot.
    let middles: Vec<f64> = (0..processors.len())
        .map(|operator| {
            let start = values[statement.s[operator].index()];
            start + statement.time_units(operator, processors[operator]) / 2.0
        })
        .collect();
    let mut waiting: Vec<usize> = statement.precedence.incoming.iter().map(Vec::len).collect();
    let mut ready: BinaryHeap<Reverse<(Middle, usize)>> = (0..processors.len())
        .filter(|&operator| waiting[operator] == 0)
        .map(|operator| Reverse((Middle(middles[operator]), operator)))
        .collect();
    let mut sequence = Vec::with_capacity(processors.len());
    while let Some(Reverse((_, operator))) = ready.pop() {
        sequence.push(operator);
        for &edge in &statement.precedence.outgoing[operator] {
            let reader = statement.precedence.edges[edge].to;
            waiting[reader] -= 1;
            if waiting[reader] == 0 {
                ready.push(Reverse((Middle(middles[reader]), reader)));
            }
        }
    }
    Some(Solution {
        processors,
        sequence,
    })
}

/// A time with a total order.
struct Middle(f64);

impl PartialEq for Middle {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Middle {}

impl PartialOrd for Middle {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Middle {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
