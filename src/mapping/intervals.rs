//! Lower bounds from what lies between two operators: it has to be done after one ends and before the other starts.
//!
//! Between them every processor works at most for that time, so priced load over the sum of prices is a bound of it, for any prices.
//! Such distances are chained like path lengths (max-plus), with shortest ways to and from each operator as further candidates.
//! Moves and idle time between the two are not seen.

use super::Problem;
use super::bounds::{Paths, load_prices};

/// More operators have too many pairs; they get the intervals from the start and to the end alone.
const LARGEST_FOR_PAIRS: usize = 300;

/// Whole, halves and thirds of the order have prices of their own.
const PIECES: [usize; 3] = [1, 2, 3];

/// How many price vectors there are.
const PRICES: usize = 6;

/// No mapping takes less.
pub(super) fn interval_bound(problem: &Problem, paths: &Paths) -> u64 {
    let loads = Loads::new(problem);
    let before = related(problem);
    let behind = transposed(&before);
    let count = problem.operators.len();
    let least: Vec<u64> = problem
        .operators
        .iter()
        .map(|operator| operator.times.iter().flatten().map(|time| time.count()))
        .map(|times| times.min().unwrap_or(0))
        .collect();
    let has_pairs = count <= LARGEST_FOR_PAIRS;
    let mut between = vec![0; count.div_ceil(64)];
    let mut starts = vec![0_u64; count];
    let totals: Vec<_> = before.iter().map(|set| loads.total(set)).collect();
    for w in 0..count {
        let mut start = paths.least_head(problem, w).max(loads.time(&totals[w]));
        if has_pairs {
            for u in members(&before[w]) {
                let end = starts[u].saturating_add(least[u]);
                // What is between is before the one and not before the other.
                let most = loads.time(&difference(&totals[w], &totals[u]));
                if end.saturating_add(most) <= start {
                    continue;
                }
                intersect(&behind[u], &before[w], &mut between);
                start = start.max(end.saturating_add(loads.of(&between)));
            }
        }
        starts[w] = start;
    }
    let mut rests = vec![0_u64; count];
    let totals: Vec<_> = behind.iter().map(|set| loads.total(set)).collect();
    for u in (0..count).rev() {
        let mut rest = paths.least_tail(problem, u).max(loads.time(&totals[u]));
        if has_pairs {
            for w in members(&behind[u]) {
                let from = rests[w].saturating_add(least[w]);
                let most = loads.time(&difference(&totals[u], &totals[w]));
                if from.saturating_add(most) <= rest {
                    continue;
                }
                intersect(&behind[u], &before[w], &mut between);
                rest = rest.max(from.saturating_add(loads.of(&between)));
            }
        }
        rests[u] = rest;
    }
    (0..count)
        .map(|v| starts[v].saturating_add(least[v]).saturating_add(rests[v]))
        .max()
        .unwrap_or(0)
}

/// Priced work of each operator, under several prices.
pub(super) struct Loads {
    work: Vec<[u64; PRICES]>,
    sums: [u64; PRICES],
}

impl Loads {
    pub(super) fn new(problem: &Problem) -> Self {
        let count = problem.operators.len();
        let mut work = vec![[0; PRICES]; count];
        let mut sums = [1; PRICES];
        let pieces = PIECES
            .iter()
            .flat_map(|&pieces| (0..pieces).map(move |piece| (pieces, piece)));
        for (at, (pieces, piece)) in pieces.enumerate() {
            let part = Problem {
                homes: problem.homes.clone(),
                devices: problem.devices.clone(),
                operators: problem.operators[count * piece / pieces..count * (piece + 1) / pieces]
                    .to_vec(),
                ..Problem::default()
            };
            let prices = load_prices(&part);
            sums[at] = prices.iter().sum::<u64>().max(1);
            for (row, operator) in work.iter_mut().zip(&problem.operators) {
                row[at] = operator
                    .times
                    .iter()
                    .zip(&prices)
                    .filter_map(|(time, &price)| {
                        time.map(|time| time.count().saturating_mul(price))
                    })
                    .min()
                    .unwrap_or(0);
            }
        }
        Self { work, sums }
    }

    /// Least time that all operators of a set take together.
    pub(super) fn of(&self, set: &[u64]) -> u64 {
        self.time(&self.total(set))
    }

    fn total(&self, set: &[u64]) -> [u64; PRICES] {
        let mut total = [0_u64; PRICES];
        for operator in members(set) {
            for (sum, work) in total.iter_mut().zip(&self.work[operator]) {
                *sum = sum.saturating_add(*work);
            }
        }
        total
    }

    fn time(&self, total: &[u64; PRICES]) -> u64 {
        total
            .iter()
            .zip(&self.sums)
            .map(|(work, sum)| work.div_ceil(*sum))
            .max()
            .unwrap_or(0)
    }
}

fn difference(whole: &[u64; PRICES], part: &[u64; PRICES]) -> [u64; PRICES] {
    let mut left = *whole;
    for (left, part) in left.iter_mut().zip(part) {
        *left = left.saturating_sub(*part);
    }
    left
}

/// For each operator the set of those that must be done before it.
pub(super) fn related(problem: &Problem) -> Vec<Vec<u64>> {
    let words = problem.operators.len().div_ceil(64);
    let mut before: Vec<Vec<u64>> = Vec::with_capacity(problem.operators.len());
    for operator in &problem.operators {
        let mut set = vec![0; words];
        let producers = operator
            .reads
            .iter()
            .filter_map(|&tensor| problem.tensors[tensor].producer);
        for producer in producers {
            for (word, other) in set.iter_mut().zip(&before[producer]) {
                *word |= other;
            }
            set[producer >> 6] |= 1 << (producer & 63);
        }
        before.push(set);
    }
    before
}

pub(super) fn transposed(before: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let mut behind = vec![vec![0_u64; before.len().div_ceil(64)]; before.len()];
    for (w, set) in before.iter().enumerate() {
        for u in members(set) {
            behind[u][w >> 6] |= 1 << (w & 63);
        }
    }
    behind
}

pub(super) fn intersect(a: &[u64], b: &[u64], into: &mut [u64]) {
    for ((word, a), b) in into.iter_mut().zip(a).zip(b) {
        *word = a & b;
    }
}

/// The elements of a set of bits, ascending.
pub(super) fn members(set: &[u64]) -> impl Iterator<Item = usize> {
    set.iter().enumerate().flat_map(|(index, &word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            (left != 0).then(|| {
                let bit = left.trailing_zeros() as usize;
                left &= left - 1;
                index << 6 | bit
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::bounds::lower_bound;
    use super::super::oracle::{INSTANCES, from_edges, instance};
    use super::*;

    #[test]
    fn two_fans_in_a_row_add_up() {
        // Two operators of 10 side by side, then one of 1, then two of 10 again, on one processor each way: paths take 21, load 41.
        let times = [vec![10], vec![10], vec![1], vec![10], vec![10]];
        let edges = [(0, 2), (1, 2), (2, 3), (2, 4)];
        let problem = from_edges(&times, &edges, |_, _, _| 0);
        assert_eq!(interval_bound(&problem, &Paths::new(&problem)), 41);
    }

    #[test]
    fn no_interval_exceeds_a_known_value() {
        for name in INSTANCES {
            let (problem, known) = instance(name);
            let bound = lower_bound(&problem).count();
            assert!(bound <= known, "{name}: {bound} > {known}");
        }
    }
}
