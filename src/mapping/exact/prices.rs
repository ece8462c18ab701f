//! Load prices: what a unit of time costs on each processor, so that the cheapest way to do a set of operators costs much.

use super::network::{NEVER, Network, members};

/// Prices of processors; any are valid.
#[derive(Clone, Debug)]
pub(super) struct Prices {
    pub(super) of: Vec<u64>,
    pub(super) sum: u64,
}

const UNIT: f64 = 1024.0;

/// Steps from prices that are known.
const ROUNDS: u32 = 6;

impl Prices {
    /// Near the duals of the fractional load problem of `set`, by a fixed number of multiplicative steps.
    #[expect(clippy::cast_precision_loss, reason = "any prices are valid")]
    pub(super) fn of(network: &Network, set: u64) -> Self {
        let m = network.processors;
        Self::near(network, set, vec![1.0 / m as f64; m], 40)
    }

    /// The best of the network's prices for `set`, and a few steps on.
    #[expect(clippy::cast_precision_loss, reason = "any prices are valid")]
    pub(super) fn from_known(network: &Network, set: u64) -> Self {
        let best = network
            .prices
            .iter()
            .max_by(|a, b| value(network, a, set).total_cmp(&value(network, b, set)));
        best.map_or_else(
            || Self::of(network, set),
            |best| {
                let start = best.of.iter().map(|&price| price as f64 / best.sum as f64);
                Self::near(network, set, start.collect(), ROUNDS)
            },
        )
    }

    #[expect(clippy::cast_precision_loss, reason = "any prices are valid")]
    fn near(network: &Network, set: u64, mut prices: Vec<f64>, rounds: u32) -> Self {
        let m = network.processors;
        let mut best = Self::rounded(&prices);
        let mut best_value = value(network, &best, set);
        for round in 0..rounds {
            let mut loads = vec![0.0; m];
            for v in members(set) {
                let row = &network.times[v * m..(v + 1) * m];
                let least = (0..m).filter(|&p| row[p] < NEVER).min_by(|&a, &b| {
                    (prices[a] * f64::from(row[a])).total_cmp(&(prices[b] * f64::from(row[b])))
                });
                if let Some(p) = least {
                    loads[p] += f64::from(row[p]);
                }
            }
            let total: f64 = loads.iter().sum();
            if total <= 0.0 {
                break;
            }
            let step = 0.6 / (1.0 + f64::from(round) / 6.0);
            for (price, load) in prices.iter_mut().zip(&loads) {
                *price *= 1.0 + step * (load * m as f64 / total - 1.0).clamp(-0.9, 1.0);
            }
            let sum: f64 = prices.iter().sum();
            for price in &mut prices {
                *price /= sum;
            }
            let rounded = Self::rounded(&prices);
            let value = value(network, &rounded, set);
            if value > best_value {
                (best, best_value) = (rounded, value);
            }
        }
        best
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "prices are between zero and one"
    )]
    fn rounded(prices: &[f64]) -> Self {
        let of: Vec<u64> = prices.iter().map(|price| (price * UNIT) as u64).collect();
        let sum = of.iter().sum::<u64>().max(1);
        Self { of, sum }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a comparison of prices")]
fn value(network: &Network, prices: &Prices, set: u64) -> f64 {
    priced(network, prices, set) as f64 / prices.sum as f64
}

/// The least price at which all of `set` can be done.
pub(super) fn priced(network: &Network, prices: &Prices, set: u64) -> u64 {
    let m = network.processors;
    members(set)
        .map(|v| {
            (0..m)
                .filter(|&p| network.times[v * m + p] < NEVER)
                .map(|p| u64::from(network.times[v * m + p]) * prices.of[p])
                .min()
                .unwrap_or(0)
        })
        .sum()
}
