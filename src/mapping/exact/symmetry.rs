//! Identical branches: sets of operators that can change places with each other without changing the problem, such as the heads of an attention layer.
//!
//! States that differ only in which of them is how far are the same state, so the search keeps one of them: branches in falling order of what they have done, then of when their next inputs arrive.

use std::collections::{BTreeMap, HashMap};

use super::layout::Layout;
use super::network::{Edge, Network};

/// Branches of all families together: their order is packed into a word, four bits each.
const MOST_BRANCHES: usize = 16;

/// Which branch of a state is which of the state before it, four bits each.
pub(super) type Order = u64;

/// All families of identical branches of a network.
#[derive(Debug)]
pub(super) struct Symmetry {
    /// Operators of each branch; those at the same place of two branches of one family correspond.
    branches: Vec<Vec<usize>>,
    /// Ranges of `branches`.
    families: Vec<std::ops::Range<usize>>,
    /// Branch of each operator.
    branch_of: Vec<Option<usize>>,
}

impl Symmetry {
    pub(super) fn new(network: &Network) -> Self {
        let mut symmetry = Self {
            branches: Vec::new(),
            families: Vec::new(),
            branch_of: vec![None; network.operators],
        };
        let colours = colours(network);
        let mut alike: BTreeMap<Vec<usize>, Vec<Vec<usize>>> = BTreeMap::new();
        for mut branch in components(network, &colours) {
            branch.sort_unstable_by_key(|&v| colours[v]);
            let key: Vec<usize> = branch.iter().map(|&v| colours[v]).collect();
            // Two operators of one branch with the same colour could correspond to two others in several ways.
            if key.windows(2).all(|pair| pair[0] != pair[1]) {
                alike.entry(key).or_default().push(branch);
            }
        }
        for mut family in alike.into_values() {
            let first = family[0].clone();
            let mut is_first = true;
            family.retain(|branch| {
                std::mem::take(&mut is_first) || can_be_exchanged(network, &first, branch)
            });
            let start = symmetry.branches.len();
            if family.len() < 2 || start + family.len() > MOST_BRANCHES {
                continue;
            }
            for branch in family {
                for &v in &branch {
                    symmetry.branch_of[v] = Some(symmetry.branches.len());
                }
                symmetry.branches.push(branch);
            }
            symmetry.families.push(start..symmetry.branches.len());
        }
        symmetry
    }

    pub(super) fn identity(&self) -> Order {
        packed(&(0..self.branches.len()).collect::<Vec<_>>())
    }

    /// What a branch has done, as a bit mask of its places.
    fn progress(&self, branch: usize, done: u64) -> u64 {
        self.branches[branch]
            .iter()
            .enumerate()
            .map(|(place, &v)| (done >> v & 1) << place)
            .sum()
    }

