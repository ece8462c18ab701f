//! Bounds of the stages that made it to the front, raised by the relaxation.
//!
//! The search bounds every stage that it looks at by what is quick; a program with cuts for each of them would take hours.
//! What is printed is few, so it is proven better afterwards; nothing but proofs changes.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use paracompile_frontend::arena::Id;
use paracompile_frontend::soc::{LocationId, ProcessorSet};
use paracompile_plan::Nanoseconds;
use paracompile_plan::plan::StoppedBy;
use rayon::prelude::*;

use super::super::block::holders;
use super::super::relaxation::{Floor, RaisedBy, Relaxed, Work, relaxation_bound};
use super::super::{Budget, Effort, Problem, QueueCounts, enough};
use super::stage_graph::Entry;
use super::stage_mapper::StageMapper;
use crate::mapping::{PipelineMapping, StageMapping};

/// A stage as far as its bound depends on it: where it starts and ends, what it finds where, and on which processors it runs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    cut: usize,
    end: usize,
    entry: Entry,
    processors: ProcessorSet,
    queues: QueueCounts,
}

/// A stage whose bound can be raised.
struct Open {
    problem: Problem,
    value: Nanoseconds,
    bound: Nanoseconds,
}

impl Open {
    fn gap(&self) -> f64 {
        1.0 - self.bound.to_seconds() / self.value.to_seconds()
    }
}

/// Between what found a mapping and what gave its bound.
const BOUND_BY: &str = ", bound by ";

/// Until the clock ends them.
const WHILE_TIME_LASTS: Work = Work {
    rounds: 60,
    trials: 8,
    probes: 24,
    nodes: None,
    refutations: 0,
    repairs: 0,
    gap_millionths: 0,
};

/// What the program of a stage costs, about: places where operators can be, squared.
type Cost = u64;

/// How much the programs of all stages together may cost; mappers at several operating points share it.
#[derive(Clone, Copy, Debug)]
pub struct Purse(Cost);

impl Purse {
    /// What there is at an effort.
    pub fn new(effort: Effort) -> Self {
        Self(share(effort).map_or(0, |(_, most)| most))
    }
}

