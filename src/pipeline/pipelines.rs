//! From stage mappings to complete pipelines: the search, once for each final processor set.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use paracompile_frontend::soc::ProcessorSet;
use paracompile_plan::{Nanojoules, Nanoseconds};
use rayon::prelude::*;

use super::Cost;
use super::memory::MemoryDemand;
use super::search::{Asked, Found, Offer, Space, search};
use crate::mapping::decompose::{Ends, Entry, StageMapper, StageOption};
use crate::mapping::{Budget, PipelineMapping};

/// A complete pipeline with the cost that the search found for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Who runs what.
    pub mapping: PipelineMapping,
    /// `Σ T_s(S)`, `max T_s(A)` and `E_dyn` under `A`.
    pub cost: Cost,
}

impl Candidate {
    /// A mapping that was found elsewhere, with its times.
    pub fn new(
        mapping: PipelineMapping,
        latency: Nanoseconds,
        interval: Nanoseconds,
        energy: Nanojoules,
    ) -> Self {
        Self {
            mapping,
            cost: Cost {
                latency,
                bottleneck: interval,
                energy,
                memory: Vec::new(),
            },
        }
    }
}

/// All pipelines of at most `max_stages` stages that no other on the same processors covers, by processor set, then latency.
///
/// `allowed` is what the chip offers; a plan may leave processors unused.
/// `cuts` is the number of cut points; `demand` tells which memories can bind (rule M8).
pub fn pipelines(
    mapper: &StageMapper<'_>,
    demand: &MemoryDemand<'_>,
    cuts: usize,
    allowed: ProcessorSet,
    max_stages: usize,
    budget: Budget<'_>,
) -> Vec<Candidate> {
    let sets: Vec<ProcessorSet> = allowed.subsets().collect();
    let found: Vec<Vec<Candidate>> = sets
        .par_iter()
        .map(|&used| on_exactly(mapper, demand, cuts, used, max_stages, budget))
        .collect();
    found.into_iter().flatten().collect()
}

fn on_exactly(
    mapper: &StageMapper<'_>,
    demand: &MemoryDemand<'_>,
    cuts: usize,
    used: ProcessorSet,
    max_stages: usize,
    budget: Budget<'_>,
) -> Vec<Candidate> {
    let limits = demand.limits();
    let entries = Entries::new(mapper.entry_at_start());
    let announce = |asked: &[Asked]| {
        let known: Vec<(Asked, Arc<Entry>)> = asked
            .iter()
            .map(|&asked| (asked, entries.at(asked.entry)))
            .collect();
        known.par_iter().for_each(|(asked, entry)| {
            mapper.options_to(asked.start, entry, asked.processors, ends(asked.is_last));
        });
    };
    let offers = |asked: Asked| {
        let cut = asked.start;
        let entry = entries.at(asked.entry);
        let options = mapper.options_to(cut, &entry, asked.processors, ends(asked.is_last));
        let offers = options.iter().map(|option| Offer {
            memory: if limits.is_empty() {
                Vec::new()
            } else {
                demand.of_stage(mapper, cut, &entry, &option.mapping(), used)
            },
            ..offer(option, used, cuts, &entries)
        });
        Arc::new(offers.collect())
    };
    let space = Space {
        cuts,
        used,
        max_stages,
        memory_limits: limits.clone(),
        announce: &announce,
        offers: &offers,
    };
    search(&space, &|| budget.should_stop())
        .into_iter()
        .map(|found| complete(mapper, &entries, found))
        .collect()
}

const fn ends(is_last: bool) -> Ends {
    if is_last { Ends::Last } else { Ends::Inner }
}

fn offer(option: &StageOption, used: ProcessorSet, cuts: usize, entries: &Entries) -> Offer {
    let retimed = option
        .under(used)
        .expect("the search offers stages on subsets of the final set alone");
    // Nothing is read behind the end, so that where tensors are left there makes no difference.
    let exit = if option.end + 1 == cuts {
        0
    } else {
        entries.number(&option.exit)
    };
    Offer {
        end: option.end,
        exit,
        time_alone: option.time,
        time: retimed.time,
        energy: retimed.energy,
        memory: Vec::new(),
    }
}

fn complete(mapper: &StageMapper<'_>, entries: &Entries, found: Found) -> Candidate {
    let count = found.stages.len();
    let stages = found
        .stages
        .iter()
        .enumerate()
        .map(|(index, chosen)| {
            let entry = entries.at(chosen.entry);
            let ends = ends(index + 1 == count);
            mapper.options_to(chosen.start, &entry, chosen.processors, ends)[chosen.offer].mapping()
        })
        .collect();
    Candidate {
        mapping: PipelineMapping { stages },
        cost: found.cost,
    }
}

/// Entry states by number, in the order in which the search meets them; 0 is the start.
struct Entries {
    known: RefCell<Known>,
}

/// Entry states in order, and the number of each.
type Known = (Vec<Arc<Entry>>, BTreeMap<Arc<Entry>, usize>);

impl Entries {
    fn new(start: Entry) -> Self {
        let start = Arc::new(start);
        Self {
            known: RefCell::new((vec![Arc::clone(&start)], BTreeMap::from([(start, 0)]))),
        }
    }

    fn at(&self, number: usize) -> Arc<Entry> {
        Arc::clone(&self.known.borrow().0[number])
    }

    fn number(&self, entry: &Arc<Entry>) -> usize {
        let (list, numbers) = &mut *self.known.borrow_mut();
        *numbers.entry(Arc::clone(entry)).or_insert_with(|| {
            list.push(Arc::clone(entry));
            list.len() - 1
        })
    }
}