    /// Branches in the order of the state that stands for all with these done operators.
    pub(super) fn order(&self, done: u64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.branches.len()).collect();
        for family in &self.families {
            order[family.clone()]
                .sort_by_key(|&branch| std::cmp::Reverse(self.progress(branch, done)));
        }
        order
    }

    /// The operator that was `v` before branches were put in `order`.
    pub(super) fn before(&self, order: &[usize], v: usize) -> usize {
        let Some(branch) = self.branch_of[v] else {
            return v;
        };
        let place = self.branches[branch].iter().position(|&other| other == v);
        place.map_or(v, |place| self.branches[order[branch]][place])
    }

    /// The done operators with branches in `order`.
    pub(super) fn reordered(&self, order: &[usize], done: u64) -> u64 {
        let mut reordered = done;
        for (branch, operators) in self.branches.iter().enumerate() {
            for (place, &v) in operators.iter().enumerate() {
                let from = self.branches[order[branch]][place];
                reordered = reordered & !(1 << v) | (done >> from & 1) << v;
            }
        }
        reordered
    }

    /// Pairs of branches next to each other that have done the same, with the rows of their pending operators.
    pub(super) fn ties(&self, layout: &Layout) -> Vec<Tie> {
        let mut ties = Vec::new();
        for family in &self.families {
            let mut start = family.start;
            while start < family.end {
                let progress = self.progress(start, layout.done);
                let end = (start..family.end)
                    .find(|&branch| self.progress(branch, layout.done) != progress)
                    .unwrap_or(family.end);
                let places: Vec<usize> = (0..self.branches[start].len())
                    .filter(|&place| layout.pending.contains(&self.branches[start][place]))
                    .collect();
                if end - start > 1 && !places.is_empty() {
                    ties.push(Tie {
                        first: start,
                        rows: (start..end)
                            .map(|branch| {
                                places
                                    .iter()
                                    .map(|&place| self.branches[branch][place])
                                    .collect()
                            })
                            .collect(),
                    });
                }
                start = end;
            }
        }
        ties
    }

    /// The branch before that of `v`, if they have done the same, as pairs of pending places in `layout`.
    pub(super) fn twin(&self, layout: &Layout, v: usize) -> Option<Vec<(usize, usize)>> {
        let branch = self.branch_of[v]?;
        let family = self
            .families
            .iter()
            .find(|family| family.contains(&branch))?;
        let other = branch
            .checked_sub(1)
            .filter(|other| family.contains(other))?;
        if self.progress(branch, layout.done) != self.progress(other, layout.done) {
            return None;
        }
        let place_of = |v: usize| layout.pending.iter().position(|&pending| pending == v);
        let pairs = self.branches[branch].iter().zip(&self.branches[other]);
        Some(
            pairs
                .filter_map(|(&own, &others)| Some((place_of(own)?, place_of(others)?)))
                .collect(),
        )
    }

    /// The operators that were really run, where each step names them by the order of the state before it.
    pub(super) fn unravel(&self, steps: impl Iterator<Item = (usize, Order)>) -> Vec<usize> {
        let mut real: Vec<usize> = (0..self.branches.len()).collect();
        steps
            .map(|(v, order)| {
                let run = self.before(&real, v);
                real = (0..real.len())
                    .map(|branch| real[nibble(order, branch)])
                    .collect();
                run
            })
            .collect()
    }
}

/// Branches that have done the same, and the pending operators of each.
#[derive(Debug)]
pub(super) struct Tie {
    first: usize,
    rows: Vec<Vec<usize>>,
}

impl Tie {
    /// Puts the branches in the order of their earliest starts, which are exchanged, and notes it in `order`.
    pub(super) fn sort(&self, starts: &mut [u32], processors: usize, order: &mut [usize]) {
        let row = |v: usize| v * processors..(v + 1) * processors;
        // Insertion: there are few, and most are in order.
        for end in 1..self.rows.len() {
            for at in (1..=end).rev() {
                let (own, others) = (&self.rows[at], &self.rows[at - 1]);
                let is_before = own
                    .iter()
                    .zip(others)
                    .map(|(&v, &w)| starts[row(v)].cmp(&starts[row(w)]))
                    .find(|ordering| ordering.is_ne())
                    .is_some_and(std::cmp::Ordering::is_lt);
                if !is_before {
                    break;
                }
                for (&v, &w) in own.iter().zip(others) {
                    for p in 0..processors {
                        starts.swap(v * processors + p, w * processors + p);
                    }
                }
                order.swap(self.first + at, self.first + at - 1);
            }
        }
    }
}

pub(super) fn packed(order: &[usize]) -> Order {
    let nibbles = order.iter().enumerate();
    nibbles.fold(0, |packed, (branch, &from)| {
        packed | (from as u64) << (4 * branch)
    })
}

fn nibble(order: Order, branch: usize) -> usize {
    usize::try_from(order >> (4 * branch) & 15).expect("four bits")
}

