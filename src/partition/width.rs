//! The width of a graph: how many operators can run at once.
//!
//! That is the largest set of operators of which none depends on another.
//! Operators of such a set lie between the same two gates, so it is sought there; by Dilworth's theorem it is the number of operators less a maximum matching in the bipartite graph of the transitive closure.

use serde::Serialize;

use super::blocks::{gates, runs};
use super::{FusedGraph, FusedOpId};

/// Blocks with more operators are measured by levels alone: the closure takes the square of this in bits, the matching its cube in machine words over 64.
const LARGEST_EXACT: usize = 2048;

/// The largest number of operators that are independent of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Width {
    /// So many.
    Exactly(usize),
    /// At least so many, because a block was too large for the exact search.
    AtLeast(usize),
}

/// The width of `graph`.
pub fn width(graph: &FusedGraph) -> Width {
    let all: Vec<_> = graph.ops.ids().collect();
    let mut widest = usize::from(!all.is_empty());
    let mut exact = true;
    for run in runs(&all, &gates(graph)) {
        if run.between.len() <= LARGEST_EXACT {
            widest = widest.max(largest_antichain(graph, run.between));
        } else {
            exact = false;
            widest = widest.max(largest_level(graph, run.between));
        }
    }
    if exact {
        Width::Exactly(widest)
    } else {
        Width::AtLeast(widest)
    }
}

/// Positions in `ops` (ascending) that each of them depends on directly.
fn direct_dependencies(graph: &FusedGraph, ops: &[FusedOpId]) -> Vec<Vec<usize>> {
    let within = |id: FusedOpId| ops.binary_search(&id).ok();
    ops.iter()
        .map(|&id| graph.producers(id).into_iter().filter_map(within).collect())
        .collect()
}

/// The most operators with the same longest path behind them; they are independent.
fn largest_level(graph: &FusedGraph, ops: &[FusedOpId]) -> usize {
    let mut level = vec![0; ops.len()];
    let mut count = vec![0; ops.len()];
    for (at, dependencies) in direct_dependencies(graph, ops).iter().enumerate() {
        let before = dependencies.iter().map(|&other| level[other] + 1);
        level[at] = before.max().unwrap_or(0);
        count[level[at]] += 1;
    }
    count.into_iter().max().unwrap_or(0)
}

fn largest_antichain(graph: &FusedGraph, ops: &[FusedOpId]) -> usize {
    let words = ops.len().div_ceil(64);
    let mut depends: Vec<Vec<u64>> = Vec::with_capacity(ops.len());
    for dependencies in direct_dependencies(graph, ops) {
        let mut row = vec![0; words];
        for other in dependencies {
            row[other / 64] |= 1 << (other % 64);
            for (word, more) in row.iter_mut().zip(&depends[other]) {
                *word |= more;
            }
        }
        depends.push(row);
    }
    ops.len() - maximum_matching(&depends)
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
    use paracompile_plan::OpClass::{Concat, MaxPool};

    use super::*;
    use crate::partition::fuse;
    use crate::partition::sketch::Sketch;

    #[test]
    fn a_chain_is_one_wide_and_nothing_is_none() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let a = sketch.op("a", MaxPool, &[x]);
        let b = sketch.op("b", MaxPool, &[a]);
        assert_eq!(width(&fuse(&sketch.finish(&[b]))), Width::Exactly(1));
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let view = sketch.view("view", x);
        assert_eq!(width(&fuse(&sketch.finish(&[view]))), Width::Exactly(0));
    }

    #[test]
    fn independent_operators_of_different_levels_count_together() {
        // Levels hold two operators each; a2, b1 and c are independent, and so are a2, b2 and c.
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let a1 = sketch.op("a1", MaxPool, &[x]);
        let a2 = sketch.op("a2", MaxPool, &[a1]);
        let b1 = sketch.op("b1", MaxPool, &[x]);
        let b2 = sketch.op("b2", MaxPool, &[b1]);
        let c = sketch.op("c", MaxPool, &[a1]);
        let join = sketch.op("join", Concat, &[a2, b2, c]);
        assert_eq!(width(&fuse(&sketch.finish(&[join]))), Width::Exactly(3));
    }

    #[test]
    fn a_block_too_large_is_measured_from_below() {
        let mut sketch = Sketch::new();
        let x = sketch.input("x");
        let many: Vec<_> = (0..=LARGEST_EXACT)
            .map(|index| sketch.op(&format!("op{index}"), MaxPool, &[x]))
            .collect();
        let join = sketch.op("join", Concat, &many);
        let measured = width(&fuse(&sketch.finish(&[join])));
        assert_eq!(measured, Width::AtLeast(LARGEST_EXACT + 1));
    }
}
