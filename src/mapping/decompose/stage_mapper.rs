//! Answers what a stage from one cut to another costs on a set of processors.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use paracompile_frontend::arena::Id;
use paracompile_frontend::soc::{LocationId, ProcessorSet};
use paracompile_plan::front::EnergyAxis;
use paracompile_plan::plan::StoppedBy;
use paracompile_plan::{Nanojoules, Nanoseconds};

use super::super::block::Methods;
use super::super::{Budget, Effort, Granularity, QueueCounts};
use super::blocks::{BlockKey, Blocks, Retimed};
use super::over_queues::Listed;
use super::stage_graph::{Entry, StageGraph};
use super::sweep::{
    Candidate, Label, Path, Steps, bound_under_energy, sum, trade_offs, undominated,
};
use crate::mapping::PipelineMapping;
use crate::mapping::{StageMapping, StageProof};
use crate::partition::FusedOpId;

/// How hard to search, and how long.
#[derive(Clone, Copy, Debug)]
pub struct MapperOptions<'a> {
    /// What the unit of mapping is.
    pub granularity: Granularity,
    /// Where no proof is reached, a mapping whose gap is at most this, in millionths, is not improved.
    pub gap_millionths: u32,
    /// Counted work of each block.
    pub effort: Effort,
    /// How many mappers share that work, at least one: those of other operating points.
    pub shared_by: u64,
    /// Whether mappings are chosen by time, or all trade-offs of time and energy are wanted.
    pub energy: EnergyAxis,
    /// When to stop.
    pub budget: Budget<'a>,
}

/// What is known of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The least that was found.
    pub value: Nanoseconds,
    /// It cannot be less.
    pub bound: Nanoseconds,
}

impl Known {
    /// Of a pipeline's latency, by the proofs of its stages.
    pub fn of(value: Nanoseconds, mapping: &PipelineMapping) -> Self {
        let bounds = mapping.stages.iter().map(|stage| stage.proof.bound);
        Self {
            value,
            bound: bounds.sum::<Nanoseconds>().min(value),
        }
    }
}

/// One way to run a stage.
#[derive(Clone, Debug)]
pub struct StageOption {
    /// Index of the cut at its end.
    pub end: usize,
    /// Its operators, as positions.
    pub ops: Range<usize>,
    /// Its processors; each runs something.
    pub processors: ProcessorSet,
    /// Where the tensors that are live at its end are.
    pub exit: Arc<Entry>,
    /// `T_s(S)`, the least for this exit, and, with energy as an objective, for this energy.
    pub time: Nanoseconds,
    /// Dynamic energy under `S`, the least for this exit and time.
    pub energy: Nanojoules,
    /// No mapping of the stage with this exit, and, with energy as an objective, with at most this energy, takes less under `S`.
    pub bound: Nanoseconds,
    /// How much less energy a mapping takes that is no faster and was left out.
    pub slack: Nanojoules,
    /// Whether it is one of all trade-offs of time and energy, but for their slack.
    pub(super) has_all_trade_offs: bool,
    /// With how many compute queues of each processor it was searched; its mapping may have fewer.
    pub queues: QueueCounts,
    /// [`StageProof::by_queues`].
    pub(super) by_queues: Vec<(QueueCounts, Nanoseconds)>,
    /// Over which numbers of queues the bound holds, for people.
    pub(super) over_queues: Arc<str>,
    /// The mapping where that of its blocks leaves a queue empty: with an operator on each, or with fewer queues.
    pub(super) spread: Option<Arc<StageMapping>>,
    /// Whether energy was an objective.
    axis: EnergyAxis,
    /// Time and energy under `S` and every superset of it that plans are wanted on, ascending; `S` itself is the first.
    pub retimed: Vec<Retimed>,
    /// How its blocks were solved.
    pub methods: Methods,
    /// Why the search stopped.
    pub stopped_by: StoppedBy,
    steps: Arc<Steps>,
    path: Path,
}

impl StageOption {
    /// Time and energy while `used` are in use; `None` if that is neither the stage's set nor a superset that plans are wanted on.
    pub fn under(&self, used: ProcessorSet) -> Option<Retimed> {
        self.retimed
            .binary_search_by_key(&used, |retimed| retimed.used)
            .ok()
            .map(|index| self.retimed[index])
    }

