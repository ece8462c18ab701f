//! Lower bounds on the makespan: longest paths, and load shared out by prices, of the whole and between operators.
//!
//! Disjunctions are ignored: no order of two operators on one processor is decided here.
//! Bounds from linear programs belong to the MILP.

use paracompile_plan::Nanoseconds;

use super::intervals::interval_bound;
use super::{Problem, Tensor};

/// No mapping that uses every required processor takes less.
pub fn lower_bound(problem: &Problem) -> Nanoseconds {
    let paths = Paths::new(problem);
    let prices = load_prices(problem);
    let by_path = paths
        .bound(problem)
        .max(paths.required_bound(problem))
        .max(interval_bound(problem, &paths));
    Nanoseconds::new(load_bound(problem, &paths, &prices, by_path))
}

/// No mapping takes less, however many lanes its processors have: the longest path.
pub(super) fn path_bound(problem: &Problem) -> Nanoseconds {
    Nanoseconds::new(Paths::new(problem).bound(problem))
}

/// Shortest ways to and from each operator on each processor, as if every processor were free whenever it is wanted.
pub(super) struct Paths {
    processors: usize,
    /// Earliest start of operator `v` on processor `p` at `v · P + p`; `u64::MAX` where it is not supported.
    heads: Vec<u64>,
    /// Least time from the end of `v` on `p` to the end of everything that depends on it.
    tails: Vec<u64>,
}

impl Paths {
    pub(super) fn new(problem: &Problem) -> Self {
        let processors = problem.homes.len();
        let mut paths = Self {
            processors,
            heads: vec![u64::MAX; problem.operators.len() * processors],
            tails: vec![u64::MAX; problem.operators.len() * processors],
        };
        for operator in 0..problem.operators.len() {
            for processor in 0..processors {
                if problem.operators[operator].times[processor].is_some() {
                    paths.heads[operator * processors + processor] =
                        paths.head(problem, operator, processor);
                }
            }
        }
        for operator in (0..problem.operators.len()).rev() {
            for processor in 0..processors {
                if problem.operators[operator].times[processor].is_some() {
                    paths.tails[operator * processors + processor] =
                        paths.tail(problem, operator, processor);
                }
            }
        }
        paths
    }

    /// Least time from the end of `operator` on `processor` to the end of everything that depends on it.
    pub(super) fn tail_of(&self, operator: usize, processor: usize) -> u64 {
        self.tails[operator * self.processors + processor]
    }

    /// Earliest start of `operator` anywhere.
    pub(super) fn least_head(&self, problem: &Problem, operator: usize) -> u64 {
        self.least(problem, &self.heads, operator)
    }

    /// Least time from the end of `operator` anywhere to the end of everything that depends on it.
    pub(super) fn least_tail(&self, problem: &Problem, operator: usize) -> u64 {
        self.least(problem, &self.tails, operator)
    }

    fn least(&self, problem: &Problem, times: &[u64], operator: usize) -> u64 {
        (0..self.processors)
            .filter(|&processor| problem.operators[operator].times[processor].is_some())
            .map(|processor| times[operator * self.processors + processor])
            .min()
            .unwrap_or(0)
    }

    fn head(&self, problem: &Problem, operator: usize, processor: usize) -> u64 {
        let home = problem.homes[processor];
        problem.operators[operator]
            .reads
            .iter()
            .map(|&index| {
                let tensor = &problem.tensors[index];
                match tensor.producer {
                    None if tensor.is_held_for(home) => 0,
                    None => move_time(tensor, tensor.held[0], home),
                    Some(producer) => (0..self.processors)
                        .filter_map(|from| {
                            let time = problem.operators[producer].times[from]?.count();
                            let way = move_time(tensor, problem.homes[from], home);
                            let start = self.heads[producer * self.processors + from];
                            Some(start.saturating_add(time).saturating_add(way))
                        })
                        .min()
                        .unwrap_or(0),
                }
            })
            .max()
            .unwrap_or(0)
    }

    fn tail(&self, problem: &Problem, operator: usize, processor: usize) -> u64 {
        let home = problem.homes[processor];
        let mut tail = 0;
        for &index in &problem.operators[operator].writes {
            let tensor = &problem.tensors[index];
            if tensor.to_io {
                tail = tail.max(move_time(tensor, home, problem.io));
            }
            for &reader in &tensor.readers {
                let least = (0..self.processors)
                    .filter_map(|to| {
                        let time = problem.operators[reader].times[to]?.count();
                        let way = move_time(tensor, home, problem.homes[to]);
                        let rest = self.tails[reader * self.processors + to];
                        Some(way.saturating_add(time).saturating_add(rest))
                    })
                    .min();
                tail = tail.max(least.unwrap_or(0));
            }
        }
        tail
    }

