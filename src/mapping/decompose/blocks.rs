//! Solved parts of the network, kept by place and by content.
//!
//! Cells that a network repeats are equal problems, and so are many parts on different processor sets; each is searched once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use paracompile_frontend::arena::Id;
use paracompile_frontend::soc::{LocationId, ProcessorId, ProcessorSet};
use paracompile_plan::front::EnergyAxis;
use paracompile_plan::plan::StoppedBy;
use paracompile_plan::{Nanojoules, Nanoseconds};
use rayon::prelude::*;

use super::super::block::{BlockRequest, Method, TradeOff, TradeOffs, solve_block, trade_offs};
use super::super::coarse::CoarseBranch;
use super::super::frontier::Coverage;
use super::super::{Objective, QueueCounts, Solution, schedule};
use super::stage_graph::{Entry, Part, StageGraph};
use super::stage_mapper::MapperOptions;
use crate::partition::FusedTensorId;

/// A mapping of a stage or a part of one while `used` are in use: same processors and order, other durations (rule M4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retimed {
    /// The processors in use, a superset of the stage's.
    pub used: ProcessorSet,
    /// `T_s(A)`.
    pub time: Nanoseconds,
    /// Dynamic energy.
    pub energy: Nanojoules,
}

/// Which part of the network, entered how, on which processors.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct BlockKey {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) entry: Arc<Entry>,
    pub(super) set: ProcessorSet,
    pub(super) queues: QueueCounts,
    /// How many parts share the counted work.
    pub(super) shared_by: u64,
}

/// A solved part in the terms of the whole network.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) start: usize,
    pub(super) exits: Vec<Exit>,
    /// Whether the exits are all trade-offs of time and energy, but for their slack.
    pub(super) has_all_trade_offs: bool,
}

/// One way through a part.
#[derive(Debug)]
pub(super) struct Exit {
    /// Holders of the tensors that the part touches and that are live at its end.
    pub(super) holders: Vec<(FusedTensorId, Vec<LocationId>)>,
    pub(super) used: ProcessorSet,
    pub(super) objective: Objective,
    pub(super) bound: Nanoseconds,
    /// How much less energy a mapping takes that was left out for this one.
    pub(super) slack: Nanojoules,
    /// Time and energy under each superset of the set, in the order of [`StageGraph::supersets`].
    pub(super) retimed: Vec<Objective>,
    pub(super) placement: Vec<ProcessorId>,
    /// Which lane of its processor each operator is on, numbered as they come into use.
    pub(super) queues: Vec<u8>,
    /// Offsets from the start of the part.
    pub(super) sequence: Vec<usize>,
    pub(super) method: Method,
    pub(super) stopped_by: StoppedBy,
}

/// Who comes second to a problem waits for who came first.
///
/// Nobody waits in a circle: a search asks for no other one.
type ByContent = Mutex<HashMap<Vec<u64>, Arc<OnceLock<TradeOffs>>>>;

/// All parts solved so far.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    by_place: Mutex<HashMap<BlockKey, Arc<Block>>>,
    by_content: ByContent,
    was_cut: AtomicBool,
}

impl Blocks {
    /// Whether the budget left a part unsolved, or ended a search of one.
    pub(super) fn was_cut(&self) -> bool {
        self.was_cut.load(Ordering::Relaxed)
    }

    /// The part, solved now unless it was before; without any way through it if the budget is spent.
    pub(super) fn block(
        &self,
        graph: &StageGraph,
        key: BlockKey,
        options: &MapperOptions<'_>,
    ) -> Arc<Block> {
        if let Some(block) = locked(&self.by_place).get(&key) {
            return Arc::clone(block);
        }
        let part = graph.part(key.start, key.end, &key.entry, key.set, key.queues);
        let Some(solved) = self.solved(&part, key.shared_by, options) else {
            return Arc::new(Block {
                start: key.start,
                exits: Vec::new(),
                has_all_trade_offs: false,
            });
        };
        let exits = solved.get().map_or(&[][..], |solved| &solved.exits);
        let block = Arc::new(Block {
            start: key.start,
            exits: in_terms_of_network(graph, &key, part, exits),
            has_all_trade_offs: solved.get().is_some_and(|solved| solved.is_exact),
        });
        locked(&self.by_place).insert(key, Arc::clone(&block));
        block
    }