    /// The bound of mappings with these queues; `None` where they were not among the choices.
    pub fn bound_with(&self, queues: QueueCounts) -> Option<Nanoseconds> {
        let mut known = self.by_queues.iter();
        known
            .find(|(other, _)| *other == queues)
            .map(|&(_, bound)| bound)
    }

    /// Who runs what in which order.
    pub fn mapping(&self) -> StageMapping {
        let mapping = self.mapping_of_blocks();
        let Some(spread) = &self.spread else {
            return mapping;
        };
        StageMapping {
            proof: mapping.proof,
            ..StageMapping::clone(spread)
        }
    }

    pub(super) fn mapping_of_blocks(&self) -> StageMapping {
        let blocks = self.steps.blocks(self.path);
        let ceiling = match self.axis {
            EnergyAxis::ByProduct => "",
            EnergyAxis::Objective => " and at most this dynamic energy",
        };
        let series = if blocks.len() > 1 {
            ", by series decomposition at gates"
        } else {
            ""
        };
        StageMapping {
            ops: self.ops.clone(),
            processors: self.processors,
            placement: blocks
                .iter()
                .flat_map(|(_, exit)| exit.placement.iter().copied())
                .collect(),
            queues: blocks
                .iter()
                .flat_map(|(_, exit)| exit.queues.iter().copied())
                .collect(),
            sequence: blocks
                .iter()
                .flat_map(|(block, exit)| {
                    exit.sequence
                        .iter()
                        .map(|offset| FusedOpId::from_index(block.start + offset))
                })
                .collect(),
            proof: StageProof {
                bound: self.bound,
                by_queues: self.by_queues.clone(),
                method: self.methods.to_string(),
                scope: format!(
                    "all mappings of the stage with this exit{ceiling}{}{series}",
                    self.over_queues
                ),
                stopped_by: self.stopped_by,
            },
        }
    }
}

/// Where the stages that are asked for may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ends {
    /// At every cut point.
    Every,
    /// At the end of the network: nothing is left to run a stage behind.
    Last,
    /// Anywhere but at the end of the network: something is left that must run a stage.
    Inner,
}

/// The processors of a stage, with how many queues, and how many choices of these share the counted work of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    pub(super) set: ProcessorSet,
    pub(super) queues: QueueCounts,
    pub(super) shared_by: u64,
}

type Memo = Mutex<HashMap<(usize, Entry, ProcessorSet, Ends), Arc<Vec<StageOption>>>>;

/// What overlapping parts of a block get of its counted work, as a divisor.
const SHARE_OF_PARTS: u64 = 24;

/// Maps stages, and remembers what it has mapped.
#[derive(Debug)]
pub struct StageMapper<'a> {
    graph: StageGraph,
    options: MapperOptions<'a>,
    blocks: Blocks,
    memo: Memo,
    latency_bound: OnceLock<Nanoseconds>,
    pub(super) listed: Listed,
}

impl<'a> StageMapper<'a> {
    /// A mapper of `graph`.
    pub fn new(graph: StageGraph, options: MapperOptions<'a>) -> Self {
        Self {
            graph,
            options,
            blocks: Blocks::default(),
            memo: Mutex::default(),
            latency_bound: OnceLock::new(),
            listed: Listed::default(),
        }
    }

    /// What it maps.
    pub const fn graph(&self) -> &StageGraph {
        &self.graph
    }

