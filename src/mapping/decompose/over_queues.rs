//! Stages over all numbers of compute queues that they are tried with (rule M10): the search treats them like every other choice of a mapping.
//!
//! Each choice of numbers is a problem whose processors are lanes.
//! The least numbers come first; of the others those come first that a list schedule of the whole network likes best, and those behind share the counted work of a block, so that many choices do not cost as many searches.
//! Of stages that end alike, the best stays (rule M9: time, energy, then the fewest queues), and its bound is one for all choices.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use paracompile_frontend::soc::ProcessorSet;
use paracompile_plan::Nanoseconds;
use paracompile_plan::front::EnergyAxis;

use super::super::{QueueCounts, heft, lower_bound, schedule};
use super::blocks::Retimed;
use super::stage_graph::Entry;
use super::stage_mapper::{Ends, Lanes, StageMapper, StageOption};

/// So many choices that come first have the counted work of a block each, and those behind them a share.
const WITH_FULL_WORK: usize = 3;

/// What the others get, as a divisor.
const SHARE_OF_OTHERS: u64 = 16;

/// What a list schedule of the whole network takes, by processors and queues.
pub(super) type Listed = Mutex<HashMap<(ProcessorSet, QueueCounts), Option<Nanoseconds>>>;

/// What is known of one choice: its stages, or a bound that made it not worth searching.
enum Searched {
    Options(Vec<StageOption>),
    Bounded(Nanoseconds),
}

impl StageMapper<'_> {
    /// Every stage that starts at `cut` on all of `set`, with the best number of queues for each way to end.
    pub(super) fn over_queues(
        &self,
        cut: usize,
        entry: &Entry,
        set: ProcessorSet,
        ends: Ends,
    ) -> Vec<StageOption> {
        if !self.is_allowed(cut, set) {
            return Vec::new();
        }
        let choices = self.graph().queue_choices(set, cut);
        let ask = |queues, shared_by| {
            let lanes = Lanes {
                set,
                queues,
                shared_by,
            };
            let mut options = self.sweep(cut, entry, lanes, ends);
            if queues != QueueCounts::ONE {
                options.retain_mut(|option| self.fill_queues(cut, entry, &choices, option));
            }
            options
        };
        let over_queues: Arc<str> = Arc::from(self.graph().lanes.described(set, cut));
        let mut found: BTreeMap<QueueCounts, Searched> = BTreeMap::new();
        for (place, queues) in self.ranked(set, &choices).into_iter().enumerate() {
            // As fast is not enough: it could take less energy (rule M9).
            let reached = || slowest(&found);
            let bound = match (ends, place) {
                (Ends::Last, 1..) => Some(self.quick_bound(cut, entry, set, queues, self.last())),
                _ => None,
            };
            let is_beaten = bound.is_some_and(|bound| reached().is_some_and(|it| bound > it));
            if let Some(bound) = bound.filter(|_| is_beaten) {
                found.insert(queues, Searched::Bounded(bound));
                continue;
            }
            let shared_by = if place < WITH_FULL_WORK {
                1
            } else {
                SHARE_OF_OTHERS
            };
            found.insert(queues, Searched::Options(ask(queues, shared_by)));
        }
        let bound_of = |queues, end| self.quick_bound(cut, entry, set, queues, end);
        let mut best = merged(found, self.options_of_search().energy, &bound_of);
        for option in &mut best {
            option.over_queues = Arc::clone(&over_queues);
        }
        best
    }

    /// The least numbers first, then by what a list schedule of the whole network takes.
    fn ranked(&self, set: ProcessorSet, choices: &[QueueCounts]) -> Vec<QueueCounts> {
        let mut ranked = choices.to_vec();
        if ranked.len() > 1 {
            ranked[1..].sort_by_cached_key(|&queues| {
                let listed = self.listed(set, queues);
                (listed.is_none(), listed)
            });
        }
        ranked
    }

    fn listed(&self, set: ProcessorSet, queues: QueueCounts) -> Option<Nanoseconds> {
        let known = || self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&listed) = known().get(&(set, queues)) {
            return listed;
        }
        let (end, entry) = (self.position(self.last()), self.entry_at_start());
        let part = self.graph().part(0, end, &entry, set, queues);
        let listed = heft(&part.problem).map(|it| schedule(&part.problem, &it).objective.makespan);
        known().insert((set, queues), listed);
        listed
    }

    fn last(&self) -> usize {
        self.graph().cuts.len() - 1
    }

    /// No stage between two cuts with these queues takes less.
    fn quick_bound(
        &self,
        cut: usize,
        entry: &Entry,
        set: ProcessorSet,
        queues: QueueCounts,
        end: usize,
    ) -> Nanoseconds {
        let (start, end) = (self.position(cut), self.position(end));
        lower_bound(&self.graph().part(start, end, entry, set, queues).problem)
    }

    /// Whether the stage is to be kept, with an operator on each of its queues.
    ///
    /// Where it leaves a queue empty, the smaller number takes no longer, unless the profile says so or it is not among the choices: then operators move to the empty queues.
    /// A stage of least time is then found with the smaller number too; any other is kept with that number, since the search there may have missed it.
    fn fill_queues(
        &self,
        cut: usize,
        entry: &Entry,
        choices: &[QueueCounts],
        option: &mut StageOption,
    ) -> bool {
        let mapping = option.mapping_of_blocks();
        let used = mapping.queue_counts();
        if used == option.queues {
            return true;
        }
        let lanes = &self.graph().lanes;
        let is_no_slower = |p| lanes.sharing(p, used) <= lanes.sharing(p, option.queues);
        let with_fewer = choices.contains(&used) && option.processors.iter().all(is_no_slower);
        if with_fewer && option.bound >= option.time {
            return false;
        }
        let spread = if with_fewer {
            Some(mapping)
        } else {
            mapping.spread(option.queues)
        };
        let Some(spread) = spread else {
            return false;
        };
        let retimed = option.retimed.iter().map(|known| known.used);
        option.retimed = retimed
            .map(|used| self.retimed(cut, entry, &spread, used))
            .collect();
        if let Some(&Retimed { time, energy, .. }) = option.retimed.first() {
            (option.time, option.energy) = (time, energy);
            option.bound = option.bound.min(time);
        }
        option.spread = Some(Arc::new(spread));
        true
    }
}

