//! From stage mappings to complete pipelines: the search, once for each final processor set.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use paracompile_frontend::soc::ProcessorSet;
use paracompile_plan::{Milliwatts, Nanojoules, Nanoseconds};
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
    /// Operating point of each processor of the chip; empty where each is at that of the cost table.
    pub points: Vec<usize>,
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
        power: Milliwatts,
    ) -> Self {
        Self {
            mapping,
            points: Vec::new(),
            cost: Cost {
                latency,
                bottleneck: interval,
                energy,
                power,
                memory: Vec::new(),
            },
        }
    }
}

/// What all searches together end with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// The pipelines.
    pub candidates: Vec<Candidate>,
    /// By how much of its energy another plan, no worse otherwise, may take less, in millionths, because labels, offers or blocks were thinned; zero where nothing was.
    pub share: u32,
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
) -> Searched {
    let sets: Vec<ProcessorSet> = allowed.subsets().collect();
    let found: Vec<Searched> = sets
        .par_iter()
        .map(|&used| on_exactly(sources, cuts, used, max_stages, budget))
        .collect();
    Searched {
        share: found
            .iter()
            .map(|searched| searched.share)
            .max()
            .unwrap_or(0),
        candidates: found
            .into_iter()
            .flat_map(|searched| searched.candidates)
            .collect(),
    }
}

fn on_exactly(
    sources: Sources<'_>,
    cuts: usize,
    used: ProcessorSet,
    max_stages: usize,
    budget: Budget<'_>,
) -> Searched {
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
    let offers_share = Cell::new(0);
    let offers = |asked: Asked| {
        let entry = entries.at(asked.entry);
        let (offered, share) = sources.offered(asked, &entry, used);
        offers_share.set(share.max(offers_share.get()));
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
            power: offered.power,
            memory: if limits.is_empty() {
                Vec::new()
            } else {
                demand.of_stage(
                    sources.mapper(offered),
                    asked.start,
                    &entry,
                    &offered.mapping(),
                    used,
                )
            },
        });
        Arc::new(offers.collect())
    };
    let space = Space {
        cuts,
        used,
        max_stages,
        memory_limits: limits.clone(),
        most_labels: sources.most_labels,
        longest: sources.longest,
        announce: &announce,
        offers: &offers,
    };
    let fronts = search(&space, &|| budget.should_stop());
    // Thinned once behind each stage but the last, and before as offers.
    let times = u32::try_from(used.len().min(max_stages)).unwrap_or(u32::MAX);
    Searched {
        share: fronts
            .share
            .saturating_mul(times.saturating_sub(1))
            .saturating_add(offers_share.get()),
        candidates: fronts
            .found
            .into_iter()
            .map(|found| complete(sources, &entries, used, found))
            .collect(),
    }
}

fn complete(
    sources: Sources<'_>,
    entries: &Entries,
    used: ProcessorSet,
    found: Found,
) -> Candidate {
    let count = found.stages.len();
    let mut points: Vec<usize> = match sources.elsewhere {
        [] => Vec::new(),
        _ => sources.fastest_points.to_vec(),
    };
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
            let (offered, _) = sources.offered(asked, &entries.at(chosen.entry), used);
            let offered = &offered[chosen.offer];
            if let Some(index) = offered.elsewhere {
                for processor in chosen.processors.iter() {
                    points[processor.index()] = sources.elsewhere[index].points[processor.index()];
                }
            }
            offered.mapping()
        })
        .collect();
    Candidate {
        mapping: PipelineMapping { stages },
        points,
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