impl StageMapper<'_> {
    /// Raises the bounds of the stages of `mappings` that are not within the gap that is asked for; those that come first are served first.
    ///
    /// With a clock, what time is left goes to the stages with the widest gaps.
    /// Says what ended it, if anything but its own work did.
    pub fn tighten(
        &self,
        mappings: &mut [&mut PipelineMapping],
        purse: &mut Purse,
    ) -> Option<StoppedBy> {
        let options = self.options_of_search();
        let (work, _) = share(options.effort)?;
        let budget = options.budget;
        if let Some(by) = budget.stopped_by() {
            return Some(by);
        }
        // What is stated and separated between two looks at the clock takes a while.
        let reserve = budget.left().unwrap_or_default() / RESERVED;
        let left = || budget.left().unwrap_or_default().saturating_sub(reserve);
        let stop = || {
            let is_over = budget.left().is_some() && left().is_zero();
            budget
                .stopped_by()
                .or_else(|| is_over.then_some(StoppedBy::Time))
        };
        let shorter = Budget::until(&stop).with_clock(&left);
        let within = if budget.left().is_some() {
            shorter
        } else {
            budget
        };
        let has_skipped = Cell::new(false);
        let fits = |cost: Cost| {
            let fits = budget.left().is_none() || cost <= cost_within(left());
            has_skipped.set(has_skipped.get() || !fits);
            fits
        };
        let keys: Vec<Vec<Key>> = mappings
            .iter()
            .map(|mapping| self.keys(&mapping.stages))
            .collect();
        let open = self.open(mappings, &keys, &mut |cost| {
            let is_affordable = fits(cost) && cost <= purse.0;
            if is_affordable {
                purse.0 -= cost;
            }
            is_affordable
        });
        self.raise(mappings, &keys, open, work, within);
        if budget.left().is_some() && !within.should_stop() {
            let open = self.open(mappings, &keys, &mut |cost| fits(cost));
            self.raise(mappings, &keys, open, WHILE_TIME_LASTS, within);
        }
        let skipped = has_skipped.get().then_some(StoppedBy::Time);
        within.stopped_by().or(skipped)
    }

    /// The stages whose bounds are to be raised and can be paid for.
    fn open(
        &self,
        mappings: &[&mut PipelineMapping],
        keys: &[Vec<Key>],
        is_affordable: &mut dyn FnMut(Cost) -> bool,
    ) -> BTreeMap<Key, Open> {
        let gap = self.options_of_search().gap_millionths;
        let mut open: BTreeMap<Key, Open> = BTreeMap::new();
        for (mapping, keys) in mappings.iter().zip(keys) {
            let times: Vec<Nanoseconds> = mapping
                .stages
                .iter()
                .zip(keys)
                .map(|(stage, key)| {
                    let set = stage.processors;
                    self.retimed(key.cut, &key.entry, stage, set).time
                })
                .collect();
            let bounds = mapping.stages.iter().zip(&times);
            let bounds = bounds.map(|(stage, &time)| stage.proof.bound.min(time));
            let latency: Nanoseconds = times.iter().copied().sum();
            if bounds.sum::<Nanoseconds>() >= enough(latency, gap) {
                continue;
            }
            for ((stage, key), time) in mapping.stages.iter().zip(keys).zip(times) {
                let keys_of = |key| bounds_of(key, stage);
                if stage.proof.bound >= enough(time, gap) {
                    continue;
                }
                for (key, bound) in keys_of(key).filter(|(_, bound)| *bound < enough(time, gap)) {
                    if let Some(known) = open.get_mut(&key) {
                        // Any of the stages with this key may have the least time, and all bounds hold for the worst of them.
                        known.value = known.value.min(time);
                        known.bound = known.bound.min(bound);
                        continue;
                    }
                    if !is_affordable(cost(stage, key.queues)) {
                        continue;
                    }
                    let start = self.position(key.cut);
                    let part = self.graph().part(
                        start,
                        stage.ops.end,
                        &key.entry,
                        key.processors,
                        key.queues,
                    );
                    let problem = Problem {
                        must_use: part.problem.eligible_devices(),
                        ..part.problem
                    };
                    let value = time;
                    open.insert(
                        key,
                        Open {
                            problem,
                            value,
                            bound,
                        },
                    );
                }
            }
        }
        open
    }

    /// Raises the bounds of open stages, the widest gap first.
    fn raise(
        &self,
        mappings: &mut [&mut PipelineMapping],
        keys: &[Vec<Key>],
        open: BTreeMap<Key, Open>,
        work: Work,
        budget: Budget<'_>,
    ) {
        let options = self.options_of_search();
        let work = Work {
            gap_millionths: options.gap_millionths,
            ..work
        };
        let mut open: Vec<(Key, Open)> = open.into_iter().collect();
        open.sort_by(|(_, a), (_, b)| b.gap().total_cmp(&a.gap()));
        // A parallel iterator over a list would start in its middle.
        let raised: BTreeMap<Key, Relaxed> = open
            .into_iter()
            .par_bridge()
            .map(|(key, open)| {
                let Open {
                    problem,
                    value,
                    bound,
                } = open;
                // How far it is certified is asked by nobody here.
                let floor = Floor::certain(bound);
                let relaxed = relaxation_bound(&problem, value, floor, work, budget);
                (key, relaxed)
            })
            .collect();
        for (mapping, keys) in mappings.iter_mut().zip(keys) {
            for (stage, key) in mapping.stages.iter_mut().zip(keys) {
                let bounds: Vec<(QueueCounts, Nanoseconds, Option<RaisedBy>)> =
                    bounds_of(key, stage)
                        .map(|(key, bound)| {
                            let relaxed = raised.get(&key).filter(|relaxed| relaxed.bound > bound);
                            let raised = relaxed.and_then(|it| Some((it.bound, it.bound_by?)));
                            let (bound, by) =
                                raised.map_or((bound, None), |(it, by)| (it, Some(by)));
                            (key.queues, bound, by)
                        })
                        .collect();
                let Some(&(_, bound, by)) = bounds.iter().min_by_key(|(_, bound, _)| *bound) else {
                    continue;
                };
                if bound > stage.proof.bound {
                    stage.proof.bound = bound;
                    let by = by.or_else(|| bounds.iter().find_map(|(_, _, by)| *by));
                    if let Some(by) = by {
                        let found = stage.proof.method.split(BOUND_BY).next().unwrap_or("");
                        stage.proof.method = format!("{found}{BOUND_BY}{}", by.name());
                    }
                }
                if !stage.proof.by_queues.is_empty() {
                    let bounds = bounds.iter().map(|&(queues, bound, _)| (queues, bound));
                    stage.proof.by_queues = bounds.collect();
                }
            }
        }
    }

    /// Where each stage starts and what it finds.
    fn keys(&self, stages: &[StageMapping]) -> Vec<Key> {
        let mut entry = self.entry_at_start();
        let mut keys = Vec::with_capacity(stages.len());
        for stage in stages {
            let key = Key {
                cut: self.cut_at(stage.ops.start),
                end: self.cut_at(stage.ops.end),
                entry,
                processors: stage.processors,
                queues: stage.queue_counts(),
            };
            entry = self.left_by(&key, stage);
            keys.push(key);
        }
        keys
    }

    fn cut_at(&self, position: usize) -> usize {
        self.graph()
            .cuts
            .iter()
            .position(|cut| cut.position == position)
            .expect("stages start and end at cut points")
    }

    /// Where the tensors are that are live behind a stage.
    fn left_by(&self, key: &Key, stage: &StageMapping) -> Entry {
        let (part, solution) = self.part_of(key.cut, &key.entry, stage);
        let left: Vec<(_, Vec<LocationId>)> = part
            .leaving
            .iter()
            .zip(holders(&part.problem, &solution, &part.leaving))
            .map(|(&tensor, held)| {
                let locations = held.into_iter().map(Id::from_index).collect();
                (Id::from_index(part.tensors[tensor]), locations)
            })
            .collect();
        Entry::clone(&self.exit(&key.entry, &left, key.end))
    }
}

