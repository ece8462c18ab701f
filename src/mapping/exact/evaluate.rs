//! Bounds of a state, and its normal form below the cutoff.

use super::layout::Layout;
use super::network::{NEVER, Network};

/// Numbers of the state at hand.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) free: Vec<u32>,
    /// Earliest start of `v` on `p` at `v · P + p`; [`NEVER`] where it cannot end in time.
    pub(super) starts: Vec<u32>,
    /// Earliest end, likewise.
    ends: Vec<u32>,
    work: Vec<u64>,
    rests: Vec<u32>,
}

/// What is known of a state that can lead to a schedule below the cutoff.
#[derive(Clone, Copy, Debug)]
pub(super) struct Promise {
    /// Every schedule behind it that ends below the cutoff takes at least this.
    pub(super) bound: u32,
    /// What it might take.
    pub(super) guess: u32,
}

impl Desk {
    pub(super) fn new(network: &Network) -> Self {
        let size = network.operators * network.processors;
        Self {
            free: vec![0; network.processors],
            starts: vec![0; size],
            ends: vec![0; size],
            work: vec![0; network.operators],
            rests: vec![0; network.processors],
        }
    }

    /// Raises all numbers to what can be met below `cutoff`; `None` if nothing can.
    ///
    /// Before, `free` and the rows of pending operators in `starts` hold when processors are free and inputs arrive.
    pub(super) fn settle(
        &mut self,
        network: &Network,
        layout: &Layout,
        cutoff: u32,
    ) -> Option<Promise> {
        let m = network.processors;
        let mut bound = 0;
        let mut earliest = [NEVER; 16];
        let mut rests = [NEVER; 16];
        for item in &layout.remaining {
            let at = item.operator * m;
            let mut row = [0; 16];
            let row = &mut row[..m];
            if item.pending.is_some() {
                row.copy_from_slice(&self.starts[at..at + m]);
            } else {
                row.copy_from_slice(&network.heads[at..at + m]);
            }
            for &edge in &item.inner {
                let edge = network.edges[edge];
                let delays = network.delays(edge);
                let mut arrival = [2 * NEVER; 16];
                let arrival = &mut arrival[..m];
                for q in 0..m {
                    let end = self.ends[edge.from * m + q];
                    if end < NEVER {
                        for (arrival, &delay) in arrival.iter_mut().zip(&delays[q * m..]) {
                            *arrival = (end + delay).min(*arrival);
                        }
                    }
                }
                for (start, &arrival) in row.iter_mut().zip(arrival.iter()) {
                    *start = arrival.max(*start);
                }
            }
            let mut least = NEVER;
            for p in 0..m {
                let start = row[p].max(self.free[p]);
                let end = start + network.times[at + p];
                let rest = network.rests[at + p];
                if start < NEVER && end < NEVER && end + rest < cutoff {
                    self.starts[at + p] = start;
                    self.ends[at + p] = end;
                    least = least.min(end + rest);
                    earliest[p] = earliest[p].min(start);
                    rests[p] = rests[p].min(rest);
                } else {
                    self.starts[at + p] = NEVER;
                    self.ends[at + p] = NEVER;
                }
            }
            if least == NEVER {
                return None;
            }
            bound = bound.max(least);
        }
        self.free.copy_from_slice(&earliest[..m]);
        self.rests.copy_from_slice(&rests[..m]);
        let guess = self.weigh(network, layout, cutoff)?;
        Some(Promise {
            bound,
            guess: guess.max(bound),
        })
    }

    /// Compares priced work with the time that is left, of all and of what is before each operator.
    fn weigh(&mut self, network: &Network, layout: &Layout, cutoff: u32) -> Option<u32> {
        let m = network.processors;
        let mut guess = 0;
        for prices in &layout.prices {
            let mut total = 0;
            for (work, item) in self.work.iter_mut().zip(&layout.remaining) {
                let at = item.operator * m;
                *work = (0..m)
                    .filter(|&p| self.starts[at + p] < NEVER)
                    .map(|p| u64::from(network.times[at + p]) * prices.of[p])
                    .min()
                    .unwrap_or(0);
                total += *work;
            }
            let mut room = 0;
            let mut taken = 0;
            let mut sum = 0;
            for p in 0..m {
                if self.free[p] < NEVER {
                    let busy = self.free[p] + self.rests[p];
                    room += prices.of[p] * u64::from((cutoff - 1).saturating_sub(busy));
                    taken += prices.of[p] * u64::from(busy);
                    sum += prices.of[p];
                }
            }
            if total > room {
                return None;
            }
            if sum > 0 {
                guess = guess.max(u32::try_from((total + taken) / sum).unwrap_or(NEVER));
            }
            for item in &layout.remaining {
                if item.before.is_empty() {
                    continue;
                }
                let at = item.operator * m;
                let latest = (0..m)
                    .filter(|&p| self.starts[at + p] < NEVER)
                    .map(|p| cutoff - 1 - network.rests[at + p] - network.times[at + p])
                    .max()
                    .unwrap_or(0);
                let work: u64 = item.before.iter().map(|&index| self.work[index]).sum();
                let room: u64 = (0..m)
                    .map(|p| prices.of[p] * u64::from(latest.saturating_sub(self.free[p])))
                    .sum();
                if work > room {
                    return None;
                }
            }
        }
        Some(guess)
    }
}
