//! Questions about order: who reads what, levels, and how much can run at once.
//!
//! The width is exact by Dilworth's theorem: the largest antichain has as many operators as the fewest chains that cover all, which is
//! their number less a maximum matching of the transitive closure (Fulkerson 1956).

use std::collections::BTreeSet;

use super::{Graph, Op, OpId, Tensor, TensorRole};
use crate::arena::{Id, IdMap};

/// Up to this many operators the width is computed exactly: the closure takes a bit a pair.
pub const EXACT_WIDTH_LIMIT: usize = 2000;

/// Neighbours of the operators of a graph, free ones included.
#[derive(Clone, Debug)]
pub struct Topology {
    /// Operators that read a tensor, ascending, each once.
    pub readers: IdMap<Tensor, Vec<OpId>>,
    /// Operators whose results an operator reads, ascending, each once.
    pub predecessors: IdMap<Op, Vec<OpId>>,
    /// Operators that read its results, ascending, each once.
    pub successors: IdMap<Op, Vec<OpId>>,
}

/// How many operators can run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// The size of the largest antichain.
    Exact(usize),
    /// The largest level of a graph above [`EXACT_WIDTH_LIMIT`]: some antichain is at least as large.
    AtLeast(usize),
}

impl Topology {
    /// The neighbours in `graph`, whose operators stand in topological order.
    pub fn of(graph: &Graph) -> Self {
        let mut readers: IdMap<_, Vec<OpId>> = IdMap::filled(&graph.tensors, Vec::new());
        let mut successors: IdMap<_, Vec<OpId>> = IdMap::filled(&graph.ops, Vec::new());
        let mut predecessors: IdMap<_, Vec<OpId>> = IdMap::filled(&graph.ops, Vec::new());
        for (id, op) in graph.ops.iter() {
            let mut before = BTreeSet::new();
            for &operand in op.inputs.iter().flatten() {
                if readers[operand].last() != Some(&id) {
                    readers[operand].push(id);
                }
                if let TensorRole::Computed(producer) = graph.tensors[operand].role {
                    before.insert(producer);
                }
            }
            for &producer in &before {
                successors[producer].push(id);
            }
            predecessors[id] = before.into_iter().collect();
        }
        Self {
            readers,
            predecessors,
            successors,
        }
    }

    /// Length of the longest path that ends at each operator, one for an operator that reads inputs alone.
    pub fn levels(&self, graph: &Graph) -> IdMap<Op, usize> {
        let mut levels = IdMap::filled(&graph.ops, 1);
        for id in graph.ops.ids() {
            let before = self.predecessors[id].iter().map(|&before| levels[before]);
            levels[id] = before.max().unwrap_or(0) + 1;
        }
        levels
    }

    /// Operators on each level, lowest first.
    pub fn level_sizes(&self, graph: &Graph) -> Vec<usize> {
        let mut sizes = Vec::new();
        for (_, &level) in self.levels(graph).iter() {
            if sizes.len() < level {
                sizes.resize(level, 0);
            }
            sizes[level - 1] += 1;
        }
        sizes
    }

    /// The largest antichain.
    pub fn width(&self, graph: &Graph) -> Width {
        let count = graph.ops.len();
        if count > EXACT_WIDTH_LIMIT {
            let largest = self.level_sizes(graph).into_iter().max();
            return Width::AtLeast(largest.unwrap_or(0));
        }
        let closure = self.closure(count);
        Width::Exact(count - maximum_matching(&closure))
    }

    /// For each operator, which ones depend on it.
    fn closure(&self, count: usize) -> Vec<BitSet> {
        let mut closure = vec![BitSet::empty(count); count];
        for index in (0..count).rev() {
            let (head, tail) = closure.split_at_mut(index + 1);
            for &successor in &self.successors[Id::from_index(index)] {
                let successor = successor.index();
                head[index].insert(successor);
                head[index].unite(&tail[successor - index - 1]);
            }
        }
        closure
    }
}

/// Size of a maximum matching between operators and what depends on them: augmenting paths, found breadth first.
fn maximum_matching(closure: &[BitSet]) -> usize {
    let count = closure.len();
    let mut left_of: Vec<Option<usize>> = vec![None; count];
    let mut right_of: Vec<Option<usize>> = vec![None; count];
    let mut matched = 0;
    for start in 0..count {
        let mut unseen = BitSet::full(count);
        let mut reached_from = vec![None; count];
        let mut queue = vec![start];
        let mut next = 0;
        let mut end = None;
        'search: while next < queue.len() {
            let left = queue[next];
            next += 1;
            for right in closure[left].intersection(&unseen) {
                unseen.remove(right);
                reached_from[right] = Some(left);
                if let Some(other) = left_of[right] {
                    queue.push(other);
                } else {
                    end = Some(right);
                    break 'search;
                }
            }
        }
        matched += usize::from(end.is_some());
        while let Some(right) = end {
            let left = reached_from[right].expect("the path was walked from its start");
            left_of[right] = Some(left);
            end = right_of[left].replace(right);
        }
    }
    matched
}

/// A set of small numbers.
#[derive(Clone, Debug)]
struct BitSet {
    words: Vec<u64>,
}

impl BitSet {
    fn empty(count: usize) -> Self {
        Self {
            words: vec![0; count.div_ceil(64)],
        }
    }

    fn full(count: usize) -> Self {
        Self {
            words: vec![u64::MAX; count.div_ceil(64)],
        }
    }

    fn insert(&mut self, number: usize) {
        self.words[number / 64] |= 1 << (number % 64);
    }

    fn remove(&mut self, number: usize) {
        self.words[number / 64] &= !(1 << (number % 64));
    }

    fn unite(&mut self, other: &Self) {
        for (word, &more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// The common numbers, ascending.
    fn intersection(&self, other: &Self) -> Vec<usize> {
        let mut common = Vec::new();
        for (index, (&left, &right)) in self.words.iter().zip(&other.words).enumerate() {
            let mut word = left & right;
            while word != 0 {
                common.push(index * 64 + word.trailing_zeros() as usize);
                word &= word - 1;
            }
        }
        common
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching(edges: &[(usize, usize)], count: usize) -> usize {
        let mut closure = vec![BitSet::empty(count); count];
        for &(from, to) in edges {
            closure[from].insert(to);
        }
        maximum_matching(&closure)
    }

    #[test]
    fn matchings_are_augmented() {
        assert_eq!(matching(&[], 3), 0);
        // Greedy takes 0-1 first and has to move it for 2-1.
        assert_eq!(matching(&[(0, 1), (0, 3), (2, 1)], 4), 2);
        // A chain of n has a matching of n - 1 and so width 1.
        let chain: Vec<_> = (0..70)
            .flat_map(|a| (a + 1..70).map(move |b| (a, b)))
            .collect();
        assert_eq!(matching(&chain, 70), 69);
    }
}
