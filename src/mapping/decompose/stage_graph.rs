//! The whole network as one problem with cut points, and the problems of its parts.

use std::collections::BTreeMap;

use paracompile_frontend::arena::Id;
use paracompile_frontend::cost::CostTable;
use paracompile_frontend::soc::{LocationId, ProcessorId, ProcessorSet, Symmetry};
use paracompile_plan::{Nanojoules, Nanoseconds, Slowdown};

use super::super::bounds::{lower_bound, path_bound};
use super::super::coarse::CoarseBranch;
use super::super::{Operator, Problem, QueueCounts, Tensor};
use super::cut_points::{CutPoint, cut_points};
use super::lanes::{Lanes, QueuesAllowed};
use crate::partition::{Branch, FusedOpId, FusedTensorId, SegmentKind, Segments};

/// Where the tensors that are live at a cut are, by tensor; of each the producer's location first, the others ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    /// Live tensors, ascending, with the locations that hold them.
    pub holders: Vec<(FusedTensorId, Vec<LocationId>)>,
}

impl Entry {
    /// The locations that hold a tensor; empty if it is not live.
    pub fn held(&self, tensor: FusedTensorId) -> &[LocationId] {
        self.holders
            .binary_search_by_key(&tensor, |(other, _)| *other)
            .map_or(&[], |at| &self.holders[at].1)
    }
}

/// A network with costs, cut points and slowdowns.
///
/// Indices of operators and tensors are those of the fused graph, those of processors and locations the chip's.
#[derive(Clone, Debug)]
pub struct StageGraph {
    /// All operators under no slowdown; network inputs enter at `io`.
    pub(super) whole: Problem,
    pub(super) cuts: Vec<CutPoint>,
    /// Processors that may be used.
    pub(super) allowed: ProcessorSet,
    /// Branches of fan-in blocks, by position.
    branches: Vec<CoarseBranch>,
    /// Slowdown of each processor for each subset of `allowed` in use.
    slowdowns: BTreeMap<ProcessorSet, Vec<Slowdown>>,
    /// Which processors may swap places in plans.
    symmetry: Symmetry,
    /// How many compute queues processors may have, and what that costs.
    pub(super) lanes: Lanes,
}

/// A part of the network on some processors, and how its indices are called outside.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) problem: Problem,
    /// Processor of the chip behind each processor of the problem, several times where it has several lanes.
    pub(super) processors: Vec<ProcessorId>,
    /// How many lanes each has.
    pub(super) queues: QueueCounts,
    /// Tensor of the graph behind each tensor of the problem.
    pub(super) tensors: Vec<usize>,
    /// Tensors of the problem that are live at its end.
    pub(super) leaving: Vec<usize>,
    /// Branches of its fan-in blocks.
    pub(super) branches: Vec<CoarseBranch>,
}

impl StageGraph {
    /// The fused graph with the costs of a chip, of which `allowed` may be used.
    pub fn new(segments: &Segments, costs: &CostTable, allowed: ProcessorSet) -> Self {
        let soc = &costs.soc;
        let positions: Vec<usize> = segments.cuts.iter().map(|cut| cut.position).collect();
        let processors: Vec<ProcessorId> = soc.processors.ids().collect();
        let locations: Vec<LocationId> = soc.locations.ids().collect();
        let operators = segments
            .graph
            .ops
            .iter()
            .map(|(_, op)| {
                let costs: Vec<_> = processors
                    .iter()
                    .map(|&processor| costs.group(&op.members, processor))
                    .collect();
                Operator {
                    times: costs
                        .iter()
                        .map(|cost| cost.map(|cost| cost.time))
                        .collect(),
                    energies: costs
                        .iter()
                        .map(|cost| cost.map_or(Nanojoules::ZERO, |cost| cost.energy))
                        .collect(),
                    reads: op.reads.iter().map(|tensor| tensor.index()).collect(),
                    writes: op.writes.iter().map(|tensor| tensor.index()).collect(),
                }
            })
            .collect();
        let tensors = segments
            .graph
            .tensors
            .iter()
            .map(|(_, tensor)| Tensor {
                producer: tensor.producer.map(Id::index),
                held: match tensor.producer {
                    Some(_) => Vec::new(),
                    None => vec![soc.io_location.index()],
                },
                readers: tensor.readers.iter().map(|reader| reader.index()).collect(),
                to_io: tensor.is_output,
                moves: locations
                    .iter()
                    .map(|&from| {
                        locations
                            .iter()
                            .map(|&to| costs.transfer(tensor.bytes, from, to))
                            .collect()
                    })
                    .collect(),
            })
            .collect();
        let whole = Problem {
            homes: soc.processors.iter().map(|(_, p)| p.home.index()).collect(),
            locations: soc.locations.len(),
            io: soc.io_location.index(),
            operators,
            tensors,
            must_use: 0,
            devices: Vec::new(),
        };
        let mut graph = Self::from_problem(whole, &positions, allowed, |processor, used| {
            costs.slowdown(processor, used)
        });
        graph.branches = segments
            .segments
            .iter()
            .flat_map(|segment| match &segment.kind {
                SegmentKind::FanIn { branches } => branches.as_slice(),
                SegmentKind::Chain | SegmentKind::Irregular => &[],
            })
            .map(coarse_branch)
            .collect();
        graph
    }

