//! Bottom-level ranks (Topcuoglu, Hariri and Wu 2002, section 4; `PySchedCL`, section V): what is left to do from a kernel to the end.

use std::ops::Add;

use super::Components;
use crate::import::kernels::KernelGraph;

/// `rank(k) = w(k) + max rank(j)` over the kernels `j` that wait for `k`, where `weights` are `w`, by kernel and in any unit of time.
///
/// # Panics
///
/// Where there are not as many weights as kernels.
pub fn bottom_level_ranks<T>(graph: &KernelGraph, weights: &[T]) -> Vec<T>
where
    T: Copy + Default + Ord + Add<Output = T>,
{
    assert_eq!(weights.len(), graph.kernels.len(), "a weight a kernel");
    let mut ranks = weights.to_vec();
    let mut behind = vec![T::default(); ranks.len()];
    for (id, kernel) in graph.kernels.iter().rev() {
        let rank = weights[id.index()] + behind[id.index()];
        ranks[id.index()] = rank;
        for parent in kernel.parents() {
            let most = &mut behind[parent.index()];
            *most = (*most).max(rank);
        }
    }
    ranks
}

impl Components {
    /// The largest rank of the kernels of each component, from the ranks of kernels.
    pub fn ranks<T: Copy + Default + Ord>(&self, kernels: &[T]) -> Vec<T> {
        let largest = self.all.iter().map(|component| {
            let own = component.kernels.iter();
            own.map(|kernel| kernels[kernel.index()]).max()
        });
        largest.map(Option::unwrap_or_default).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::level::tests::graph;
    use super::super::{Grouping, level_groups};
    use super::*;
    use crate::components::Level;

    #[test]
    fn a_rank_is_the_longest_way_to_the_end() {
        // A fork of a short and a long way, and a chain beside them.
        let graph = graph(&[&[], &[0], &[0], &[1, 2], &[], &[4]]);
        let ranks = bottom_level_ranks(&graph, &[1, 20, 3, 4, 5, 6]);
        assert_eq!(ranks, [25, 24, 7, 4, 11, 6]);
        let groups = level_groups(&graph, Level::Segment);
        let components = Components::from_groups(&graph, &groups).unwrap();
        assert_eq!(components.ranks(&ranks), [25, 11]);
        let apart = Components::new(&graph, Grouping::Kernels).unwrap();
        assert_eq!(apart.ranks(&ranks), ranks);
    }
}