    /// Least makespan with `operator` on `processor`; `None` where it is not supported.
    fn through(&self, problem: &Problem, operator: usize, processor: usize) -> Option<u64> {
        let time = problem.operators[operator].times[processor]?.count();
        let at = operator * self.processors + processor;
        Some(
            self.heads[at]
                .saturating_add(time)
                .saturating_add(self.tails[at]),
        )
    }

    /// Every operator runs somewhere.
    fn bound(&self, problem: &Problem) -> u64 {
        (0..problem.operators.len())
            .filter_map(|operator| {
                (0..self.processors)
                    .filter_map(|processor| self.through(problem, operator, processor))
                    .min()
            })
            .max()
            .unwrap_or(0)
    }

    /// Every required processor runs something.
    fn required_bound(&self, problem: &Problem) -> u64 {
        (0..self.processors)
            .filter(|processor| problem.must_use & (1 << processor) != 0)
            .filter_map(|processor| {
                (0..problem.operators.len())
                    .filter_map(|operator| self.through(problem, operator, processor))
                    .min()
            })
            .max()
            .unwrap_or(0)
    }

    /// Least time that a processor stands idle before and behind its work, if it has any.
    fn idle(&self, problem: &Problem, processor: usize) -> u64 {
        let least = |times: &[u64]| {
            (0..problem.operators.len())
                .map(|operator| times[operator * self.processors + processor])
                .min()
                .unwrap_or(0)
        };
        least(&self.heads).saturating_add(least(&self.tails))
    }
}

/// `(Σ_i min_p λ_p t_ip + Σ_p λ_p δ_p) / Σ λ` with `δ_p = min(idle_p, known)`.
///
/// A processor that works leaves its shortest head and tail idle, so its load is at most `C − idle_p`.
/// One that stays empty has load zero, which is at most `C − δ_p` only because `δ_p` is not above a bound already known: without that guard the sum is wrong.
fn load_bound(problem: &Problem, paths: &Paths, prices: &[u64], known: u64) -> u64 {
    let sum = prices.iter().sum::<u64>().max(1);
    let work = priced_work(problem, prices);
    let mut bound = known.max(work.div_ceil(sum));
    for _ in 0..3 {
        let idle = prices
            .iter()
            .enumerate()
            .map(|(processor, &price)| {
                price.saturating_mul(paths.idle(problem, processor).min(bound))
            })
            .fold(0, u64::saturating_add);
        bound = bound.max(work.saturating_add(idle).div_ceil(sum));
    }
    bound
}

fn move_time(tensor: &Tensor, from: usize, to: usize) -> u64 {
    tensor.moves[from][to].map_or(0, |cost| cost.time.count())
}

/// Sum of load prices.
pub(super) const PRICE_UNIT: u64 = 1 << 10;

/// Prices `λ` of processors that make `Σ_i min_p λ_p t_ip / Σ λ` large: near the duals of the fractional load problem.
///
/// Any prices give a valid bound, so it does not matter that they come from a fixed number of multiplicative steps in floating point; from here on they are integers.
/// Their sum is [`PRICE_UNIT`], or zero where no operator takes time.
pub(super) fn load_prices(problem: &Problem) -> Vec<u64> {
    let eligible = problem.eligible();
    let count = f64::from(eligible.count_ones().max(1));
    let mut prices: Vec<f64> = (0..problem.homes.len())
        .map(|p| {
            if eligible & (1 << p) == 0 {
                0.0
            } else {
                1.0 / count
            }
        })
        .collect();
    let mut best = to_integers(&prices);
    let mut best_value = priced_work(problem, &best);
    for round in 0..60_u32 {
        let loads = loads(problem, &prices);
        let total: f64 = loads.iter().sum();
        if total <= 0.0 {
            break;
        }
        let step = 0.6 / (1.0 + f64::from(round) / 6.0);
        let mut sum = 0.0;
        for (price, load) in prices.iter_mut().zip(&loads) {
            *price *= 1.0 + step * (load * count / total - 1.0).clamp(-0.9, 1.0);
            sum += *price;
        }
        for price in &mut prices {
            *price /= sum;
        }
        let rounded = to_integers(&prices);
        let value = priced_work(problem, &rounded);
        if value > best_value {
            (best, best_value) = (rounded, value);
        }
    }
    best
}