    /// A network given as one problem; `positions` are those of the cut points, the first 0 and the last the number of operators.
    pub fn from_problem(
        whole: Problem,
        positions: &[usize],
        allowed: ProcessorSet,
        slowdown: impl Fn(ProcessorId, ProcessorSet) -> Slowdown,
    ) -> Self {
        let slowdowns = allowed
            .subsets()
            .map(|set| {
                let factors = (0..whole.homes.len())
                    .map(|processor| slowdown(Id::from_index(processor), set))
                    .collect();
                (set, factors)
            })
            .collect();
        let cuts = cut_points(&whole, positions);
        Self {
            whole,
            cuts,
            allowed,
            branches: Vec::new(),
            slowdowns,
            symmetry: Symmetry::NONE,
            lanes: Lanes::default(),
        }
    }

    /// The same network on processors that may have several compute queues.
    #[must_use]
    pub fn with_queues(mut self, allowed: QueuesAllowed) -> Self {
        self.lanes = Lanes::new(&self.whole, &self.cuts, allowed);
        self
    }

    /// The same network, of which plans are wanted up to swaps of interchangeable processors; `symmetry` must hold for all of it.
    #[must_use]
    pub fn up_to(mut self, symmetry: Symmetry) -> Self {
        self.symmetry = symmetry;
        self
    }

    /// Which processors may swap places in plans.
    pub const fn symmetry(&self) -> &Symmetry {
        &self.symmetry
    }

    /// The sets of processors that stages and plans are wanted on, ascending: one of all that are equivalent.
    pub(super) fn sets(&self) -> impl Iterator<Item = ProcessorSet> {
        self.symmetry.subsets(self.allowed)
    }

    /// The branches between two positions, counted from the first.
    pub(super) fn branches(&self, start: usize, end: usize) -> Vec<CoarseBranch> {
        self.branches
            .iter()
            .filter(|branch| branch.ops.iter().all(|op| (start..end).contains(op)))
            .filter(|branch| !branch.ops.is_empty())
            .map(|branch| shifted(branch, start))
            .collect()
    }

    /// The set itself, and the supersets that plans are wanted on, ascending.
    pub(super) fn supersets(&self, set: ProcessorSet) -> impl Iterator<Item = ProcessorSet> {
        self.allowed
            .subsets()
            .filter(move |&other| set.is_subset(other))
            .filter(move |&other| other == set || self.symmetry.is_canonical(other, self.allowed))
    }

    /// The numbers of compute queues that a stage on `set` which starts at a cut point is tried with, each processor's own first number first.
    pub(super) fn queue_choices(&self, set: ProcessorSet, cut: usize) -> Vec<QueueCounts> {
        self.lanes.choices(set, cut)
    }

    /// Where network inputs are before the first stage.
    pub(super) fn entry_at_start(&self) -> Entry {
        let holders = |cut: &CutPoint| {
            let live = cut.live.iter().map(|&tensor| {
                let held = &self.whole.tensors[tensor].held;
                let locations = held.iter().map(|&l| LocationId::from_index(l)).collect();
                (Id::from_index(tensor), locations)
            });
            live.collect()
        };
        Entry {
            holders: self.cuts.first().map_or_else(Vec::new, holders),
        }
    }

    /// Slowdowns of all processors while `used` are in use.
    pub(super) fn slowdowns(&self, used: ProcessorSet) -> &[Slowdown] {
        self.slowdowns.get(&used).map_or(&[], Vec::as_slice)
    }

    /// The problem of the operators from position `start` to `end` on the lanes of the processors of `set`, slowed as that set is.
    pub(super) fn part(
        &self,
        start: usize,
        end: usize,
        entry: &Entry,
        set: ProcessorSet,
        queues: QueueCounts,
    ) -> Part {
        let lanes = |processor| std::iter::repeat_n(processor, queues.of(processor));
        let processors: Vec<ProcessorId> = set.iter().flat_map(lanes).collect();
        let held = |index: usize| {
            let locations = entry.held(Id::from_index(index)).iter();
            locations.map(|location| location.index()).collect()
        };
        let (mut problem, tensors) = self.whole.part(start..end, held);
        problem.homes = processors
            .iter()
            .map(|processor| self.whole.homes[processor.index()])
            .collect();
        if processors.len() > set.len() {
            let first = |processor| processors.iter().position(|&other| other == processor);
            problem.devices = processors.iter().filter_map(|&p| first(p)).collect();
        }
        let leaving = (0..tensors.len())
            .filter(|&index| {
                let readers = &self.whole.tensors[tensors[index]].readers;
                readers.iter().any(|&reader| reader >= end)
            })
            .collect();
        let mut part = Part {
            problem,
            processors,
            queues,
            tensors,
            leaving,
            branches: self.branches(start, end),
        };
        self.slow(&mut part, start, set);
        part
    }

