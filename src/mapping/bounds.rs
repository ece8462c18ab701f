//! Lower bounds on the makespan.
//!
//! Placeholder text.

use super::Problem;

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

/// No mapping takes less.
pub fn lower_bound(problem: &Problem) -> paracompile_plan::Nanoseconds {
    let prices = load_prices(problem);
    let sum = prices.iter().sum::<u64>().max(1);
    paracompile_plan::Nanoseconds::new(priced_work(problem, &prices).div_ceil(sum))
}
