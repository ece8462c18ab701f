//! The width of a graph: how many operators can run at once.
//!
//! That is the largest set of operators of which none depends on another.
//! Operators of such a set lie between the same two gates, so it is sought there.

use paracompile_frontend::ir::antichain::Width;

use super::blocks::{gates, runs};
use super::{FusedGraph, FusedOpId};

/// The width of `graph`; exact unless a block is too large.
pub fn width(graph: &FusedGraph) -> Width {
    let all: Vec<_> = graph.ops.ids().collect();
    let alone = Width::Exactly(usize::from(!all.is_empty()));
    runs(&all, &gates(graph))
        .iter()
        .map(|run| Width::of(&direct_dependencies(graph, run.between)))
        .fold(alone, Width::max)
}

/// Positions in `ops` (ascending) that each of them depends on directly.
fn direct_dependencies(graph: &FusedGraph, ops: &[FusedOpId]) -> Vec<Vec<usize>> {
    let within = |id: FusedOpId| ops.binary_search(&id).ok();
    ops.iter()
        .map(|&id| graph.producers(id).into_iter().filter_map(within).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use paracompile_frontend::ir::antichain::LARGEST_EXACT;
    use paracompile_plan::OpClass::{Concat, MaxPool};

    use super::*;
    use crate::partition::fuse;
    use paracompile_testkit::sketch::Sketch;

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
