//! PEFT: predict earliest finish time (Arabnejad and Barbosa 2014).
//!
//! The optimistic cost table says how long the rest takes at least behind an operator on a processor, if processors are always free.
//! In the paper the table is zero for exit operators; here it is the way home of what they write.

use super::super::{Problem, Solution};
use super::ranks::{RANK_UNIT, by_priority, mean_move, readers};
use super::required::use_required;
use super::timeline::{Timeline, way_home};

/// Least finish time plus optimistic cost, in the order of mean optimistic costs, with insertion.
/// `None` where [`super::heft`] has none.
pub fn peft(problem: &Problem) -> Option<Solution> {
    let table = optimistic_costs(problem);
    let ranks: Vec<u128> = table
        .iter()
        .zip(&problem.operators)
        .map(|(row, operator)| {
            let supported: Vec<u128> = row
                .iter()
                .zip(&operator.times)
                .filter(|(_, time)| time.is_some())
                .map(|(&cost, _)| cost)
                .collect();
            let count = u128::try_from(supported.len()).ok()?;
            supported.iter().sum::<u128>().checked_div(count)
        })
        .collect::<Option<_>>()?;
    let mut timeline = Timeline::new(problem);
    for operator in by_priority(problem, &ranks) {
        let slot = timeline.slots(operator).min_by_key(|slot| {
            let end = u128::from(slot.end.count()) * RANK_UNIT;
            (end + table[operator][slot.processor], slot.processor)
        })?;
        timeline.occupy(operator, slot);
    }
    let mut solution = timeline.into_solution();
    use_required(problem, &mut solution)?;
    Some(solution)
}

/// For each operator and processor the longest of the readers' shortest ways to the end, in units of [`RANK_UNIT`].
pub(super) fn optimistic_costs(problem: &Problem) -> Vec<Vec<u128>> {
    let processors = problem.homes.len();
    let mut table = vec![vec![0; processors]; problem.operators.len()];
    for operator in (0..problem.operators.len()).rev() {
        let mut row: Vec<u128> = (0..processors)
            .map(|processor| u128::from(way_home(problem, operator, processor).count()) * RANK_UNIT)
            .collect();
        for (tensor, reader) in readers(problem, operator) {
            let moved = mean_move(problem, tensor, operator, reader);
            for (processor, cost) in row.iter_mut().enumerate() {
                let shortest = problem.operators[reader]
                    .times
                    .iter()
                    .enumerate()
                    .filter_map(|(other, time)| {
                        let apart = if other == processor { 0 } else { moved };
                        let time = u128::from((*time)?.count()) * RANK_UNIT;
                        Some(table[reader][other] + time + apart)
                    })
                    .min();
                *cost = shortest.unwrap_or(0).max(*cost);
            }
        }
        table[operator] = row;
    }
    table
}
