//! Bounds of the stages that made it to the front, raised by the relaxation.
//!
//! The search bounds every stage that it looks at by what is quick; a program with cuts for each of them would take hours.
//! What is printed is few, so it is proven better afterwards; nothing but proofs changes.

use std::collections::BTreeMap;

use paracompile_frontend::arena::Id;
use paracompile_frontend::soc::{LocationId, ProcessorSet};
use paracompile_plan::Nanoseconds;
use rayon::prelude::*;

use super::super::block::holders;
use super::super::relaxation::{Work, relaxation_bound};
use super::super::{Effort, Problem};
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
}

/// A stage whose bound can be raised.
struct Open {
    problem: Problem,
    value: Nanoseconds,
    bound: Nanoseconds,
}

/// What the program of a stage costs, about: places where operators can be, squared.
type Cost = u64;

impl StageMapper<'_> {
    /// Raises the bounds of the stages of `mappings`; those that come first are served first.
    pub fn tighten(&self, mappings: &mut [&mut PipelineMapping]) {
        let effort = self.options_of_search().effort;
        let Some((work, most)) = share(effort) else {
            return;
        };
        let keys: Vec<Vec<Key>> = mappings
            .iter()
            .map(|mapping| self.keys(&mapping.stages))
            .collect();
        let mut open: BTreeMap<&Key, Open> = BTreeMap::new();
        let mut spent: Cost = 0;
        for (mapping, keys) in mappings.iter().zip(&keys) {
            for (stage, key) in mapping.stages.iter().zip(keys) {
                let time = self
                    .retimed(key.cut, &key.entry, stage, stage.processors)
                    .time;
                if stage.proof.bound >= time {
                    continue;
                }
                if let Some(known) = open.get_mut(key) {
                    // Any of the stages with this key may have the least time, and all bounds hold for the worst of them.
                    known.value = known.value.min(time);
                    known.bound = known.bound.min(stage.proof.bound);
                    continue;
                }
                let cost = cost(stage);
                if spent.saturating_add(cost) > most {
                    continue;
                }
                spent += cost;
                let (part, _) = self.part_of(key.cut, &key.entry, stage);
                let problem = Problem {
                    must_use: part.problem.eligible(),
                    ..part.problem
                };
                let bound = stage.proof.bound;
                open.insert(
                    key,
                    Open {
                        problem,
                        value: time,
                        bound,
                    },
                );
            }
        }
        let budget = self.options_of_search().budget;
        let raised: BTreeMap<&Key, Nanoseconds> = open
            .into_par_iter()
            .map(|(key, open)| {
                let relaxed = relaxation_bound(&open.problem, open.value, open.bound, work, budget);
                (key, relaxed.bound)
            })
            .collect();
        for (mapping, keys) in mappings.iter_mut().zip(&keys) {
            for (stage, key) in mapping.stages.iter_mut().zip(keys) {
                if let Some(&bound) = raised.get(key)
                    && bound > stage.proof.bound
                {
                    stage.proof.bound = bound;
                    stage.proof.method = format!("{}, bound by cut LP", stage.proof.method);
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

fn cost(stage: &StageMapping) -> Cost {
    let places = (stage.ops.len() * stage.processors.len()) as u64;
    places.saturating_mul(places)
}

/// Work of each program, and the cost of all of them together.
fn share(effort: Effort) -> Option<(Work, Cost)> {
    let work = |rounds, trials| Work {
        rounds,
        trials,
        nodes: None,
        refutations: 0,
        repairs: 0,
    };
    match effort {
        Effort::Quick => None,
        Effort::Normal => Some((work(12, 1), 2_500_000)),
        Effort::Thorough => Some((work(60, 8), 30_000_000)),
    }
}
