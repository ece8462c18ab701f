//! The fixed granularities of tasks: four partitions of the kernels of a graph, each of which refines the next.
//!
//! A *task* is what is dispatched as one: its kernels are enqueued together, and one event ends it.
//! All levels are convex: no path leaves a task and comes back, so that tasks never wait for each other in a circle.

use std::collections::BTreeMap;

use super::component::joined;
use crate::import::kernels::{KernelGraph, KernelId};

/// How much of a graph a task is, from fine to coarse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// A kernel.
    Operator,
    /// A maximal chain: each kernel but the last has one reader, which is the next, and each but the first one parent.
    Branch,
    /// Kernels between two gates: a fork and what joins it again; where there are no gates, all kernels that edges join.
    Segment,
    /// All kernels.
    Stage,
}

impl Level {
    /// All, from fine to coarse.
    pub const ALL: [Self; 4] = [Self::Operator, Self::Branch, Self::Segment, Self::Stage];

    /// The name in options and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Branch => "branch",
            Self::Segment => "segment",
            Self::Stage => "stage",
        }
    }
}

/// The tasks of a level: each kernel in one of them, kernels in topological order, tasks by their first kernel.
///
/// A *gate* is a kernel of which each other one that edges join with it, over however many steps, is an ancestor or a descendant.
/// A segment ends with a gate that forks, unless nothing was forked and joined since the last one: a chain in front of the first fork
/// belongs to what is forked, and one behind a join to what was joined.
/// Time and memory are linear in kernels and edges.
pub fn level_groups(graph: &KernelGraph, level: Level) -> Vec<Vec<KernelId>> {
    let precedence = Precedence::new(graph);
    let count = graph.kernels.len();
    let keys: Vec<usize> = match level {
        Level::Operator => (0..count).collect(),
        Level::Branch => branches(&precedence),
        Level::Segment => {
            let component = joined(graph, |_, _| true);
            let component: Vec<usize> = component.into_iter().map(|(_, first)| first).collect();
            segments(&precedence, &component)
        }
        Level::Stage => vec![0; count],
    };
    by_key(&keys)
}

/// Kernels of the same key, each list ascending, lists by their first.
pub(super) fn by_key(keys: &[usize]) -> Vec<Vec<KernelId>> {
    let mut place: BTreeMap<usize, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<KernelId>> = Vec::new();
    for (kernel, &key) in keys.iter().enumerate() {
        let group = *place.entry(key).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[group].push(KernelId::from_index(kernel));
    }
    groups
}

/// Who waits for whom; kernels are numbered in topological order.
#[derive(Debug)]
pub(super) struct Precedence {
    /// By kernel, ascending.
    pub(super) parents: Vec<Vec<usize>>,
    /// By kernel, ascending.
    pub(super) children: Vec<Vec<usize>>,
}

impl Precedence {
    /// Of all kernels of a graph.
    pub(super) fn new(graph: &KernelGraph) -> Self {
        let mut children = vec![Vec::new(); graph.kernels.len()];
        let mut parents = Vec::with_capacity(children.len());
        for (id, kernel) in graph.kernels.iter() {
            let own: Vec<usize> = kernel.parents().iter().map(|one| one.index()).collect();
            for &parent in &own {
                children[parent].push(id.index());
            }
            parents.push(own);
        }
        Self { parents, children }
    }
}

/// The first kernel of the chain of each one.
fn branches(precedence: &Precedence) -> Vec<usize> {
    let mut first: Vec<usize> = Vec::with_capacity(precedence.parents.len());
    for (kernel, parents) in precedence.parents.iter().enumerate() {
        first.push(match parents[..] {
            [parent] if precedence.children[parent].len() == 1 => first[parent],
            _ => kernel,
        });
    }
    first
}

/// The first kernel of the segment of each one.
fn segments(precedence: &Precedence, component: &[usize]) -> Vec<usize> {
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (kernel, &of) in component.iter().enumerate() {
        members.entry(of).or_default().push(kernel);
    }
    let mut first = vec![0; component.len()];
    for kernels in members.values() {
        let gates = gates(precedence, kernels);
        let (mut start, mut has_forked) = (kernels[0], false);
        let mut is_cut = false;
        for (&kernel, is_gate) in kernels.iter().zip(gates) {
            if is_cut {
                (start, has_forked) = (kernel, false);
            }
            first[kernel] = start;
            has_forked |= !is_gate;
            is_cut = is_gate && has_forked && precedence.children[kernel].len() > 1;
        }
    }
    first
}