/// The longest time of the stages so far.
fn slowest(found: &BTreeMap<QueueCounts, Searched>) -> Option<Nanoseconds> {
    let options = found.values().flat_map(|searched| match searched {
        Searched::Options(options) => options.as_slice(),
        Searched::Bounded(_) => &[],
    });
    options.map(|option| option.time).max()
}

/// Of the stages of all choices the best for each way to end, with bounds for all choices; by end, then exit, then time.
fn merged(
    found: BTreeMap<QueueCounts, Searched>,
    axis: EnergyAxis,
    bound_of: &dyn Fn(QueueCounts, usize) -> Nanoseconds,
) -> Vec<StageOption> {
    let choices = found.len();
    let mut groups: BTreeMap<(usize, Arc<Entry>), Vec<StageOption>> = BTreeMap::new();
    let mut bounded: Vec<(QueueCounts, Nanoseconds)> = Vec::new();
    let mut searched: Vec<QueueCounts> = Vec::new();
    for (queues, known) in found {
        match known {
            Searched::Bounded(bound) => bounded.push((queues, bound)),
            Searched::Options(options) => {
                searched.push(queues);
                for option in options {
                    let key = (option.end, Arc::clone(&option.exit));
                    groups.entry(key).or_default().push(option);
                }
            }
        }
    }
    let mut merged = Vec::new();
    for ((end, _), mut group) in groups {
        let set = group[0].processors;
        group.sort_by_key(|option| {
            let queues = option.queues;
            (option.time, option.energy, queues.lanes(set), queues)
        });
        if choices == 1 {
            merged.append(&mut group);
            continue;
        }
        let missing: Vec<(QueueCounts, Nanoseconds)> = searched
            .iter()
            .filter(|&&queues| group.iter().all(|option| option.queues != queues))
            .map(|&queues| (queues, bound_of(queues, end)))
            .chain(bounded.iter().copied())
            .collect();
        let mut kept: Vec<StageOption> = Vec::new();
        for option in &group {
            let is_covered = match axis {
                EnergyAxis::ByProduct => !kept.is_empty(),
                EnergyAxis::Objective => kept.iter().any(|other| other.energy <= option.energy),
            };
            if !is_covered {
                kept.push(over_all(option, &group, &missing));
            }
        }
        merged.append(&mut kept);
    }
    merged
}

/// The stage with what holds for all choices and at most its energy.
fn over_all(
    option: &StageOption,
    group: &[StageOption],
    missing: &[(QueueCounts, Nanoseconds)],
) -> StageOption {
    let mut bounds: BTreeMap<QueueCounts, Nanoseconds> = missing.iter().copied().collect();
    let mut merged = option.clone();
    for other in group {
        if other.has_all_trade_offs && other.energy > option.energy {
            continue;
        }
        let bound = bounds.entry(other.queues).or_insert(other.bound);
        *bound = other.bound.min(*bound);
        if other.bound < option.time {
            merged.stopped_by = merged.stopped_by.max(other.stopped_by);
        }
    }
    let least = bounds.values().copied().min();
    merged.bound = least.map_or(option.bound, |least| least.min(option.time));
    merged.by_queues = bounds.into_iter().collect();
    merged
}