    /// The same network, where every operator takes `extra` more on a processor: a price on what it uses up there.
    ///
    /// Mappings of such a graph are mappings of this one; only their times are not (see [`super::StageMapper::retimed`]).
    #[must_use]
    pub fn priced(&self, extra: impl Fn(FusedOpId, ProcessorId) -> Nanoseconds) -> Self {
        let mut priced = self.clone();
        for (position, operator) in priced.whole.operators.iter_mut().enumerate() {
            for (index, time) in operator.times.iter_mut().enumerate() {
                let more = extra(Id::from_index(position), Id::from_index(index));
                *time = time.map(|time| time + more);
            }
        }
        priced
    }

    /// The same network, where operators run only on processors that `allows` admits; what is not admitted does not exist for the search.
    #[must_use]
    pub fn only(mut self, allows: impl Fn(FusedOpId, ProcessorId) -> bool) -> Self {
        for (position, operator) in self.whole.operators.iter_mut().enumerate() {
            for (index, time) in operator.times.iter_mut().enumerate() {
                if !allows(Id::from_index(position), Id::from_index(index)) {
                    *time = None;
                }
            }
        }
        self
    }

    /// The same network with the lesser time and energy of both for every operator and processor, for bounds that hold for both; both run the same operators on the same processors.
    #[must_use]
    pub fn least_of(mut self, other: &Self) -> Self {
        let pairs = self.whole.operators.iter_mut().zip(&other.whole.operators);
        for (own, other) in pairs {
            for (time, other) in own.times.iter_mut().zip(&other.times) {
                *time = (*time).min(*other);
            }
            for (energy, other) in own.energies.iter_mut().zip(&other.energies) {
                *energy = (*energy).min(*other);
            }
        }
        self
    }

    /// No plan has less latency: one stage without any slowdown is never slower than several with.
    ///
    /// Where a processor may have several queues, loads say little, and the longest path counts.
    pub fn latency_bound(&self) -> Nanoseconds {
        if self.lanes.are_single() {
            return lower_bound(&self.whole);
        }
        path_bound(&self.whole)
    }

    /// No plan has a shorter interval: a processor belongs to one stage, and no stage ends before its processors have done their work.
    pub fn interval_bound(&self) -> Nanoseconds {
        let fastest = || {
            let operators = self.whole.operators.iter();
            operators.map(|operator| operator.times.iter().flatten().min().copied())
        };
        let work: Nanoseconds = fastest().flatten().sum();
        let lanes = self.lanes.most(self.allowed);
        let share = work.count().div_ceil(lanes.max(1) as u64);
        let longest = fastest().flatten().max().unwrap_or_default();
        longest.max(Nanoseconds::new(share))
    }

    /// No plan takes less dynamic energy a frame.
    pub fn energy_bound(&self) -> Nanojoules {
        let operators = self.whole.operators.iter();
        operators
            .filter_map(|operator| {
                let supported = operator.times.iter().zip(&operator.energies);
                supported
                    .filter(|(time, _)| time.is_some())
                    .map(|(_, &energy)| energy)
                    .min()
            })
            .sum()
    }

    /// The durations and energies of a part while more processors are in use than its own.
    pub(super) fn slow(&self, part: &mut Part, start: usize, used: ProcessorSet) {
        let factors = self.slowdowns(used);
        for (offset, operator) in part.problem.operators.iter_mut().enumerate() {
            let original = &self.whole.operators[start + offset];
            (operator.times, operator.energies) =
                slowed(original, &part.processors, factors, |p| {
                    self.lanes.sharing(p, part.queues)
                });
        }
    }
}

/// A branch with positions; nesting is as deep as blocks are in blocks, which the partition bounds.
fn coarse_branch(branch: &Branch) -> CoarseBranch {
    CoarseBranch {
        ops: branch.ops.iter().map(|op| op.index()).collect(),
        nested: branch.nested.iter().map(coarse_branch).collect(),
    }
}

fn shifted(branch: &CoarseBranch, start: usize) -> CoarseBranch {
    CoarseBranch {
        ops: branch.ops.iter().map(|op| op - start).collect(),
        nested: branch
            .nested
            .iter()
            .map(|nested| shifted(nested, start))
            .collect(),
    }
}

fn slowed(
    operator: &Operator,
    processors: &[ProcessorId],
    factors: &[Slowdown],
    sharing: impl Fn(ProcessorId) -> Slowdown,
) -> (Vec<Option<Nanoseconds>>, Vec<Nanojoules>) {
    processors
        .iter()
        .map(|&processor| {
            let index = processor.index();
            let sharing = sharing(processor);
            (
                operator.times[index].map(|time| time.slowed_twice(factors[index], sharing)),
                operator.energies[index].slowed(factors[index]),
            )
        })
        .unzip()
}
