//! Components (`PySchedCL`, Ghose et al., section III): kernels that go to one device together, and how they hang together.

use std::collections::{BTreeMap, BTreeSet};

use crate::import::kernels::{KernelGraph, KernelId};

/// How kernels are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// Each kernel by itself.
    Kernels,
    /// As the specification says; where it says nothing, kernels of one device that edges join, cut where they would wait for each other.
    Specified,
    /// Kernels that edges join.
    Joined,
}

/// A component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Component {
    /// Its kernels, in topological order.
    pub kernels: Vec<KernelId>,
    /// Kernels that read something of another component; the sources where there is none.
    pub front: BTreeSet<KernelId>,
    /// Kernels that write something for another component.
    pub end: BTreeSet<KernelId>,
    /// Components that have to end before.
    pub parents: BTreeSet<usize>,
    /// Components that wait for it.
    pub children: BTreeSet<usize>,
}

/// The components of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Components {
    /// In the order of their first kernels.
    pub all: Vec<Component>,
    /// The component of each kernel.
    pub of: Vec<usize>,
}

impl Components {
    /// Groups the kernels of a graph; `None` where components would wait for each other.
    pub fn new(graph: &KernelGraph, grouping: Grouping) -> Option<Self> {
        let kernels = 0..graph.kernels.len();
        match grouping {
            Grouping::Kernels => {
                Self::from_keys(graph, kernels.map(|kernel| (0, kernel)).collect())
            }
            Grouping::Joined => Self::from_keys(graph, joined(graph, |_, _| true)),
            Grouping::Specified => {
                let whole = Self::from_keys(graph, specified(graph, |_, _| true));
                whole.or_else(|| {
                    let changes = changes(graph);
                    let is_same = |one: KernelId, other: KernelId| {
                        changes[one.index()] == changes[other.index()]
                    };
                    Self::from_keys(graph, specified(graph, is_same))
                })
            }
        }
    }

    /// Components of given kernels, which have to be all of the graph, each once; `None` where components would wait for each other.
    ///
    /// # Panics
    ///
    /// Where the groups are not a partition of the kernels.
    pub fn from_groups(graph: &KernelGraph, groups: &[Vec<KernelId>]) -> Option<Self> {
        let mut keys = vec![None; graph.kernels.len()];
        for (group, kernels) in groups.iter().enumerate() {
            for kernel in kernels {
                let before = keys[kernel.index()].replace((0, group));
                assert_eq!(before, None, "a kernel is in two groups");
            }
        }
        let keys = keys.into_iter().collect::<Option<Vec<_>>>();
        Self::from_keys(graph, keys.expect("groups hold all kernels"))
    }

    fn from_keys(graph: &KernelGraph, keys: Vec<(usize, usize)>) -> Option<Self> {
        let mut known: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let mut components = Self::default();
        for ((id, _), key) in graph.kernels.iter().zip(keys) {
            let next = known.len();
            let component = *known.entry(key).or_insert(next);
            if component == components.all.len() {
                components.all.push(Component::default());
            }
            components.all[component].kernels.push(id);
            components.of.push(component);
        }
        components.link(graph);
        components.is_acyclic().then_some(components)
    }

    fn link(&mut self, graph: &KernelGraph) {
        for (id, kernel) in graph.kernels.iter() {
            let own = self.of[id.index()];
            for parent in kernel.parents() {
                let other = self.of[parent.index()];
                if other != own {
                    self.all[own].parents.insert(other);
                    self.all[other].children.insert(own);
                }
            }
        }
        for edge in graph.edges() {
            let (from, to) = (edge.from.0, edge.to.0);
            let (source, target) = (self.of[from.index()], self.of[to.index()]);
            if source != target {
                self.all[source].end.insert(from);
                self.all[target].front.insert(to);
            }
        }
        for component in &mut self.all {
            if component.front.is_empty() {
                let members: BTreeSet<KernelId> = component.kernels.iter().copied().collect();
                let is_source = |id: &&KernelId| {
                    let mut parents = graph.kernels[**id].parents().into_iter();
                    parents.all(|parent| !members.contains(&parent))
                };
                component.front = component
                    .kernels
                    .iter()
                    .filter(is_source)
                    .copied()
                    .collect();
            }
        }
    }

    fn is_acyclic(&self) -> bool {
        let mut open: Vec<usize> = self.all.iter().map(|one| one.parents.len()).collect();
        let mut ready: Vec<usize> = (0..open.len()).filter(|&one| open[one] == 0).collect();
        let mut done = 0;
        while let Some(one) = ready.pop() {
            done += 1;
            for &child in &self.all[one].children {
                open[child] -= 1;
                if open[child] == 0 {
                    ready.push(child);
                }
            }
        }
        done == self.all.len()
    }
}

/// Kernels that edges join, for each the first of them; edges that `counts` refuses join nothing.
pub(super) fn joined(
    graph: &KernelGraph,
    counts: impl Fn(KernelId, KernelId) -> bool,
) -> Vec<(usize, usize)> {
    let mut root: Vec<usize> = (0..graph.kernels.len()).collect();
    for (id, kernel) in graph.kernels.iter() {
        for parent in kernel.parents() {
            if counts(parent, id) {
                let (one, other) = (find(&mut root, parent.index()), find(&mut root, id.index()));
                root[one.max(other)] = one.min(other);
            }
        }
    }
    (0..root.len())
        .map(|kernel| (0, find(&mut root, kernel)))
        .collect()
}

/// The representative of a set, with the way to it shortened.
fn find(root: &mut [usize], mut at: usize) -> usize {
    while root[at] != at {
        root[at] = root[root[at]];
        at = root[at];
    }
    at
}

/// The components of the specification; kernels without one join those that edges lead to, that have none either, and that `may_join` admits.
fn specified(
    graph: &KernelGraph,
    may_join: impl Fn(KernelId, KernelId) -> bool,
) -> Vec<(usize, usize)> {
    let component = |id: KernelId| graph.kernels[id].component;
    let rest = joined(graph, |one, other| {
        is_unsaid(graph, one, other) && may_join(one, other)
    });
    let ids = graph.kernels.iter().map(|(id, _)| id);
    ids.zip(rest)
        .map(|(id, rest)| component(id).map_or(rest, |number| (1, number as usize)))
        .collect()
}

/// Whether the specification leaves it open that two kernels are one component, and prefers one device for them.
fn is_unsaid(graph: &KernelGraph, one: KernelId, other: KernelId) -> bool {
    let (one, other) = (&graph.kernels[one], &graph.kernels[other]);
    one.component.is_none() && other.component.is_none() && one.device == other.device
}

/// For each kernel, how often at most a path to it leaves what could be one component.
///
/// Kernels that are joined and have the same number cannot wait for each other by way of others: the number only grows along edges, and it does
/// with every edge between components that were not stated.
fn changes(graph: &KernelGraph) -> Vec<usize> {
    let mut changes: Vec<usize> = vec![0; graph.kernels.len()];
    for (id, kernel) in graph.kernels.iter() {
        let parents = kernel.parents().into_iter();
        let through = parents
            .map(|parent| changes[parent.index()] + usize::from(!is_unsaid(graph, parent, id)));
        changes[id.index()] = through.max().unwrap_or(0);
    }
    changes
}