    /// How it searches.
    pub(super) const fn options_of_search(&self) -> &MapperOptions<'a> {
        &self.options
    }

    /// No plan has less latency; made once.
    pub(super) fn latency_bound(&self) -> Nanoseconds {
        let bound = || self.graph.latency_bound();
        *self.latency_bound.get_or_init(bound)
    }

    /// When it stops.
    pub(super) const fn budget(&self) -> Budget<'a> {
        self.options.budget
    }

    /// Where network inputs are before the first stage.
    pub fn entry_at_start(&self) -> Entry {
        self.graph.entry_at_start()
    }

    /// Solves all blocks between gates, and what stages from a gate to an inner cut need of them, on all sets that are wanted and for all entries, in parallel.
    /// Without it they are solved when they are asked for.
    ///
    /// Blocks on all processors come first, then on each alone, then on more, and parts of blocks last, so that a budget that ends early leaves whole stages.
    /// `done` is told how many of how many are solved, and what [`StageMapper::one_stage`] says as soon as it is known.
    pub fn prepare(&self, done: &(dyn Fn(usize, usize, Option<Known>) + Sync)) {
        let separating: Vec<usize> = self.separating_cuts().collect();
        let mut keys = Vec::new();
        for pair in separating.windows(2) {
            let (start, end) = (self.position(pair[0]), self.position(pair[1]));
            for entry in self.entries(pair[0]) {
                for set in self.graph.sets() {
                    let queues = self.graph.lanes.least();
                    keys.push(BlockKey {
                        start,
                        end,
                        entry: Arc::clone(&entry),
                        set,
                        queues,
                        shared_by: 1,
                    });
                    // A stage that ends before the network does leaves a processor to run the rest.
                    let inner = if set == self.graph.allowed {
                        0..0
                    } else {
                        pair[0] + 1..pair[1]
                    };
                    keys.extend(inner.map(|cut| BlockKey {
                        start,
                        end: self.position(cut),
                        entry: self.restricted(&entry, pair[0], cut),
                        set,
                        queues,
                        shared_by: SHARE_OF_PARTS,
                    }));
                }
            }
        }
        let everything = self.graph.allowed;
        let rank = |key: &BlockKey| {
            let breadth = if key.set == everything {
                0
            } else {
                key.set.len()
            };
            (key.shared_by > 1, breadth, key.set)
        };
        keys.sort_by_key(rank);
        let count = keys.len();
        let whole = |key: &&BlockKey| key.shared_by == 1 && key.set == everything;
        let missing = AtomicUsize::new(keys.iter().take_while(whole).count());
        let known = OnceLock::new();
        self.blocks
            .solve_all(&self.graph, &keys, &self.options, &|key, solved| {
                if whole(&key) && missing.fetch_sub(1, Ordering::Relaxed) == 1 {
                    known.get_or_init(|| self.one_stage());
                }
                done(solved, count, known.get().copied().flatten());
            });
    }

    /// Whether the budget ended before everything that was asked for was searched to its end.
    pub fn was_cut(&self) -> bool {
        self.blocks.was_cut()
    }

    /// The least time of the whole network as one stage on all processors, as far as it is known, and a bound of it under that slowdown.
    pub fn one_stage(&self) -> Option<Known> {
        let options = self.options_to(0, &self.entry_at_start(), self.graph.allowed, Ends::Last);
        let best = options.iter().min_by_key(|option| option.time)?;
        let bound = options.iter().map(|option| option.bound).min()?;
        Some(Known {
            value: best.time,
            bound,
        })
    }

    /// Every stage that starts at `cut`, where tensors are held as `entry` says, and uses all of `set` and no more.
    ///
    /// Grouped by end cut, ascending; within one by exit.
    pub fn options(&self, cut: usize, entry: &Entry, set: ProcessorSet) -> Arc<Vec<StageOption>> {
        self.options_to(cut, entry, set, Ends::Every)
    }

    /// The same, for the ends that are wanted: what ends elsewhere is not searched.
    pub fn options_to(
        &self,
        cut: usize,
        entry: &Entry,
        set: ProcessorSet,
        ends: Ends,
    ) -> Arc<Vec<StageOption>> {
        let key = (cut, entry.clone(), set, ends);
        let memo = || self.memo.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(options) = memo().get(&key) {
            return Arc::clone(options);
        }
        let options = Arc::new(self.over_queues(cut, entry, set, ends));
        memo().insert(key, Arc::clone(&options));
        options
    }

    pub(super) fn position(&self, cut: usize) -> usize {
        self.graph.cuts[cut].position
    }

    fn separating_cuts(&self) -> impl Iterator<Item = usize> {
        (0..self.graph.cuts.len()).filter(|&cut| self.graph.cuts[cut].separates)
    }

    /// The ways in which tensors can be held at a separating cut: at the start of the network one, behind a gate one for each place where the gate can run.
    fn entries(&self, cut: usize) -> Vec<Arc<Entry>> {
        let position = self.position(cut);
        if position == 0 {
            return vec![Arc::new(self.entry_at_start())];
        }
        let whole = &self.graph.whole;
        let places: BTreeSet<usize> = self
            .graph
            .allowed
            .iter()
            .filter(|p| whole.operators[position - 1].times[p.index()].is_some())
            .map(|p| whole.homes[p.index()])
            .collect();
        places
            .into_iter()
            .map(|place| {
                let live = &self.graph.cuts[cut].live;
                Arc::new(Entry {
                    holders: live
                        .iter()
                        .map(|&tensor| (Id::from_index(tensor), vec![Id::from_index(place)]))
                        .collect(),
                })
            })
            .collect()
    }

    /// Whether there is a stage that starts at `cut` on `set`.
    pub(super) fn is_allowed(&self, cut: usize, set: ProcessorSet) -> bool {
        let is_allowed = !set.is_empty() && set.is_subset(self.graph.allowed);
        is_allowed && cut < self.graph.cuts.len()
    }

    /// The stages with given numbers of queues, some of which may be empty.
    pub(super) fn sweep(
        &self,
        cut: usize,
        entry: &Entry,
        lanes: Lanes,
        ends: Ends,
    ) -> Vec<StageOption> {
        let set = lanes.set;
        let supersets: Vec<ProcessorSet> = self.graph.supersets(set).collect();
        let mut steps = Steps::default();
        let mut found: Vec<(usize, Nanoseconds, Label)> = Vec::new();
        let mut labels = vec![Label::start(&Arc::new(entry.clone()), supersets.len())];
        let mut from = cut;
        let last = self.graph.cuts.len() - 1;
        for end in cut + 1..=last {
            if labels.is_empty() || self.options.budget.should_stop() {
                break;
            }
            let is_wanted = match ends {
                Ends::Every => true,
                Ends::Last => end == last,
                Ends::Inner => end != last,
            };
            // A gate is also on the way to later ends.
            let is_on_the_way = self.graph.cuts[end].separates && end != last;
            if !is_wanted && !is_on_the_way {
                continue;
            }
            let at_end = match self.options.energy {
                EnergyAxis::ByProduct => {
                    let extended = self.extend(&mut steps, &labels, from, end, lanes);
                    undominated(&steps, extended)
                }
                EnergyAxis::Objective => {
                    let candidates = self.candidates(&labels, from, end, lanes);
                    trade_offs(&mut steps, &labels, candidates, self.most_labels())
                }
            };
            for (index, label) in at_end.iter().enumerate() {
                if !is_wanted || label.used != set {
                    continue;
                }
                let bound = match self.options.energy {
                    EnergyAxis::ByProduct => label.bound,
                    EnergyAxis::Objective => bound_under_energy(&at_end, index),
                };
                found.push((end, bound, label.clone()));
            }
            if self.graph.cuts[end].separates {
                labels = at_end;
                from = end;
            }
        }
        let steps = Arc::new(steps);
        found
            .into_iter()
            .map(|(end, bound, label)| StageOption {
                end,
                ops: self.position(cut)..self.position(end),
                processors: set,
                exit: label.exit,
                time: label.objective.makespan,
                energy: label.objective.energy,
                bound,
                slack: label.slack,
                has_all_trade_offs: label.has_all_trade_offs,
                queues: lanes.queues,
                by_queues: Vec::new(),
                over_queues: Arc::from(""),
                spread: None,
                axis: self.options.energy,
                retimed: supersets
                    .iter()
                    .zip(&label.retimed)
                    .map(|(&used, objective)| Retimed {
                        used,
                        time: objective.makespan,
                        energy: objective.energy,
                    })
                    .collect(),
                methods: label.methods,
                stopped_by: label.stopped_by,
                steps: Arc::clone(&steps),
                path: label.path,
            })
            .collect()
    }

    /// Each label with each way through the part between two cuts.
    fn extend(
        &self,
        steps: &mut Steps,
        labels: &[Label],
        from: usize,
        end: usize,
        lanes: Lanes,
    ) -> Vec<Label> {
        let mut extended = Vec::new();
        for label in labels {
            let key = BlockKey {
                start: self.position(from),
                end: self.position(end),
                entry: self.restricted(&label.exit, from, end),
                set: lanes.set,
                queues: lanes.queues,
                shared_by: self.shared_by(from, end) * lanes.shared_by,
            };
            let block = self.blocks.block(&self.graph, key, &self.options);
            for index in 0..block.exits.len() {
                let exit = self.exit(&label.exit, &block.exits[index].holders, end);
                extended.push(label.extended(steps, &block, index, exit));
            }
        }
        extended
    }

    /// How many trade-offs of one exit and one set of used processors go on from a cut; more are thinned.
    const fn most_labels(&self) -> usize {
        if self.options.shared_by > 1 { 12 } else { 32 }
    }

    /// The same as candidates, of which only those that are kept become labels.
    fn candidates(
        &self,
        labels: &[Label],
        from: usize,
        end: usize,
        lanes: Lanes,
    ) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        let mut at = 0;
        // Labels come by exit, and those of one exit meet the same block.
        for group in labels.chunk_by(|a, b| a.exit == b.exit) {
            let entry = &group[0].exit;
            let key = BlockKey {
                start: self.position(from),
                end: self.position(end),
                entry: self.restricted(entry, from, end),
                set: lanes.set,
                queues: lanes.queues,
                shared_by: self.shared_by(from, end) * lanes.shared_by,
            };
            let block = self.blocks.block(&self.graph, key, &self.options);
            let exits: Vec<Arc<Entry>> = block
                .exits
                .iter()
                .map(|way| self.exit(entry, &way.holders, end))
                .collect();
            for (offset, label) in group.iter().enumerate() {
                let ways = block.exits.iter().zip(&exits).enumerate();
                candidates.extend(ways.map(|(index, (way, exit))| Candidate {
                    exit: Arc::clone(exit),
                    used: label.used.union(way.used),
                    objective: sum(label.objective, way.objective),
                    label: at + offset,
                    block: Arc::clone(&block),
                    way: index,
                }));
            }
            at += group.len();
        }
        candidates
    }

    /// Parts between inner cuts overlap, so they share the work of a block.
    fn shared_by(&self, from: usize, end: usize) -> u64 {
        if self.graph.cuts[from].separates && self.graph.cuts[end].separates {
            1
        } else {
            SHARE_OF_PARTS
        }
    }

    /// The part of an entry that operators between two cuts read, so that what merely passes does not divide equal blocks.
    fn restricted(&self, entry: &Arc<Entry>, from: usize, end: usize) -> Arc<Entry> {
        let range = self.position(from)..self.position(end);
        let is_read = |tensor: usize| {
            let readers = &self.graph.whole.tensors[tensor].readers;
            readers.iter().any(|reader| range.contains(reader))
        };
        if entry
            .holders
            .iter()
            .all(|(tensor, _)| is_read(tensor.index()))
        {
            return Arc::clone(entry);
        }
        Arc::new(Entry {
            holders: entry
                .holders
                .iter()
                .filter(|(tensor, _)| is_read(tensor.index()))
                .cloned()
                .collect(),
        })
    }

    /// Holders of what is live at a cut: as the block left it, or as it came if the block did not touch it.
    pub(super) fn exit(
        &self,
        entry: &Entry,
        left: &[(Id<crate::partition::FusedTensor>, Vec<LocationId>)],
        end: usize,
    ) -> Arc<Entry> {
        Arc::new(Entry {
            holders: self.graph.cuts[end]
                .live
                .iter()
                .map(|&tensor| {
                    let tensor = Id::from_index(tensor);
                    let locations = left
                        .iter()
                        .find(|(other, _)| *other == tensor)
                        .map_or_else(|| entry.held(tensor).to_vec(), |(_, held)| held.clone());
                    (tensor, locations)
                })
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use paracompile_frontend::cost::Move;
    use paracompile_plan::Slowdown;
    use proptest::prelude::*;

    use super::super::super::frontier::Reached;
    use super::super::super::frontier::{Coverage, solve};
    use super::super::super::oracle::{Dice, from_edges, instance, random_series};
    use super::super::super::{Objective, Problem, schedule};
    use super::*;

    const OPTIONS: MapperOptions<'static> = MapperOptions {
        granularity: Granularity::Auto,
        gap_millionths: 0,
        effort: Effort::Thorough,
        shared_by: 1,
        energy: EnergyAxis::ByProduct,
        budget: Budget::UNLIMITED,
    };

    fn mapper(whole: Problem, positions: &[usize]) -> StageMapper<'static> {
        let allowed = ProcessorSet::first(whole.homes.len());
        let graph = StageGraph::from_problem(whole, positions, allowed, slowdown);
        StageMapper::new(graph, OPTIONS)
    }

    /// A quarter more for each other processor in use.
    fn slowdown(_: paracompile_frontend::soc::ProcessorId, used: ProcessorSet) -> Slowdown {
        let others = u32::try_from(used.len()).unwrap() - 1;
        Slowdown::from_thousandths(1000 + 250 * others).unwrap()
    }

    fn no_slowdown(_: paracompile_frontend::soc::ProcessorId, _: ProcessorSet) -> Slowdown {
        Slowdown::NONE
    }

    fn least_over_sets(whole: Problem, positions: &[usize]) -> u64 {
        let allowed = ProcessorSet::first(whole.homes.len());
        let graph = StageGraph::from_problem(whole, positions, allowed, no_slowdown);
        let mapper = StageMapper::new(graph, OPTIONS);
        let entry = mapper.entry_at_start();
        allowed
            .subsets()
            .flat_map(|set| mapper.options(0, &entry, set).to_vec())
            .filter(|option| option.end + 1 == positions.len())
            .map(|option| option.time.count())
            .min()
            .unwrap()
    }

    #[test]
    fn residual_bypass_is_no_gate() {
        // x -> a -> add, x -> add: everything on the first processor takes 1 + 1 + 10.
        // Solving x, a apart from add moves a's tensor only and forgets that x's takes 20: 1 + 1 + 5 + 1 = 8.
        let times = [vec![1, 10], vec![1, 10], vec![10, 1]];
        let whole = from_edges(&times, &[(0, 1), (1, 2), (0, 2)], |edge, _, _| {
            [5, 5, 20][edge]
        });
        assert_eq!(least_over_sets(whole, &[0, 1, 2, 3]), 12);
    }

    #[test]
    fn two_chains_overlap_across_an_inner_cut() {
        // Two chains of two, each operator 10 on its own processor and 1 … on none: halves of 10 in sequence would be 20.
        // fork -> (a1 10, b1 1) -> (a2 1, b2 10): together 11, cut in the middle without overlap 20.
        let times = [vec![10, 99], vec![99, 1], vec![1, 99], vec![99, 10]];
        let whole = from_edges(&times, &[(0, 2), (1, 3)], |_, _, _| 0);
        assert_eq!(least_over_sets(whole, &[0, 2, 4]), 11);
    }

    #[test]
    fn exit_processor_decides_the_next_block() {
        // The first operator is faster on processor 1 by 2, but its tensor takes 5 to get to processor 0, where the second takes 1 and not 9.
        let times = [vec![6, 4], vec![1, 9]];
        let whole = from_edges(&times, &[(0, 1)], |_, _, _| 5);
        assert_eq!(least_over_sets(whole, &[0, 1, 2]), 7);
    }

    #[test]
    fn an_input_that_is_read_late_stays_at_io() {
        let mut whole = from_edges(&[vec![1], vec![1]], &[(0, 1)], |_, _, _| 0);
        whole.locations = 2;
        whole.io = 1;
        let cost = |time| {
            Some(Move {
                time: Nanoseconds::new(time),
                energy: Nanojoules::new(time),
            })
        };
        whole.tensors[0].moves = vec![vec![None; 2]; 2];
        whole.tensors.push(super::super::super::Tensor {
            held: vec![1],
            readers: vec![1],
            moves: vec![vec![None, cost(7)], vec![cost(7), None]],
            ..super::super::super::Tensor::default()
        });
        whole.operators[1].reads.push(1);
        let mapper = mapper(whole, &[0, 1, 2]);
        let set = ProcessorSet::first(1);
        let first = mapper.options(0, &mapper.entry_at_start(), set);
        assert_eq!(
            first[0].exit.holders[1],
            (Id::from_index(1), vec![Id::from_index(1)])
        );
        // In one stage the move runs beside the first operator; in two it starts with the second stage.
        assert_eq!(first[1].time, Nanoseconds::new(8));
        let second = mapper.options(1, &first[0].exit, set);
        assert_eq!(second[0].time, Nanoseconds::new(8));
    }

    #[test]
    fn whole_networks_have_the_known_optima() {
        for name in ["incv3_p3", "incv4_p3"] {
            let (whole, known) = instance(name);
            let positions: Vec<usize> = (0..=whole.operators.len()).collect();
            let graph = StageGraph::from_problem(
                whole.clone(),
                &positions,
                ProcessorSet::first(whole.homes.len()),
                no_slowdown,
            );
            // Entry sources start anywhere at no cost, so the first operator stands for the input.
            let separating = graph.cuts.iter().filter(|cut| cut.separates);
            let gates: Vec<usize> = separating.map(|cut| cut.position).collect();
            let widest = gates
                .windows(2)
                .map(|pair| pair[1] - pair[0])
                .max()
                .unwrap();
            assert!(widest <= 13, "{name}: a block of {widest} operators");
            assert_eq!(least_over_sets(whole, &gates), known, "{name}");
        }
    }

    type Answers = BTreeMap<(usize, Entry), Objective>;

    fn by_series(options: &[StageOption]) -> Answers {
        options
            .iter()
            .map(|option| {
                let objective = Objective {
                    makespan: option.time,
                    energy: option.energy,
                };
                ((option.end, Entry::clone(&option.exit)), objective)
            })
            .collect()
    }

    /// Every range as one problem.
    fn at_once(mapper: &StageMapper<'_>, cut: usize, entry: &Entry, set: ProcessorSet) -> Answers {
        let mut answers = BTreeMap::new();
        for end in cut + 1..mapper.graph.cuts.len() {
            let mut part = mapper.graph.part(
                mapper.graph.cuts[cut].position,
                mapper.graph.cuts[end].position,
                entry,
                set,
                QueueCounts::ONE,
            );
            part.problem.must_use = (1 << set.len()) - 1;
            let frontier = solve(
                &part.problem,
                &part.leaving,
                Coverage::Required,
                u64::MAX,
                Budget::UNLIMITED,
            )
            .unwrap();
            assert_eq!(frontier.reached, Reached::Objective);
            for exit in frontier.exits {
                let left: Vec<_> = part
                    .leaving
                    .iter()
                    .zip(&exit.holders)
                    .map(|(&tensor, held)| {
                        let locations = held.iter().map(|&l| Id::from_index(l)).collect();
                        (Id::from_index(part.tensors[tensor]), locations)
                    })
                    .collect();
                let exit_entry = Entry::clone(&mapper.exit(entry, &left, end));
                let old = answers.entry((end, exit_entry)).or_insert(exit.objective);
                *old = exit.objective.min(*old);
            }
        }
        answers
    }

    /// The mapping of an option, timed as one problem, gives what the option says, under its own set and under all others.
    fn check_mapping(mapper: &StageMapper<'_>, cut: usize, entry: &Entry, option: &StageOption) {
        let mapping = option.mapping();
        let start = mapper.graph.cuts[cut].position;
        let mut part = mapper.graph.part(
            start,
            option.ops.end,
            entry,
            option.processors,
            QueueCounts::ONE,
        );
        let processors = mapping
            .placement
            .iter()
            .map(|processor| part.processors.iter().position(|p| p == processor).unwrap())
            .collect();
        let sequence = mapping
            .sequence
            .iter()
            .map(|op| op.index() - start)
            .collect();
        let solution = super::super::super::Solution {
            processors,
            sequence,
        };
        assert_eq!(option.under(option.processors).unwrap().time, option.time);
        for retimed in &option.retimed {
            mapper.graph.slow(&mut part, start, retimed.used);
            let objective = schedule(&part.problem, &solution).objective;
            assert_eq!(
                (objective.makespan, objective.energy),
                (retimed.time, retimed.energy)
            );
        }
        assert_eq!(option.bound, option.time);
        assert_eq!(mapping.proof.stopped_by, StoppedBy::Complete);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]

        #[test]
        fn series_decomposition_equals_the_whole(seed: u64, blocks in 1..4_usize, processors in 1..4_usize) {
            let whole = random_series(seed, blocks, processors);
            let mut dice = Dice(seed);
            let count = whole.operators.len();
            let positions: Vec<usize> = (0..=count)
                .filter(|&position| position == 0 || position == count || dice.below(4) > 0)
                .collect();
            let mapper = mapper(whole, &positions);
            if dice.below(2) == 0 {
                mapper.prepare(&|_, _, _| ());
            }
            let mut cut = 0;
            let mut entry = mapper.entry_at_start();
            // From the start, then from wherever one of the stages ended.
            for _ in 0..3 {
                let mut next = Vec::new();
                for set in mapper.graph.allowed.subsets() {
                    let options = mapper.options(cut, &entry, set);
                    prop_assert_eq!(by_series(&options), at_once(&mapper, cut, &entry, set));
                    for option in options.iter() {
                        check_mapping(&mapper, cut, &entry, option);
                        next.push((option.end, Entry::clone(&option.exit)));
                    }
                }
                if next.is_empty() {
                    break;
                }
                (cut, entry) = next.swap_remove(dice.index(next.len()));
            }
        }
    }
}