/// Puts on each lane of a device an equal share of the device's work, so that its lanes keep one price.
#[expect(clippy::cast_precision_loss, reason = "prices may be inexact")]
fn share_between_lanes(problem: &Problem, loads: &mut [f64]) {
    if !problem.has_lanes() {
        return;
    }
    let mut of_device = vec![(0.0, 0_usize); loads.len()];
    for (lane, load) in loads.iter().enumerate() {
        let (sum, count) = &mut of_device[problem.device(lane)];
        *sum += load;
        *count += 1;
    }
    for (lane, load) in loads.iter_mut().enumerate() {
        let (sum, count) = of_device[problem.device(lane)];
        *load = sum / count as f64;
    }
}

/// Work on each processor if every operator goes where its priced time is least.
#[expect(clippy::cast_precision_loss, reason = "prices may be inexact")]
fn loads(problem: &Problem, prices: &[f64]) -> Vec<f64> {
    let mut loads = vec![0.0; prices.len()];
    for operator in &problem.operators {
        let choice = operator
            .times
            .iter()
            .enumerate()
            .filter_map(|(p, time)| time.map(|time| (p, time.count() as f64)))
            .min_by(|(a, x), (b, y)| (prices[*a] * x).total_cmp(&(prices[*b] * y)));
        if let Some((processor, time)) = choice {
            loads[processor] += time;
        }
    }
    share_between_lanes(problem, &mut loads);
    loads
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "prices are between zero and one"
)]
fn to_integers(prices: &[f64]) -> Vec<u64> {
    let mut integers: Vec<u64> = prices
        .iter()
        .map(|price| (price * PRICE_UNIT as f64) as u64)
        .collect();
    let missing = PRICE_UNIT.saturating_sub(integers.iter().sum());
    if let Some(largest) = (0..integers.len()).max_by_key(|&p| (integers[p], usize::MAX - p)) {
        integers[largest] += missing;
    }
    integers
}

/// `Σ_i min_p λ_p t_ip`.
pub(super) fn priced_work(problem: &Problem, prices: &[u64]) -> u64 {
    problem
        .operators
        .iter()
        .map(|operator| {
            operator
                .times
                .iter()
                .zip(prices)
                .filter_map(|(time, price)| time.map(|time| time.count().saturating_mul(*price)))
                .min()
                .unwrap_or(0)
        })
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::oracle::{Shape, brute_force_best, from_edges, instance, random_problem};
    use super::*;

    #[test]
    fn a_processor_that_may_stay_empty_adds_no_idle_time() {
        // Two short operators on processor 0; processor 1 could only be reached after 1000.
        let mut problem = from_edges(&[vec![1, 1], vec![1, 1]], &[], |_, _, _| 0);
        problem.tensors.push(Tensor {
            held: vec![0],
            readers: vec![0, 1],
            moves: problem_moves(1000),
            ..Tensor::default()
        });
        problem.operators[0].reads.push(0);
        problem.operators[1].reads.push(0);
        assert_eq!(lower_bound(&problem), Nanoseconds::new(2));
        problem.must_use = 0b10;
        assert_eq!(lower_bound(&problem), Nanoseconds::new(1001));
    }

    fn problem_moves(time: u64) -> Vec<Vec<Option<paracompile_frontend::cost::Move>>> {
        let cost = paracompile_frontend::cost::Move {
            time: Nanoseconds::new(time),
            energy: paracompile_plan::Nanojoules::ZERO,
        };
        vec![vec![None, Some(cost)], vec![Some(cost), None]]
    }

    #[test]
    fn bounds_of_instances_are_near_the_known_values() {
        for name in ["incA_p3", "incC_p3", "inc6_p3", "tf8_p3", "nas50_p3"] {
            let (problem, known) = instance(name);
            let bound = lower_bound(&problem).count();
            assert!(bound <= known, "{name}: {bound} > {known}");
            assert!(
                bound * 10 >= known * 8,
                "{name}: {bound} is far below {known}"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn bounds_never_exceed_the_optimum(seed: u64, operators in 0..6_usize, processors in 1..4_usize, mask in 0..8_u16) {
            let mut problem = random_problem(seed, Shape { operators, processors, joined: false });
            problem.must_use = mask & ((1 << processors) - 1);
            if let Some(optimum) = brute_force_best(&problem) {
                prop_assert!(lower_bound(&problem) <= optimum.makespan);
            }
        }
    }
}
