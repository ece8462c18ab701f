//! Bounds of a state, and its normal form below the cutoff.

use super::layout::Layout;
use super::network::{Edge, NEVER, Network};

/// Numbers of the state at hand.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) free: Vec<u32>,
    /// Earliest start of `v` on `p` at `v · P + p`; [`NEVER`] where it cannot end in time.
    pub(super) starts: Vec<u32>,
    /// Earliest end, likewise.
    ends: Vec<u32>,
    /// Latest start below the cutoff, likewise; zero where there is none.
    latest: Vec<u32>,
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
            latest: vec![0; size],
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
        match network.processors {
            2 => self.settle_on::<2>(network, layout, cutoff),
            3 => self.settle_on::<3>(network, layout, cutoff),
            4 => self.settle_on::<4>(network, layout, cutoff),
            _ => self.settle_on::<0>(network, layout, cutoff),
        }
    }

    /// With the number of processors known to the compiler, or zero for any.
    fn settle_on<const M: usize>(
        &mut self,
        network: &Network,
        layout: &Layout,
        cutoff: u32,
    ) -> Option<Promise> {
        let m = if M == 0 { network.processors } else { M };
        let mut bound = 0;
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
            for &(first, second) in &item.pairs {
                let (first, second) = (network.edges[first], network.edges[second]);
                self.join::<M>(network, first, second, cutoff, row);
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
        self.look_back::<M>(network, layout, cutoff)?;
        let guess = self.weigh::<M>(network, layout, cutoff)?;
        Some(Promise {
            bound,
            guess: guess.max(bound),
        })
    }

    /// Latest starts below the cutoff, from the end; removes processors on which an operator cannot be in time.
    fn look_back<const M: usize>(
        &mut self,
        network: &Network,
        layout: &Layout,
        cutoff: u32,
    ) -> Option<()> {
        let m = if M == 0 { network.processors } else { M };
        self.free.fill(NEVER);
        self.rests.fill(NEVER);
        for item in layout.remaining.iter().rev() {
            let at = item.operator * m;
            let mut latest = [0; 16];
            let latest = &mut latest[..m];
            for (latest, &rest) in latest.iter_mut().zip(&network.rests[at..at + m]) {
                *latest = (cutoff - 1).saturating_sub(rest);
            }
            for &edge in &network.outgoing[item.operator] {
                let edge = network.edges[edge];
                let delays = network.delays(edge);
                for (p, latest) in latest.iter_mut().enumerate() {
                    let mut most = 0;
                    for q in 0..m {
                        most = most
                            .max(self.latest[edge.to * m + q].saturating_sub(delays[p * m + q]));
                    }
                    *latest = most.min(*latest);
                }
            }
            let mut is_possible = false;
            for p in 0..m {
                let start = self.starts[at + p];
                if start < NEVER && self.ends[at + p] <= latest[p] {
                    is_possible = true;
                    self.latest[at + p] = latest[p] - network.times[at + p];
                    self.free[p] = self.free[p].min(start);
                    self.rests[p] = self.rests[p].min(cutoff - 1 - latest[p]);
                } else {
                    self.starts[at + p] = NEVER;
                    self.ends[at + p] = NEVER;
                    self.latest[at + p] = 0;
                }
            }
            if !is_possible {
                return None;
            }
        }
        Some(())
    }

    /// Raises the earliest starts of an operator by two inputs at once: on one processor their producers wait for each other, on two one of them is moved or both are.
    fn join<const M: usize>(
        &self,
        network: &Network,
        first: Edge,
        second: Edge,
        cutoff: u32,
        row: &mut [u32],
    ) {
        let m = if M == 0 { network.processors } else { M };
        let (at, other_at) = (first.from * m, second.from * m);
        let (delays, other_delays) = (network.delays(first), network.delays(second));
        // Ends of both on one processor, the first one first and the second one first.
        let mut ends = [[NEVER; 2]; 16];
        for (q, ends) in ends.iter_mut().enumerate().take(m) {
            let end =
                self.ends[at + q].max(self.starts[other_at + q]) + network.times[other_at + q];
            let other = self.ends[other_at + q].max(self.starts[at + q]) + network.times[at + q];
            let is_in_time =
                |end: u32, at: usize| end < NEVER && end + network.rests[at + q] < cutoff;
            *ends = [
                if is_in_time(end, other_at) {
                    end
                } else {
                    NEVER
                },
                if is_in_time(other, at) { other } else { NEVER },
            ];
        }
        for (p, start) in row.iter_mut().enumerate() {
            if *start >= NEVER {
                continue;
            }
            let mut least = [(u32::MAX, 0); 2];
            let mut next = [u32::MAX; 2];
            let mut together = u32::MAX;
            for q in 0..m {
                let (delay, other_delay) = (delays[q * m + p], other_delays[q * m + p]);
                let arrivals = [
                    self.ends[at + q] + delay,
                    self.ends[other_at + q] + other_delay,
                ];
                together = together
                    .min(arrivals[0].max(ends[q][0] + other_delay))
                    .min(arrivals[1].max(ends[q][1] + delay));
                for (side, &arrival) in arrivals.iter().enumerate() {
                    if arrival < least[side].0 {
                        next[side] = least[side].0;
                        least[side] = (arrival, q);
                    } else {
                        next[side] = next[side].min(arrival);
                    }
                }
            }
            let apart = if least[0].1 == least[1].1 {
                least[0].0.max(next[1]).min(next[0].max(least[1].0))
            } else {
                least[0].0.max(least[1].0)
            };
            *start = apart.min(together).max(*start);
        }
    }

    /// Compares priced work with the time that is left, of all and of what is before each operator.
    fn weigh<const M: usize>(
        &mut self,
        network: &Network,
        layout: &Layout,
        cutoff: u32,
    ) -> Option<u32> {
        let m = if M == 0 { network.processors } else { M };
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
            let even = (total + taken).checked_div(sum).unwrap_or(0);
            guess = guess.max(u32::try_from(even).unwrap_or(NEVER));
            for item in &layout.remaining {
                if item.before.is_empty() {
                    continue;
                }
                let at = item.operator * m;
                let latest = (0..m)
                    .filter(|&p| self.starts[at + p] < NEVER)
                    .map(|p| self.latest[at + p])
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