/// A program that costs more is not begun: it would not end in time.
fn cost_within(left: Duration) -> Cost {
    let millis = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
    millis.saturating_mul(COST_OF_MILLISECOND)
}

/// Of the time that is left, one part in so many is kept back.
const RESERVED: u32 = 5;

/// Measured on BERT, where 2.5 million take some seconds on two threads.
const COST_OF_MILLISECOND: Cost = 200;

/// What has to be bounded for a stage, and the bound so far: itself, or every choice of queues.
fn bounds_of<'s>(
    key: &'s Key,
    stage: &'s StageMapping,
) -> impl Iterator<Item = (Key, Nanoseconds)> + 's {
    let own = stage.proof.by_queues.is_empty();
    let own = own.then(|| (key.clone(), stage.proof.bound));
    let choices = stage.proof.by_queues.iter().map(|&(queues, bound)| {
        let key = Key {
            queues,
            ..key.clone()
        };
        (key, bound)
    });
    own.into_iter().chain(choices)
}

fn cost(stage: &StageMapping, queues: QueueCounts) -> Cost {
    let places = (stage.ops.len() * queues.lanes(stage.processors)) as u64;
    places.saturating_mul(places)
}

/// Work of each program, and the cost of all of them together.
fn share(effort: Effort) -> Option<(Work, Cost)> {
    let work = |rounds, trials, probes| Work {
        rounds,
        trials,
        probes,
        nodes: None,
        refutations: 0,
        repairs: 0,
        gap_millionths: 0,
    };
    match effort {
        Effort::Quick => None,
        Effort::Normal => Some((work(12, 1, 0), 2_500_000)),
        Effort::Thorough => Some((work(60, 8, 24), 30_000_000)),
    }
}
