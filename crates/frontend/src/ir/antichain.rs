//! Antichains of a dependency order: sets of nodes of which none depends on another, so that all of them can run at once.
//!
//! The largest one is found by Dilworth's theorem: it has as many nodes as the fewest chains that cover all, which is their number less a maximum matching of the transitive closure (Fulkerson 1956).
//! The closure takes a bit a pair and the matching up to the cube of the number of nodes over 64, so orders above [`LARGEST_EXACT`] are measured by their levels alone.

use std::fmt;

use petgraph::adj::{List, UnweightedList};
use petgraph::algo::tred::dag_transitive_reduction_closure;
use petgraph::visit::IntoNeighbors;

/// Up to this many nodes the largest antichain is sought.
pub const LARGEST_EXACT: usize = 2048;

/// The largest number of nodes that are independent of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// So many.
    Exactly(usize),
    /// At least so many, because the order was too large for the exact search.
    AtLeast(usize),
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(width) => write!(f, "{width}"),
            Self::AtLeast(width) => write!(f, "at least {width}"),
        }
    }
}

impl Width {
    /// The width of an order: exact up to [`LARGEST_EXACT`] nodes.
    ///
    /// Node `i` depends directly on `dependencies[i]`, which are all less than `i`.
    pub fn of(dependencies: &[Vec<usize>]) -> Self {
        if dependencies.len() <= LARGEST_EXACT {
            Self::Exactly(largest_antichain(dependencies))
        } else {
            Self::AtLeast(largest_level(dependencies))
        }
    }

    /// The width of two orders side by side, nodes of which never run at once.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        match (self, other) {
            (Self::Exactly(one), Self::Exactly(two)) => Self::Exactly(one.max(two)),
            (Self::Exactly(one) | Self::AtLeast(one), Self::Exactly(two) | Self::AtLeast(two)) => {
                Self::AtLeast(one.max(two))
            }
        }
    }
}

/// How many nodes end a longest path of one node, of two, and so on; those of one level are independent.
///
/// Node `i` depends directly on `dependencies[i]`, which are all less than `i`.
pub fn level_sizes(dependencies: &[Vec<usize>]) -> Vec<usize> {
    let mut level_of = Vec::with_capacity(dependencies.len());
    let mut sizes = Vec::new();
    for before in dependencies {
        let level = before.iter().map(|&other| level_of[other] + 1).max();
        let level = level.unwrap_or(0);
        if sizes.len() <= level {
            sizes.push(0);
        }
        sizes[level] += 1;
        level_of.push(level);
    }
    sizes
}

fn largest_level(dependencies: &[Vec<usize>]) -> usize {
    level_sizes(dependencies).into_iter().max().unwrap_or(0)
}

fn largest_antichain(dependencies: &[Vec<usize>]) -> usize {
    dependencies.len() - maximum_matching(&closure(dependencies))
}

/// For each node, a bit for each node that depends on it.
fn closure(dependencies: &[Vec<usize>]) -> Vec<Vec<u64>> {
    let mut order: UnweightedList<u32> = List::with_capacity(dependencies.len());
    for (node, before) in (0..).zip(dependencies) {
        order.add_node();
        for &other in before {
            // Successors arrive in ascending order, as the reduction asks for.
            order.add_edge(u32_of(other), node, ());
        }
    }
    let (_, closure) = dag_transitive_reduction_closure(&order);
    let mut rows = vec![vec![0; dependencies.len().div_ceil(64)]; dependencies.len()];
    for (row, node) in rows.iter_mut().zip(closure.node_indices()) {
        for after in closure.neighbors(node) {
            row[after as usize / 64] |= 1 << (after % 64);
        }
    }
    rows
}

fn u32_of(node: usize) -> u32 {
    u32::try_from(node).expect("orders that are searched are small")
}

/// Size of a maximum matching, where row `i` holds the columns that `i` may be matched to; augmenting paths by breadth-first search.
fn maximum_matching(rows: &[Vec<u64>]) -> usize {
    let mut row_of: Vec<Option<usize>> = vec![None; rows.len()];
    let mut column_of: Vec<Option<usize>> = vec![None; rows.len()];
    let mut size = 0;
    for start in 0..rows.len() {
        let mut unseen = vec![u64::MAX; rows.first().map_or(0, Vec::len)];
        let mut reached_from = vec![start; rows.len()];
        let mut open = vec![start];
        let mut next = 0;
        let mut free = None;
        while let (Some(&row), None) = (open.get(next), free) {
            next += 1;
            for (word, (columns, unseen)) in rows[row].iter().zip(&mut unseen).enumerate() {
                let mut fresh = columns & *unseen;
                *unseen &= !fresh;
                while fresh != 0 {
                    let column = word * 64 + fresh.trailing_zeros() as usize;
                    fresh &= fresh - 1;
                    reached_from[column] = row;
                    match row_of[column] {
                        Some(matched) => open.push(matched),
                        None => free = free.or(Some(column)),
                    }
                }
            }
        }
        size += usize::from(free.is_some());
        while let Some(column) = free {
            let row = reached_from[column];
            row_of[column] = Some(row);
            free = column_of[row].replace(column);
        }
    }
    size
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The largest antichain by trying every set.
    fn by_enumeration(dependencies: &[Vec<usize>]) -> usize {
        let count = dependencies.len();
        let mut behind = vec![0_u32; count];
        for (node, before) in dependencies.iter().enumerate() {
            for &other in before {
                behind[node] |= behind[other] | 1 << other;
            }
        }
        let is_antichain =
            |set: u32| (0..count).all(|node| set >> node & 1 == 0 || behind[node] & set == 0);
        let sets = (0..1_u32 << count).filter(|&set| is_antichain(set));
        sets.map(|set| set.count_ones() as usize).max().unwrap_or(0)
    }

    fn order() -> impl Strategy<Value = Vec<Vec<usize>>> {
        (0_usize..9).prop_flat_map(|count| {
            let pairs = count * count.saturating_sub(1) / 2;
            prop::collection::vec(prop::bool::weighted(0.3), pairs).prop_map(move |depends| {
                let mut depends = depends.into_iter();
                (0..count)
                    .map(|node| (0..node).filter(|_| depends.next().unwrap()).collect())
                    .collect()
            })
        })
    }

    proptest! {
        #[test]
        fn the_width_is_that_of_the_largest_independent_set(order in order()) {
            prop_assert_eq!(Width::of(&order), Width::Exactly(by_enumeration(&order)));
            prop_assert!(largest_level(&order) <= by_enumeration(&order));
        }
    }

    #[test]
    fn a_chain_is_one_wide_and_nothing_is_none() {
        let chain: Vec<Vec<usize>> = (0..70)
            .map(|node| (node.max(1) - 1..node).collect())
            .collect();
        assert_eq!(Width::of(&chain), Width::Exactly(1));
        assert_eq!(Width::of(&[]), Width::Exactly(0));
    }

    #[test]
    fn an_order_too_large_is_measured_from_below() {
        let independent = vec![Vec::new(); LARGEST_EXACT];
        assert_eq!(Width::of(&independent), Width::Exactly(LARGEST_EXACT));
        let independent = vec![Vec::new(); LARGEST_EXACT + 1];
        assert_eq!(Width::of(&independent), Width::AtLeast(LARGEST_EXACT + 1));
    }

    #[test]
    fn the_larger_width_counts_and_a_doubt_stays() {
        assert_eq!(Width::Exactly(3).max(Width::Exactly(2)), Width::Exactly(3));
        assert_eq!(Width::Exactly(3).max(Width::AtLeast(2)), Width::AtLeast(3));
    }
}