/// Colours that operators which can change places have in common: rounds of refinement by neighbours (Weisfeiler and Leman).
fn colours(network: &Network) -> Vec<usize> {
    let m = network.processors;
    let row = |table: &[u32], v: usize| table[v * m..(v + 1) * m].to_vec();
    let first = (0..network.operators).map(|v| {
        [
            row(&network.times, v),
            row(&network.heads, v),
            row(&network.rests, v),
            network.ways_home(v).to_vec(),
        ]
    });
    let mut colours = numbered(first);
    loop {
        let side = |v: usize, edges: &[Vec<usize>], other: fn(Edge) -> usize| {
            let mut seen: Vec<(usize, &[u32])> = edges[v]
                .iter()
                .map(|&edge| network.edges[edge])
                .map(|edge| (colours[other(edge)], network.delays(edge)))
                .collect();
            seen.sort_unstable();
            seen
        };
        let refined = numbered((0..network.operators).map(|v| {
            let read = side(v, &network.incoming, |edge| edge.from);
            (colours[v], read, side(v, &network.outgoing, |edge| edge.to))
        }));
        let count = |colours: &[usize]| colours.iter().max().copied();
        if count(&refined) == count(&colours) {
            return colours;
        }
        colours = refined;
    }
}

/// Equal ones get equal numbers, in the order in which they come.
fn numbered<T: std::hash::Hash + Eq>(items: impl Iterator<Item = T>) -> Vec<usize> {
    let mut numbers = HashMap::new();
    items
        .map(|item| {
            let next = numbers.len();
            *numbers.entry(item).or_insert(next)
        })
        .collect()
}

/// Connected sets of operators whose colour is not theirs alone.
fn components(network: &Network, colours: &[usize]) -> Vec<Vec<usize>> {
    let is_shared = |v: usize| {
        colours
            .iter()
            .filter(|&&colour| colour == colours[v])
            .count()
            > 1
    };
    let shared: Vec<bool> = (0..network.operators).map(is_shared).collect();
    let mut root: Vec<usize> = (0..network.operators).collect();
    for edge in &network.edges {
        if shared[edge.from] && shared[edge.to] {
            let (from, to) = (root[edge.from], root[edge.to]);
            for other in &mut root {
                if *other == to {
                    *other = from;
                }
            }
        }
    }
    let mut components: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for v in (0..network.operators).filter(|&v| shared[v]) {
        components.entry(root[v]).or_default().push(v);
    }
    components.into_values().collect()
}

/// Whether every edge is still there, with the same delays, after all of `first` and `second` changed places.
fn can_be_exchanged(network: &Network, first: &[usize], second: &[usize]) -> bool {
    let exchanged = |v: usize| {
        let in_other = |from: &[usize], to: &[usize]| {
            from.iter()
                .position(|&other| other == v)
                .map(|place| to[place])
        };
        in_other(first, second)
            .or_else(|| in_other(second, first))
            .unwrap_or(v)
    };
    let delays: HashMap<(usize, usize), &[u32]> = network
        .edges
        .iter()
        .map(|&edge| ((edge.from, edge.to), network.delays(edge)))
        .collect();
    delays.iter().all(|(&(from, to), delays_of)| {
        delays.get(&(exchanged(from), exchanged(to))) == Some(delays_of)
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::oracle::{instance, random_branches};
    use super::*;

    fn sizes(problem: &super::super::super::Problem) -> Vec<Vec<usize>> {
        let symmetry = Symmetry::new(&Network::new(problem).unwrap());
        let size = |family: &std::ops::Range<usize>| {
            symmetry.branches[family.clone()]
                .iter()
                .map(Vec::len)
                .collect()
        };
        symmetry.families.iter().map(size).collect()
    }

    #[test]
    fn attention_heads_are_found_and_nothing_else() {
        assert_eq!(sizes(&instance("tf4_p3").0), [[8; 4]]);
        assert_eq!(sizes(&instance("tf2_p3").0), [[8; 2]]);
        assert_eq!(sizes(&instance("lay50_p3").0), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn a_branch_with_another_time_is_another_branch() {
        for seed in 0..50 {
            assert_eq!(
                sizes(&random_branches(seed, 3, 2, 3, false)).concat().len() % 3,
                0
            );
            let spoiled: usize = sizes(&random_branches(seed, 3, 2, 3, true))
                .concat()
                .iter()
                .sum();
            assert!(spoiled < 6, "{seed}: {spoiled} operators can change places");
        }
    }
}