    /// Solves many parts in parallel, equal ones once, the first ones first; `done` is told of each, and how many there are.
    pub(super) fn solve_all(
        &self,
        graph: &StageGraph,
        keys: &[BlockKey],
        options: &MapperOptions<'_>,
        done: &(dyn Fn(&BlockKey, usize) + Sync),
    ) {
        let budget = options.budget.of_blocks();
        let count = AtomicUsize::new(0);
        // Halving the list, as rayon would, starts in its middle; a budget should be spent on its beginning.
        keys.iter().par_bridge().for_each(|key| {
            if budget.should_stop() {
                self.was_cut.store(true, Ordering::Relaxed);
                return;
            }
            let part = graph.part(key.start, key.end, &key.entry, key.set, key.queues);
            self.solved(&part, key.shared_by, options);
            done(key, count.fetch_add(1, Ordering::Relaxed) + 1);
        });
    }

    /// The answers of a part's problem, which is solved now unless an equal one was before; `None` if it was not and the budget is spent.
    fn solved(
        &self,
        part: &Part,
        shared_by: u64,
        options: &MapperOptions<'_>,
    ) -> Option<Arc<OnceLock<TradeOffs>>> {
        let mut content = content(part);
        content.push(shared_by);
        let cell = Arc::clone(locked(&self.by_content).entry(content).or_default());
        if cell.get().is_none() && options.budget.of_blocks().should_stop() {
            self.was_cut.store(true, Ordering::Relaxed);
            return None;
        }
        let solved = cell.get_or_init(|| solve(part, shared_by, options));
        let is_cut = |way: &TradeOff| way.exit.stopped_by >= StoppedBy::Time;
        if solved.exits.iter().any(is_cut) {
            self.was_cut.store(true, Ordering::Relaxed);
        }
        Some(cell)
    }
}

fn solve(part: &Part, shared_by: u64, options: &MapperOptions<'_>) -> TradeOffs {
    let request = BlockRequest {
        problem: &part.problem,
        leaving: &part.leaving,
        coverage: Coverage::Every,
        branches: &part.branches,
        granularity: options.granularity,
        gap_millionths: options.gap_millionths,
        effort: options.effort,
        shared_by: shared_by.saturating_mul(options.shared_by),
        budget: options.budget.of_blocks(),
    };
    match options.energy {
        EnergyAxis::Objective => trade_offs(&request),
        EnergyAxis::ByProduct => TradeOffs {
            exits: solve_block(&request)
                .into_iter()
                .map(TradeOff::of)
                .collect(),
            is_exact: false,
        },
    }
}

