//! From stage mappings to complete pipelines: the search, once for each final processor set.
//!
//! Of sets that differ only in which of several interchangeable processors they have, one final set is searched, and stages are asked for on one set; what is found is renamed to the processors that the pipeline takes.
//! That is exact: a final set that is searched has the first processors of each orbit, so that swapping its members leaves it, and with it all slowdowns, as they are.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use paracompile_frontend::soc::{ProcessorSet, Symmetry};
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

/// All pipelines of at most `max_stages` stages that no other of the same strategy on the same processors covers, by processor set, strategy, then latency; one of those that swaps of interchangeable processors make of each other.
///
/// `allowed` is what the chip offers; a plan may leave processors unused.
/// Which processors are interchangeable is what the fastest mapper's graph says.
/// `cuts` is the number of cut points.
pub fn pipelines(
    sources: Sources<'_>,
    cuts: usize,
    allowed: ProcessorSet,
    max_stages: usize,
    budget: Budget<'_>,
) -> Searched {
    let symmetry = sources.fastest.graph().symmetry();
    let sets: Vec<ProcessorSet> = symmetry.subsets(allowed).collect();
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
    let symmetry = fastest.graph().symmetry();
    let entries = Entries::new(fastest.entry_at_start());
    let announce = |asked: &[Asked]| {
        let equivalent: BTreeSet<Asked> = asked
            .iter()
            .map(|&asked| represented(symmetry, asked))
            .collect();
        let known: Vec<(Asked, Arc<Entry>)> = equivalent
            .into_iter()
            .map(|asked| (asked, entries.at(asked.entry)))
            .collect();
        known
            .par_iter()
            .for_each(|(asked, entry)| sources.prepare(*asked, entry));
    };
    let offers_share = Cell::new(0);
    let offers = |asked: Asked| {
        let asked = represented(symmetry, asked);
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
        symmetry,
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

/// The question that has the same answers, but for the names of processors.
fn represented(symmetry: &Symmetry, asked: Asked) -> Asked {
    Asked {
        processors: symmetry.representative(asked.processors),
        ..asked
    }
}

fn complete(
    sources: Sources<'_>,
    entries: &Entries,
    used: ProcessorSet,
    found: Found,
) -> Candidate {
    let symmetry = sources.fastest.graph().symmetry();
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
            let asked = represented(symmetry, asked);
            let renaming = symmetry.renaming(chosen.processors);
            let (offered, _) = sources.offered(asked, &entries.at(chosen.entry), used);
            let offered = &offered[chosen.offer];
            if let Some(index) = offered.elsewhere {
                for processor in asked.processors.iter() {
                    points[renaming.of(processor).index()] =
                        sources.elsewhere[index].points[processor.index()];
                }
            }
            offered.mapping().renamed(&renaming)
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
