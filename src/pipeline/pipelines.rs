//! From stage mappings to complete pipelines: the search, once for each final processor set.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use paracompile_frontend::soc::ProcessorSet;
use paracompile_plan::{Nanojoules, Nanoseconds};
use rayon::prelude::*;

use super::Cost;
use super::search::{Asked, Found, Offer, Space, search};
use super::stage_offers::Sources;
use crate::mapping::decompose::Entry;
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

/// All pipelines of at most `max_stages` stages that no other of the same strategy on the same processors covers, by processor set, strategy, then latency.
///
/// `allowed` is what the chip offers; a plan may leave processors unused.
/// `cuts` is the number of cut points.
pub fn pipelines(
    sources: Sources<'_>,
    cuts: usize,
    allowed: ProcessorSet,
    max_stages: usize,
    budget: Budget<'_>,
) -> Vec<Candidate> {
    let sets: Vec<ProcessorSet> = allowed.subsets().collect();
    let found: Vec<Vec<Candidate>> = sets
        .par_iter()
        .map(|&used| on_exactly(sources, cuts, used, max_stages, budget))
        .collect();
    found.into_iter().flatten().collect()
}

fn on_exactly(
    sources: Sources<'_>,
    cuts: usize,
    used: ProcessorSet,
    max_stages: usize,
    budget: Budget<'_>,
) -> Vec<Candidate> {
    let Sources {
        fastest, demand, ..
    } = sources;
    let limits = demand.limits();
    let entries = Entries::new(fastest.entry_at_start());
    let announce = |asked: &[Asked]| {
        let known: Vec<(Asked, Arc<Entry>)> = asked
            .iter()
            .map(|&asked| (asked, entries.at(asked.entry)))
            .collect();
        known
            .par_iter()
            .for_each(|(asked, entry)| sources.prepare(*asked, entry));
    };
    let offers = |asked: Asked| {
        let entry = entries.at(asked.entry);
        let offered = sources.offered(asked, &entry, used);
        let offers = offered.iter().map(|offered| Offer {
            end: offered.end(),
            // Nothing is read behind the end, so that where tensors are left there makes no difference.
            exit: if offered.end() + 1 == cuts {
                0
            } else {
                entries.number(offered.exit())
            },
            time_alone: offered.time_alone,
            time: offered.time,
            energy: offered.energy,
            memory: if limits.is_empty() {
                Vec::new()
            } else {
                demand.of_stage(fastest, asked.start, &entry, &offered.mapping(), used)
            },
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
        .map(|found| complete(sources, &entries, used, found))
        .collect()
}

fn complete(
    sources: Sources<'_>,
    entries: &Entries,
    used: ProcessorSet,
    found: Found,
) -> Candidate {
    let count = found.stages.len();
    let stages = found
        .stages
        .iter()
        .enumerate()
        .map(|(index, chosen)| {
            let asked = Asked {
                start: chosen.start,
                entry: chosen.entry,
                processors: chosen.processors,
                is_last: index + 1 == count,
            };
            let offered = sources.offered(asked, &entries.at(chosen.entry), used);
            offered[chosen.offer].mapping()
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