/// The value behind a lock: what a panicking thread left is complete, because values are only inserted.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn in_terms_of_network(
    graph: &StageGraph,
    key: &BlockKey,
    mut part: Part,
    exits: &[TradeOff],
) -> Vec<Exit> {
    let mut translated: Vec<Exit> = exits
        .iter()
        .map(|TradeOff { exit, slack }| Exit {
            holders: part
                .leaving
                .iter()
                .zip(&exit.holders)
                .map(|(&tensor, holders)| {
                    let locations = holders.iter().map(|&l| Id::from_index(l)).collect();
                    (Id::from_index(part.tensors[tensor]), locations)
                })
                .collect(),
            used: part
                .processors
                .iter()
                .enumerate()
                .filter(|(index, _)| exit.used & (1 << index) != 0)
                .map(|(_, &processor)| processor)
                .collect(),
            objective: exit.objective,
            bound: exit.proof.bound(exit.objective.makespan),
            slack: *slack,
            retimed: Vec::new(),
            placement: exit
                .solution
                .processors
                .iter()
                .map(|&processor| part.processors[processor])
                .collect(),
            queues: lanes_in_use(&part, &exit.solution),
            sequence: exit.solution.sequence.clone(),
            method: exit.method,
            stopped_by: exit.stopped_by,
        })
        .collect();
    let own = graph.slowdowns(key.set);
    let mut slowed_as = key.set;
    for used in graph.supersets(key.set) {
        // Without contention all supersets are alike.
        let is_alike = |other: ProcessorSet| {
            part.processors.iter().all(|processor| {
                graph.slowdowns(used)[processor.index()]
                    == graph.slowdowns(other)[processor.index()]
            })
        };
        let alike_own = part
            .processors
            .iter()
            .all(|processor| graph.slowdowns(used)[processor.index()] == own[processor.index()]);
        if !alike_own && !is_alike(slowed_as) {
            graph.slow(&mut part, key.start, used);
            slowed_as = used;
        }
        for (exit, solved) in translated.iter_mut().zip(exits) {
            let objective = if alike_own {
                solved.exit.objective
            } else {
                schedule(&part.problem, &solved.exit.solution).objective
            };
            exit.retimed.push(objective);
        }
    }
    translated
}

/// The lane of each operator, those of each processor numbered as they come into use.
fn lanes_in_use(part: &Part, solution: &Solution) -> Vec<u8> {
    let mut names: Vec<Option<u8>> = vec![None; part.processors.len()];
    let mut used = vec![0; part.processors.len()];
    let mut lanes = vec![0; solution.processors.len()];
    for &operator in &solution.sequence {
        let lane = solution.processors[operator];
        let used = &mut used[part.problem.device(lane)];
        lanes[operator] = *names[lane].get_or_insert_with(|| {
            *used += 1;
            *used - 1
        });
    }
    lanes
}

/// Everything about a problem that can change its solutions, as numbers.
fn content(part: &Part) -> Vec<u64> {
    let (problem, leaving) = (&part.problem, &part.leaving);
    let mut content = Vec::new();
    let mut list = |items: &mut dyn Iterator<Item = u64>| {
        let at = content.len();
        content.push(0);
        content.extend(items);
        content[at] = (content.len() - at) as u64;
    };
    let homes = || problem.homes.iter().map(|&home| home as u64);
    list(&mut homes());
    list(&mut problem.devices.iter().map(|&device| device as u64));
    list(&mut [problem.locations as u64, problem.io as u64].into_iter());
    list(&mut leaving.iter().map(|&tensor| tensor as u64));
    let mut open: Vec<&CoarseBranch> = part.branches.iter().collect();
    while let Some(branch) = open.pop() {
        list(&mut branch.ops.iter().map(|&operator| operator as u64));
        list(&mut [branch.nested.len() as u64].into_iter());
        open.extend(&branch.nested);
    }
    list(&mut [].into_iter());
    for operator in &problem.operators {
        list(
            &mut operator
                .times
                .iter()
                .map(|time| time.map_or(u64::MAX, Nanoseconds::count)),
        );
        list(&mut operator.energies.iter().map(|energy| energy.count()));
        list(&mut operator.reads.iter().map(|&tensor| tensor as u64));
        list(&mut operator.writes.iter().map(|&tensor| tensor as u64));
    }
    for tensor in &problem.tensors {
        list(&mut tensor.producer.iter().map(|&producer| producer as u64));
        list(&mut tensor.held.iter().map(|&location| location as u64));
        list(&mut [u64::from(tensor.to_io)].into_iter());
        let sources: Vec<usize> = match tensor.producer {
            Some(_) => problem.homes.clone(),
            None => tensor.held.clone(),
        };
        let targets = || problem.homes.iter().chain([&problem.io]);
        list(
            &mut sources
                .iter()
                .flat_map(|&from| targets().map(move |&to| (from, to)))
                .flat_map(|(from, to)| match tensor.moves[from][to] {
                    Some(cost) => [1, cost.time.count(), cost.energy.count()],
                    None => [0; 3],
                }),
        );
    }
    content
}
