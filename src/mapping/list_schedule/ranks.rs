//! Ranks of operators: means over processors, in fixed point so that they stay integers.

use super::super::Problem;

/// Fixed-point unit of ranks.
pub(super) const RANK_UNIT: u128 = 1 << 10;

/// What each operator takes on the mean of its processors; `None` if one runs nowhere.
pub(super) fn mean_durations(problem: &Problem) -> Option<Vec<u128>> {
    problem
        .operators
        .iter()
        .map(|operator| {
            let times: Vec<u128> = operator
                .times
                .iter()
                .flatten()
                .map(|time| u128::from(time.count()))
                .collect();
            mean(&times)
        })
        .collect()
}

/// The longest way from the start of each operator to the end, in means.
pub(super) fn upward(problem: &Problem, durations: &[u128]) -> Vec<u128> {
    let mut ranks = vec![0; problem.operators.len()];
    for operator in (0..problem.operators.len()).rev() {
        let tail = readers(problem, operator)
            .map(|(tensor, reader)| mean_move(problem, tensor, operator, reader) + ranks[reader])
            .max()
            .unwrap_or(0);
        ranks[operator] = durations[operator] + tail;
    }
    ranks
}

/// The longest way from the start to the start of each operator, in means.
pub(super) fn downward(problem: &Problem, durations: &[u128]) -> Vec<u128> {
    let mut ranks = vec![0; problem.operators.len()];
    for operator in 0..problem.operators.len() {
        let end = ranks[operator] + durations[operator];
        for (tensor, reader) in readers(problem, operator) {
            let arrival = end + mean_move(problem, tensor, operator, reader);
            ranks[reader] = arrival.max(ranks[reader]);
        }
    }
    ranks
}

/// Who reads what an operator writes, once for each tensor.
pub(super) fn readers(
    problem: &Problem,
    operator: usize,
) -> impl Iterator<Item = (usize, usize)> + '_ {
    problem.operators[operator]
        .writes
        .iter()
        .flat_map(|&tensor| {
            problem.tensors[tensor]
                .readers
                .iter()
                .map(move |&reader| (tensor, reader))
        })
}

/// Mean in units of [`RANK_UNIT`]; `None` for no values.
pub(super) fn mean(values: &[u128]) -> Option<u128> {
    let count = u128::try_from(values.len())
        .ok()
        .filter(|&count| count > 0)?;
    Some(values.iter().sum::<u128>() * RANK_UNIT / count)
}

/// Mean time of a move between different processors, as in the papers.
pub(super) fn mean_move(problem: &Problem, tensor: usize, producer: usize, reader: usize) -> u128 {
    let processors = 0..problem.homes.len();
    let mut times = Vec::new();
    for from in processors.clone() {
        for to in processors.clone() {
            let possible = problem.operators[producer].times[from].is_some()
                && problem.operators[reader].times[to].is_some();
            if from != to && possible {
                let cost = problem.tensors[tensor].moves[problem.homes[from]][problem.homes[to]];
                times.push(cost.map_or(0, |cost| u128::from(cost.time.count())));
            }
        }
    }
    mean(&times).unwrap_or(0)
}

/// Ready operators by falling priority, ties by index: the order in which a list scheduler takes them.
pub(super) fn by_priority(problem: &Problem, priorities: &[u128]) -> Vec<usize> {
    let count = problem.operators.len();
    let mut missing: Vec<usize> = problem
        .operators
        .iter()
        .map(|operator| {
            operator
                .reads
                .iter()
                .filter(|&&tensor| problem.tensors[tensor].producer.is_some())
                .count()
        })
        .collect();
    let entry = |operator: usize| (priorities[operator], std::cmp::Reverse(operator));
    let mut ready: std::collections::BinaryHeap<_> = (0..count)
        .filter(|&operator| missing[operator] == 0)
        .map(entry)
        .collect();
    let mut order = Vec::with_capacity(count);
    while let Some((_, std::cmp::Reverse(operator))) = ready.pop() {
        order.push(operator);
        for (_, reader) in readers(problem, operator) {
            missing[reader] -= 1;
            if missing[reader] == 0 {
                ready.push(entry(reader));
            }
        }
    }
    order
}
