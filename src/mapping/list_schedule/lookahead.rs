//! HEFT with lookahead (Bittencourt, Sakellariou and Madeira 2010): a processor is judged by when the readers could finish if it were taken.

use super::super::{Problem, Solution};
use super::heft::by_upward_rank;
use super::ranks::readers;
use super::required::use_required;
use super::timeline::Timeline;

/// In the order of upward ranks, each operator where the last of its readers could finish first.
///
/// For each processor the readers are placed for trial, in the order of ranks and as HEFT would; producers of theirs that are not placed yet are not waited for.
/// Costs as many HEFT steps as there are processors and readers.
/// `None` where [`super::heft`] has none.
pub fn lookahead_heft(problem: &Problem) -> Option<Solution> {
    let order = by_upward_rank(problem)?;
    let mut place = vec![0; order.len()];
    for (index, &operator) in order.iter().enumerate() {
        place[operator] = index;
    }
    let mut timeline = Timeline::new(problem);
    for &operator in &order {
        let mut next: Vec<usize> = readers(problem, operator)
            .map(|(_, reader)| reader)
            .collect();
        next.sort_unstable_by_key(|&reader| place[reader]);
        next.dedup();
        let slot = timeline.slots(operator).min_by_key(|&slot| {
            let mut trial = timeline.clone();
            trial.occupy(operator, slot);
            let mut last = slot.home;
            for &reader in &next {
                let best = trial
                    .slots(reader)
                    .min_by_key(|slot| (slot.home, slot.processor));
                if let Some(best) = best {
                    trial.occupy(reader, best);
                    last = last.max(best.home);
                }
            }
            (last, slot.home, slot.processor)
        })?;
        timeline.occupy(operator, slot);
    }
    let mut solution = timeline.into_solution();
    use_required(problem, &mut solution)?;
    Some(solution)
}
