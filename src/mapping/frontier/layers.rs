//! From one layer of states to the next, whatever a pass is looking for: expansion, dominance, and schedules out of the last layer.
//!
//! Work is counted here: states that are made, and comparisons of them.

use std::collections::HashMap;
use std::rc::Rc;

use paracompile_plan::{Nanojoules, Nanoseconds};

use super::super::{Budget, Objective};
use super::exits::{Finish, Signature};
use super::layout::Layout;
use super::state::{LARGEST_PLACEMENT, Pool, Step};
use super::tables::{Tables, mark};

/// Comparisons of two states that take about as long as making one.
const COMPARISONS: u64 = 16;

/// What the passes of one search have in common.
pub(super) struct Layers<'a> {
    pub(super) tables: &'a Tables<'a>,
    layouts: HashMap<u32, Rc<Layout>>,
    /// For each kept state: the one before, and the operator.
    trace: Vec<(u32, u8)>,
    states_left: u64,
    budget: Budget<'a>,
}

impl<'a> Layers<'a> {
    pub(super) fn new(tables: &'a Tables<'a>, states: u64, budget: Budget<'a>) -> Self {
        Self {
            tables,
            layouts: HashMap::new(),
            trace: Vec::new(),
            states_left: states,
            budget,
        }
    }

    /// The first layer of a pass; what passes before have left is forgotten.
    pub(super) fn root(&mut self) -> Pool {
        self.trace.clear();
        let layout = self.layout(0);
        Pool::root(self.tables, &layout)
    }

    /// The states behind a layer that are of use and that no other dominates; `None` if the work or the budget did not last.
    ///
    /// `width` keeps so many of each set of used processors, and then nothing is counted.
    /// `is_of_use` is given a state, what its set has in common, and its bounds by class.
    pub(super) fn next(
        &mut self,
        layer: &Pool,
        width: Option<usize>,
        with_energy: bool,
        is_of_use: impl Fn(&Pool, usize, &Layout, &[u64]) -> bool,
    ) -> Option<Pool> {
        let candidates = self.expand(layer, width.is_none(), is_of_use)?;
        self.keep(&candidates, width, with_energy)
    }

    fn layout(&mut self, done: u32) -> Rc<Layout> {
        let tables = self.tables;
        Rc::clone(
            self.layouts
                .entry(done)
                .or_insert_with(|| Rc::new(Layout::new(tables, done))),
        )
    }

    /// All states that follow from a layer and are of use.
    fn expand(
        &mut self,
        layer: &Pool,
        is_counted: bool,
        is_of_use: impl Fn(&Pool, usize, &Layout, &[u64]) -> bool,
    ) -> Option<Pool> {
        let tables = self.tables;
        let mut candidates = Pool::default();
        let mut bounds = vec![0; tables.classes];
        let mut at = 0;
        while at < layer.nodes.len() {
            let done = layer.nodes[at].done;
            let group = layer.nodes[at..]
                .iter()
                .take_while(|node| node.done == done)
                .count();
            let before = self.layout(done);
            for &operator in &before.ready {
                let behind = self.layout(done | 1 << operator);
                let step = Step::new(tables, operator, &before, &behind);
                let mut skipped = 0;
                for index in at..at + group {
                    for processor in tables.supported(operator) {
                        if layer.stands_alike(tables, index, processor) {
                            skipped += 1;
                            continue;
                        }
                        candidates.append(tables, layer, index, &step, processor, &mut bounds);
                        let last = candidates.nodes.len() - 1;
                        if !is_of_use(&candidates, last, &behind, &bounds) {
                            candidates.pop();
                        }
                    }
                }
                if is_counted {
                    let created = (group * tables.processors - skipped) as u64;
                    self.states_left = self.states_left.checked_sub(created)?;
                }
            }
            if self.budget.should_stop() {
                return None;
            }
            at += group;
        }
        Some(candidates)
    }

