//! The two-sided rule of adaptive granularity: tasks are fused while they are too small for what dispatching them costs, and only as long as
//! enough of them are ready together.
//!
//! A task is *small* while it takes less than a multiple of the dispatch overhead of its device.
//! Vertically, a task and its only reader become one, which costs no parallelism; horizontally, small tasks of the same depth are put
//! together, which does, and so it stops where as many remain as there are lanes to fill.
//! Large tasks are left alone.
//! What it comes to is for a simulation to say: the rule only proposes.

use std::collections::BTreeSet;

use super::level::{Precedence, by_key};
use crate::import::kernels::{KernelGraph, KernelId};

/// What decides whether a task is small.
#[derive(Clone, Copy, Debug)]
pub struct Grain<'g> {
    /// Nanoseconds of each kernel, then of each device.
    pub times: &'g [Vec<i64>],
    /// Nanoseconds by device between the end of a task and the start of the next one.
    pub dispatch: &'g [i64],
    /// How many times its overhead a task takes that is not small.
    pub factor: u32,
    /// Tasks of the same depth that remain at least, where there are as many.
    pub lanes: usize,
}

/// Why a task is as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The device where it would end first.
    pub device: usize,
    /// Nanoseconds that its kernels take there.
    pub time_ns: i64,
    /// Nanoseconds that dispatching it there takes.
    pub dispatch_ns: i64,
    /// Tasks of the same depth, with it.
    pub beside: usize,
}

/// Fuses small tasks of `groups`, a partition of the kernels without circles.
pub fn fuse_small(
    graph: &KernelGraph,
    groups: &[Vec<KernelId>],
    grain: Grain<'_>,
) -> Vec<Vec<KernelId>> {
    const ROUNDS: usize = 16;
    let precedence = Precedence::new(graph);
    let mut tasks = Tasks::new(&precedence, groups);
    for _ in 0..ROUNDS {
        let before = tasks.count();
        tasks = tasks.merged(&precedence, &tasks.chains(grain));
        tasks = tasks.merged(&precedence, &tasks.siblings(grain));
        if tasks.count() == before {
            break;
        }
    }
    by_key(&tasks.of)
}

/// The reasons of all tasks, in their order.
pub fn reasons(
    graph: &KernelGraph,
    groups: &[Vec<KernelId>],
    times: &[Vec<i64>],
    dispatch: &[i64],
) -> Vec<Reason> {
    let tasks = Tasks::new(&Precedence::new(graph), groups);
    let depths = tasks.depths();
    let mut beside = vec![0; tasks.count()];
    for &depth in &depths {
        beside[depth] += 1;
    }
    let members = tasks.members.iter().zip(depths);
    members
        .map(|(kernels, depth)| {
            let (device, time_ns) = best(kernels, times, dispatch);
            Reason {
                device,
                time_ns,
                dispatch_ns: dispatch[device],
                beside: beside[depth],
            }
        })
        .collect()
}

/// The device where kernels end first if they are one task, and their time there.
fn best(kernels: &[usize], times: &[Vec<i64>], dispatch: &[i64]) -> (usize, i64) {
    let time = |device: usize| -> i64 { kernels.iter().map(|&kernel| times[kernel][device]).sum() };
    let device = (0..dispatch.len()).min_by_key(|&device| time(device) + dispatch[device]);
    let device = device.expect("there is a device");
    (device, time(device))
}

/// Tasks and who waits for whom, in topological order.
#[derive(Debug)]
struct Tasks {
    /// The task of each kernel.
    of: Vec<usize>,
    members: Vec<Vec<usize>>,
    parents: Vec<BTreeSet<usize>>,
    children: Vec<BTreeSet<usize>>,
    /// All tasks, each behind those that it waits for.
    order: Vec<usize>,
}

impl Tasks {
    fn new(precedence: &Precedence, groups: &[Vec<KernelId>]) -> Self {
        let mut of = vec![0; precedence.parents.len()];
        for (task, kernels) in groups.iter().enumerate() {
            for kernel in kernels {
                of[kernel.index()] = task;
            }
        }
        Self::link(precedence, of, groups.len())
    }

