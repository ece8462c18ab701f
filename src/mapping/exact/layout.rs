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
                Remaining {
                    operator,
                    pending: pending.iter().position(|&other| other == operator),
                    inner: network.incoming[operator]
                        .iter()
                        .copied()
                        .filter(|&edge| to_do & 1 << network.edges[edge].from != 0)
                        .collect(),
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
        Self {
            done,
            remaining,
            ready: members(to_do)
                .filter(|&v| network.before[v] & to_do == 0)
                .collect(),
            prices: vec![Prices::of(network, to_do)],
            pending,
        }
    }

    /// How many numbers a state has.
    pub(super) fn stride(&self, processors: usize) -> usize {
        processors * (1 + self.pending.len())
    }
}