    /// The states of a layer that no other dominates.
    fn keep(&mut self, candidates: &Pool, width: Option<usize>, with_energy: bool) -> Option<Pool> {
        let tables = self.tables;
        let mut order: Vec<usize> = (0..candidates.nodes.len()).collect();
        order.sort_unstable_by_key(|&index| {
            let node = &candidates.nodes[index];
            (
                node.done,
                node.sum,
                node.energy,
                node.used.count_zeros(),
                node.placement,
                index,
            )
        });
        let mut kept: Vec<usize> = Vec::new();
        let mut comparisons = 0_u64;
        let most = self.states_left.saturating_mul(COMPARISONS);
        let mut at = 0;
        while at < order.len() {
            let done = candidates.nodes[order[at]].done;
            let layout = self.layout(done);
            let first = kept.len();
            while at < order.len() && candidates.nodes[order[at]].done == done {
                let index = order[at];
                at += 1;
                // At the end the exit's place counts, and whoever asked chooses.
                let is_dominated = layout.remaining > 0
                    && kept[first..].iter().any(|&other| {
                        candidates.dominates(tables, &layout, other, index, with_energy)
                    });
                comparisons += (kept.len() - first) as u64;
                if !is_dominated {
                    kept.push(index);
                }
                if comparisons > most && width.is_none() {
                    return None;
                }
            }
        }
        let is_last = kept.first().is_some_and(|&index| {
            candidates.nodes[index].done.count_ones() as usize == tables.operators
        });
        match width {
            None => self.states_left -= comparisons / COMPARISONS,
            Some(width) if !is_last => kept = narrow(candidates, kept, width),
            Some(_) => {}
        }
        let mut layer = Pool::default();
        for index in kept {
            let node = &candidates.nodes[index];
            let layout = self.layout(node.done);
            let trace = u32::try_from(self.trace.len()).expect("states are counted");
            self.trace.push((node.trace, node.operator));
            layer.copy(tables, candidates, index, &layout, trace);
        }
        Some(layer)
    }

    /// The complete schedules of the last layer, and how each leaves its tensors.
    pub(super) fn finishes(&mut self, layer: &Pool) -> Vec<(Signature, Finish)> {
        (0..layer.nodes.len())
            .map(|index| self.finish(layer, index))
            .collect()
    }

    fn finish(&mut self, layer: &Pool, index: usize) -> (Signature, Finish) {
        let tables = self.tables;
        let node = &layer.nodes[index];
        let layout = self.layout(node.done);
        let signature = match tables.exit {
            Some(exit) => {
                let shift = 4 * (LARGEST_PLACEMENT - 1 - exit);
                let processor =
                    usize::try_from(node.placement >> shift & 15).expect("four bits fit any word");
                tables.signature_of_class(tables.place_of[processor])
            }
            None => tables
                .leaving
                .iter()
                .map(|tensor| {
                    let slot = layout.tracked.iter().position(|other| other == tensor);
                    slot.map_or(mark(0, 0), |slot| layer.marks(index, &layout)[slot])
                })
                .collect(),
        };
        let mut sequence = Vec::with_capacity(tables.operators);
        let mut trace = node.trace;
        while let Some(&(before, operator)) = self.trace.get(trace as usize) {
            sequence.push(operator);
            trace = before;
        }
        sequence.reverse();
        let finish = Finish {
            objective: Objective {
                makespan: Nanoseconds::new(node.makespan),
                energy: Nanojoules::new(node.energy),
            },
            placement: node.placement,
            used: tables.twins.representative(node.used),
            sequence,
        };
        (signature, finish)
    }
}

/// The most promising states of each set of used processors, in the order of `kept`.
fn narrow(candidates: &Pool, kept: Vec<usize>, width: usize) -> Vec<usize> {
    let mut ranked: Vec<(u16, u64, u64, usize)> = kept
        .iter()
        .enumerate()
        .map(|(position, &index)| {
            let node = &candidates.nodes[index];
            (node.used, node.bound, node.sum, position)
        })
        .collect();
    ranked.sort_unstable();
    let mut chosen = vec![false; kept.len()];
    let mut count = 0;
    for (at, &(used, _, _, position)) in ranked.iter().enumerate() {
        count = if at > 0 && ranked[at - 1].0 == used {
            count + 1
        } else {
            1
        };
        chosen[position] = count <= width;
    }
    kept.into_iter()
        .zip(chosen)
        .filter_map(|(index, chosen)| chosen.then_some(index))
        .collect()
}
