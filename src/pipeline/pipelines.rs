//! From stage mappings to complete pipelines: the search, once for each final processor set.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use paracompile_frontend::soc::ProcessorSet;
use paracompile_plan::{Nanojoules, Nanoseconds};
use rayon::prelude::*;

use super::Cost;
use super::search::{Found, Offer, Space, search};
use crate::mapping::decompose::{Entry, StageMapper, StageOption};
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
/// `cuts` is the number of cut points.
pub fn pipelines(
    mapper: &StageMapper<'_>,
    cuts: usize,
    allowed: ProcessorSet,
    max_stages: usize,
    budget: Budget<'_>,
) -> Vec<Candidate> {
    let sets: Vec<ProcessorSet> = allowed.subsets().collect();
    let found: Vec<Vec<Candidate>> = sets
        .par_iter()
        .map(|&used| on_exactly(mapper, cuts, used, max_stages, budget))
        .collect();
    found.into_iter().flatten().collect()
}

fn on_exactly(
    mapper: &StageMapper<'_>,
    cuts: usize,
    used: ProcessorSet,
    max_stages: usize,
    budget: Budget<'_>,
) -> Vec<Candidate> {
    let entries = Entries::new(mapper.entry_at_start());
    let offers = |cut: usize, entry: usize, processors: ProcessorSet| {
        let options = mapper.options(cut, &entries.at(entry), processors);
        Arc::new(
            options
                .iter()
                .map(|option| offer(option, used, cuts, &entries))
                .collect(),
        )
    };
    let space = Space {
        cuts,
        used,
        max_stages,
        memory_limits: Vec::new(),
        offers: &offers,
    };
    search(&space, &|| budget.should_stop())
        .into_iter()
        .map(|found| complete(mapper, &entries, found))
        .collect()
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
    let stages = found
        .stages
        .iter()
        .map(|chosen| {
            let entry = entries.at(chosen.entry);
            mapper.options(chosen.start, &entry, chosen.processors)[chosen.offer].mapping()
        })
        .collect();
    Candidate {
        mapping: PipelineMapping { stages },
        cost: found.cost,
    }
}

/// Entry states by number, in the order in which the search meets them; 0 is the start.
struct Entries {
    known: RefCell<(Vec<Arc<Entry>>, BTreeMap<Arc<Entry>, usize>)>,
}

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