    fn link(precedence: &Precedence, of: Vec<usize>, count: usize) -> Self {
        let mut tasks = Self {
            members: vec![Vec::new(); count],
            parents: vec![BTreeSet::new(); count],
            children: vec![BTreeSet::new(); count],
            order: Vec::with_capacity(count),
            of,
        };
        for (kernel, parents) in precedence.parents.iter().enumerate() {
            let own = tasks.of[kernel];
            tasks.members[own].push(kernel);
            for &parent in parents {
                let other = tasks.of[parent];
                if other != own {
                    tasks.parents[own].insert(other);
                    tasks.children[other].insert(own);
                }
            }
        }
        let mut open: Vec<usize> = tasks.parents.iter().map(BTreeSet::len).collect();
        let mut ready: BTreeSet<usize> = (0..count).filter(|&task| open[task] == 0).collect();
        while let Some(task) = ready.pop_first() {
            tasks.order.push(task);
            for &child in &tasks.children[task] {
                open[child] -= 1;
                if open[child] == 0 {
                    ready.insert(child);
                }
            }
        }
        assert_eq!(tasks.order.len(), count, "tasks wait for each other");
        tasks
    }

    fn count(&self) -> usize {
        self.members.len()
    }

    /// The tasks that tasks of the same `key` become.
    fn merged(&self, precedence: &Precedence, key: &[usize]) -> Self {
        let of: Vec<usize> = self.of.iter().map(|&task| key[task]).collect();
        let groups = by_key(&of);
        Self::new(precedence, &groups)
    }

    /// The time of a task in thousandths of what is not small any more.
    fn size(&self, task: usize, grain: Grain<'_>) -> i128 {
        let (device, time) = best(&self.members[task], grain.times, grain.dispatch);
        let enough = i128::from(grain.dispatch[device]) * i128::from(grain.factor);
        i128::from(time) * 1000 / enough.max(1)
    }

    /// Tasks that become one with the only one that they wait for, and that nobody else waits for, where one of both is small.
    ///
    /// Every path from the one to the other is that edge, so no circle can arise.
    fn chains(&self, grain: Grain<'_>) -> Vec<usize> {
        const ENOUGH: i128 = 1000;
        let mut key: Vec<usize> = (0..self.count()).collect();
        let mut size: Vec<i128> = key.iter().map(|&task| self.size(task, grain)).collect();
        for &task in &self.order {
            let mut parents = self.parents[task].iter();
            let (Some(&parent), None) = (parents.next(), parents.next()) else {
                continue;
            };
            let head = key[parent];
            if self.children[parent].len() == 1 && (size[head] < ENOUGH || size[task] < ENOUGH) {
                key[task] = head;
                size[head] += size[task];
            }
        }
        key
    }

    /// Small tasks of the same depth that become one.
    ///
    /// Every edge leads from a depth to a greater one, before and afterwards, so no circle can arise.
    /// Neighbours in the order of the graph come together, in lists of about the same time.
    fn siblings(&self, grain: Grain<'_>) -> Vec<usize> {
        const ENOUGH: i128 = 1000;
        let mut key: Vec<usize> = (0..self.count()).collect();
        let mut layers: Vec<Vec<usize>> = Vec::new();
        for (task, depth) in self.depths().into_iter().enumerate() {
            if layers.len() <= depth {
                layers.resize_with(depth + 1, Vec::new);
            }
            layers[depth].push(task);
        }
        for layer in layers {
            let sizes = layer.iter().map(|&task| (task, self.size(task, grain)));
            let small: Vec<(usize, i128)> = sizes.filter(|&(_, size)| size < ENOUGH).collect();
            let sum: i128 = small.iter().map(|&(_, size)| size).sum();
            let large = layer.len() - small.len();
            let full = usize::try_from(sum / ENOUGH).unwrap_or(usize::MAX);
            let lists = full.max(grain.lanes.saturating_sub(large)).max(1);
            if lists >= small.len() {
                continue;
            }
            let (mut list, mut first, mut seen) = (0, small[0].0, 0);
            for (place, &(task, size)) in small.iter().enumerate() {
                key[task] = first;
                seen += size;
                let (rest, missing) = (small.len() - place - 1, lists - list - 1);
                let share = sum * (i128::try_from(list).unwrap_or(i128::MAX) + 1);
                let is_full = seen * i128::try_from(lists).unwrap_or(i128::MAX) >= share;
                if missing > 0 && rest > 0 && (is_full || rest == missing) {
                    list += 1;
                    first = small[place + 1].0;
                }
            }
        }
        key
    }