/// Which of the kernels of a component, in topological order, are gates.
///
/// All kernels before one in that order are its ancestors just if it is the only one of them and itself that none of them waits for:
/// in a finite graph without circles each other one has a path to such a sink.
/// The same backwards says that all behind it descend from it.
fn gates(precedence: &Precedence, kernels: &[usize]) -> Vec<bool> {
    let only_end = |order: &mut dyn Iterator<Item = usize>, before: &[Vec<usize>]| {
        let mut is_passed: BTreeMap<usize, bool> = BTreeMap::new();
        let mut ends = 0;
        let mut only = Vec::with_capacity(kernels.len());
        for kernel in order {
            for &other in &before[kernel] {
                if !std::mem::replace(is_passed.entry(other).or_default(), true) {
                    ends -= 1;
                }
            }
            ends += 1;
            only.push(ends == 1);
        }
        only
    };
    let ancestors = only_end(&mut kernels.iter().copied(), &precedence.parents);
    let descendants = only_end(&mut kernels.iter().rev().copied(), &precedence.children);
    let descendants = descendants.into_iter().rev();
    ancestors
        .into_iter()
        .zip(descendants)
        .map(|(one, other)| one && other)
        .collect()
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::super::Components;
    use super::*;
    use crate::arena::Arena;
    use crate::import::kernels::{Kernel, SourceFile};

    /// A graph of kernels that wait for those of lower numbers.
    pub(crate) fn graph(parents: &[&[usize]]) -> KernelGraph {
        let mut kernels = Arena::new();
        for (index, parents) in parents.iter().enumerate() {
            let after = parents.iter().map(|&parent| KernelId::from_index(parent));
            kernels.push(Kernel {
                name: index.to_string(),
                source: SourceFile {
                    written: "k.cl".to_owned(),
                    found: None,
                },
                function: "k".to_owned(),
                defines: BTreeMap::new(),
                global: vec![1],
                local: None,
                arguments: Vec::new(),
                after: after.collect(),
                device: None,
                component: None,
            });
        }
        KernelGraph {
            name: "test".to_owned(),
            digest: String::new(),
            kernels,
            queues: BTreeMap::new(),
        }
    }

    /// Parents of up to 24 kernels.
    pub(crate) fn random() -> impl Strategy<Value = Vec<Vec<usize>>> {
        let chances = prop::collection::vec(prop::collection::vec(0_u8..100, 24), 1..24);
        (chances, 0_u8..60).prop_map(|(chances, share)| {
            let own = chances.iter().enumerate().map(|(kernel, chances)| {
                let earlier = chances.iter().enumerate().take(kernel);
                let near = |from: usize| if kernel - from <= 3 { share } else { share / 8 };
                earlier
                    .filter(|&(from, &chance)| chance < near(from))
                    .map(|(from, _)| from)
                    .collect()
            });
            own.collect()
        })
    }

    pub(crate) fn made(parents: &[Vec<usize>]) -> KernelGraph {
        let parents: Vec<&[usize]> = parents.iter().map(Vec::as_slice).collect();
        graph(&parents)
    }

    /// Every kernel is in one task, in order, and tasks do not wait for each other.
    pub(crate) fn is_sound(graph: &KernelGraph, groups: &[Vec<KernelId>]) {
        let mut all: Vec<KernelId> = groups.concat();
        all.sort_unstable();
        let ids: Vec<KernelId> = graph.kernels.iter().map(|(id, _)| id).collect();
        assert_eq!(all, ids);
        assert!(groups.iter().all(|group| group.is_sorted()));
        assert!(groups.is_sorted_by_key(|group| group[0]));
        assert!(
            Components::from_groups(graph, groups).is_some(),
            "{groups:?}"
        );
        assert!(groups.iter().all(|group| is_convex(graph, group)));
    }

    /// Whether no path leaves the group and comes back, by looking at all that is reached from outside of it.
    fn is_convex(graph: &KernelGraph, group: &[KernelId]) -> bool {
        let mut is_behind = vec![false; graph.kernels.len()];
        for (id, kernel) in graph.kernels.iter() {
            let is_inside = group.contains(&id);
            let parents = kernel.parents();
            let mut left = parents
                .iter()
                .filter(|parent| is_behind[parent.index()] && !group.contains(parent));
            if is_inside && left.next().is_some() {
                return false;
            }
            is_behind[id.index()] = is_inside || parents.iter().any(|one| is_behind[one.index()]);
        }
        true
    }

    fn numbers(parents: &[&[usize]], level: Level) -> Vec<Vec<usize>> {
        let groups = level_groups(&graph(parents), level);
        let number = |group: &Vec<KernelId>| group.iter().map(|id| id.index()).collect();
        groups.iter().map(number).collect()
    }

    const SAMPLE: &[&[usize]] = &[&[], &[0], &[0], &[1], &[2]];

    #[test]
    fn filters_are_branches_and_a_sample_is_a_segment() {
        // A padding, and two convolutions with their additions.
        assert_eq!(
            numbers(SAMPLE, Level::Branch),
            [vec![0], vec![1, 3], vec![2, 4]]
        );
        assert_eq!(numbers(SAMPLE, Level::Segment), [[0, 1, 2, 3, 4]]);
        let two: &[&[usize]] = &[&[], &[0], &[], &[2]];
        assert_eq!(numbers(two, Level::Segment), [[0, 1], [2, 3]]);
        assert_eq!(numbers(two, Level::Stage), [[0, 1, 2, 3]]);
        assert_eq!(numbers(two, Level::Operator).len(), 4);
    }

    #[test]
    fn a_join_that_forks_again_ends_a_segment() {
        let parents: &[&[usize]] = &[&[], &[0], &[1], &[1], &[2, 3], &[4], &[5], &[5], &[6, 7]];
        assert_eq!(
            numbers(parents, Level::Segment),
            [vec![0, 1, 2, 3, 4, 5], vec![6, 7, 8]]
        );
        assert_eq!(
            numbers(parents, Level::Branch),
            [
                vec![0, 1],
                vec![2],
                vec![3],
                vec![4, 5],
                vec![6],
                vec![7],
                vec![8]
            ]
        );
    }

    #[test]
    fn what_is_read_beside_a_join_is_no_gate() {
        // Kernel 4 waits for 0 alone: neither it nor 3 is on the way of everything.
        let parents: &[&[usize]] = &[&[], &[0], &[0], &[1, 2], &[0], &[3], &[4, 5]];
        assert_eq!(numbers(parents, Level::Segment), [[0, 1, 2, 3, 4, 5, 6]]);
    }

    #[test]
    fn a_chain_is_one_task_and_two_readers_end_it() {
        let parents: &[&[usize]] = &[&[], &[0], &[1], &[1]];
        assert_eq!(
            numbers(parents, Level::Branch),
            [vec![0, 1], vec![2], vec![3]]
        );
    }

    /// Gates by their definition.
    fn are_comparable(graph: &KernelGraph, one: usize, other: usize) -> bool {
        let (low, high) = (one.min(other), one.max(other));
        let mut is_behind = vec![false; graph.kernels.len()];
        is_behind[low] = true;
        for (id, kernel) in graph.kernels.iter().skip(low + 1) {
            is_behind[id.index()] = kernel.parents().iter().any(|one| is_behind[one.index()]);
        }
        is_behind[high]
    }

    proptest! {
        #[test]
        fn levels_are_convex_partitions_and_nested(parents in random()) {
            let graph = made(&parents);
            let levels = Level::ALL.map(|level| level_groups(&graph, level));
            for groups in &levels {
                is_sound(&graph, groups);
            }
            for pair in levels.windows(2) {
                let of = |id: &KernelId| pair[1].iter().position(|group| group.contains(id));
                for group in &pair[0] {
                    prop_assert!(group.iter().all(|id| of(id) == of(&group[0])));
                }
            }
        }

        #[test]
        fn gates_are_comparable_with_all(parents in random()) {
            let graph = made(&parents);
            let component = joined(&graph, |_, _| true);
            let precedence = Precedence::new(&graph);
            let first: Vec<usize> = (0..parents.len()).filter(|&one| component[one] == component[0]).collect();
            for (&kernel, is_gate) in first.iter().zip(gates(&precedence, &first)) {
                let is_comparable = first.iter().all(|&other| are_comparable(&graph, kernel, other));
                prop_assert_eq!(is_gate, is_comparable);
            }
        }
    }
}
