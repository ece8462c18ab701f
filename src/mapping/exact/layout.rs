//! What states with the same set of done operators have in common.

use super::network::{Network, mask_of, members};
use super::prices::Prices;

/// The meaning of the numbers of a state: when each processor is free, then the earliest start of each pending operator on each.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) done: u64,
    /// Operators to be done, in topological order.
    pub(super) remaining: Vec<Remaining>,
    /// Operators to be done that read what is done.
    pub(super) pending: Vec<usize>,
    /// Operators all of whose inputs are done.
    pub(super) ready: Vec<usize>,
    /// The place of each of these among the pending ones.
    pub(super) slots: Vec<Option<usize>>,
    pub(super) prices: Vec<Prices>,
}

/// An operator to be done.
#[derive(Debug)]
pub(super) struct Remaining {
    pub(super) operator: usize,
    /// Its place among the pending ones.
    pub(super) pending: Option<usize>,
    /// Edges from operators that are to be done too.
    pub(super) inner: Vec<usize>,
    /// Pairs of these whose producers can be in either order.
    pub(super) pairs: Vec<(usize, usize)>,
    /// Indices in `remaining` of all that must be done before it, if they are many enough to count.
    pub(super) before: Vec<usize>,
}

/// Fewer operators before another one say less than their longest path.
const FEWEST: usize = 2;

impl Layout {
    pub(super) fn new(network: &Network, done: u64) -> Self {
        let to_do = mask_of(network.operators) & !done;
        let pending: Vec<usize> = members(to_do)
            .filter(|&v| network.before[v] & done != 0)
            .collect();
        let list: Vec<usize> = members(to_do).collect();
        let remaining = list
            .iter()
            .map(|&operator| {
                let before = network.before[operator] & to_do;
                let inner: Vec<usize> = network.incoming[operator]
                    .iter()
                    .copied()
                    .filter(|&edge| to_do & 1 << network.edges[edge].from != 0)
                    .collect();
                let mut pairs = Vec::new();
                for (index, &first) in inner.iter().enumerate() {
                    for &second in &inner[index + 1..] {
                        let (u, w) = (network.edges[first].from, network.edges[second].from);
                        if (network.before[u] >> w | network.before[w] >> u) & 1 == 0 {
                            pairs.push((first, second));
                        }
                    }
                }
                Remaining {
                    pairs,
                    operator,
                    pending: pending.iter().position(|&other| other == operator),
                    inner,
                    before: if before.count_ones() as usize > FEWEST {
                        members(before)
                            .filter_map(|v| list.iter().position(|&other| other == v))
                            .collect()
                    } else {
                        Vec::new()
                    },
                }
            })
            .collect();
        let ready: Vec<usize> = members(to_do)
            .filter(|&v| network.before[v] & to_do == 0)
            .collect();
        Self {
            done,
            remaining,
            slots: ready
                .iter()
                .map(|v| pending.iter().position(|other| other == v))
                .collect(),
            ready,
            prices: vec![Prices::from_known(network, to_do)],
            pending,
        }
    }

    /// How many numbers a state has.
    pub(super) fn stride(&self, processors: usize) -> usize {
        processors * (1 + self.pending.len())
    }
}