    /// Tasks on the longest path to each one.
    fn depths(&self) -> Vec<usize> {
        let mut depths = vec![0; self.count()];
        for &task in &self.order {
            let parents = self.parents[task].iter();
            depths[task] = parents.map(|&parent| depths[parent] + 1).max().unwrap_or(0);
        }
        depths
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::level::tests::{graph, is_sound, made, random};
    use super::super::{Level, level_groups};
    use super::*;

    /// Sizes of the tasks that kernels of such times become on equal devices with an overhead of 10 ns.
    fn sizes(parents: &[&[usize]], times: &[i64], factor: u32, lanes: usize) -> Vec<usize> {
        let graph = graph(parents);
        let times: Vec<Vec<i64>> = times.iter().map(|&time| vec![time; 2]).collect();
        let grain = Grain {
            times: &times,
            dispatch: &[10, 10],
            factor,
            lanes,
        };
        let groups = level_groups(&graph, Level::Operator);
        let fused = fuse_small(&graph, &groups, grain);
        fused.iter().map(Vec::len).collect()
    }

    /// The parents of a source.
    const NONE: &[usize] = &[];

    #[test]
    fn independent_small_kernels_leave_a_task_for_each_lane() {
        assert_eq!(sizes(&[NONE; 8], &[1; 8], 4, 2), [4, 4]);
        assert_eq!(sizes(&[NONE; 8], &[1; 8], 4, 1), [8]);
        assert_eq!(sizes(&[NONE; 3], &[1; 3], 4, 4), [1, 1, 1]);
    }

    #[test]
    fn more_tasks_remain_where_they_are_not_small_any_more() {
        // Eight times 20 ns are four times the 40 ns that are enough.
        assert_eq!(sizes(&[NONE; 8], &[20; 8], 4, 2), [2, 2, 2, 2]);
    }

    #[test]
    fn large_kernels_stay_as_they_are() {
        let chain: &[&[usize]] = &[&[], &[0], &[1]];
        assert_eq!(sizes(chain, &[40, 40, 40], 4, 2), [1, 1, 1]);
        assert_eq!(sizes(chain, &[40, 39, 40], 4, 2), [2, 1]);
        assert_eq!(sizes(chain, &[1, 1, 1], 4, 2), [3]);
        // The two large ones fill the lanes, so the small ones are one.
        assert_eq!(sizes(&[NONE; 5], &[40, 1, 1, 1, 40], 4, 2), [1, 3, 1]);
    }

    #[test]
    fn a_fork_stays_open_for_its_lanes() {
        let diamond: &[&[usize]] = &[&[], &[0], &[0], &[1, 2]];
        assert_eq!(sizes(diamond, &[1; 4], 4, 2), [1, 1, 1, 1]);
        assert_eq!(sizes(diamond, &[1; 4], 4, 1), [4]);
    }

    #[test]
    fn reasons_name_the_device_where_a_task_ends_first() {
        let graph = graph(&[&[], &[0], &[]]);
        let groups = level_groups(&graph, Level::Branch);
        let times = [vec![5, 9], vec![5, 9], vec![5, 9]];
        let found = reasons(&graph, &groups, &times, &[100, 1]);
        let of = |time_ns| Reason {
            device: 1,
            time_ns,
            dispatch_ns: 1,
            beside: 2,
        };
        assert_eq!(found, [of(18), of(9)]);
    }

    proptest! {
        #[test]
        fn fused_tasks_are_convex_partitions_that_keep_their_lanes(
            parents in random(),
            times in prop::collection::vec((0_i64..200, 0_i64..200), 24),
            dispatch in (0_i64..50, 0_i64..50),
            factor in 1_u32..20,
            lanes in 1_usize..4,
            level in prop::sample::select(Level::ALL.to_vec()),
        ) {
            let graph = made(&parents);
            let times: Vec<Vec<i64>> = times.iter().take(parents.len()).map(|&(one, other)| vec![one, other]).collect();
            let dispatch = [dispatch.0, dispatch.1];
            let grain = Grain { times: &times, dispatch: &dispatch, factor, lanes };
            let groups = level_groups(&graph, level);
            let fused = fuse_small(&graph, &groups, grain);
            is_sound(&graph, &fused);
            // Tasks are fused and never split.
            let of = |id: &KernelId| fused.iter().position(|group| group.contains(id));
            for group in &groups {
                prop_assert!(group.iter().all(|id| of(id) == of(&group[0])));
            }
            prop_assert_eq!(fuse_small(&graph, &groups, grain), fused.clone());
            // A task that could be ready on a lane remains one: the widest depth never falls under the lanes.
            let width = |groups: &[Vec<KernelId>]| {
                reasons(&graph, groups, &times, &dispatch).iter().map(|one| one.beside).max().unwrap_or(0)
            };
            prop_assert!(width(&fused) >= width(&groups).min(lanes));
        }
    }
}
