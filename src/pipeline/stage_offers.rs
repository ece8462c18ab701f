//! The stages that the search may choose from: the mapper's own, and, where memories bind, leaner ones.
//!
//! A stage has one mapping for each exit, the fastest (rule M9), and where a memory is too small for it a slower one may be what the plan needs.
//! So mappers that put a price on what operators keep in that memory offer theirs too, under their true times: a Lagrangian relaxation of the limit with a few fixed prices.
//! The front is then over the mappings that were offered, and a bound is still one for all mappings of the stage.

use std::sync::Arc;

use paracompile_frontend::soc::ProcessorSet;
use paracompile_plan::{Nanojoules, Nanoseconds};

use super::memory::MemoryDemand;
use super::search::Asked;
use crate::mapping::StageMapping;
use crate::mapping::decompose::{Ends, Entry, StageMapper, StageOption};

/// Where stage mappings come from.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The fastest mapping of each stage.
    pub fastest: &'a StageMapper<'a>,
    /// Mappings under prices on memory; none where no memory binds.
    pub lean: &'a [StageMapper<'a>],
    /// Which memories can bind (rule M8).
    pub demand: &'a MemoryDemand<'a>,
}

/// A stage with its times.
#[derive(Debug)]
pub(super) struct Offered {
    /// What one of the mappers answered, and which of it this is; its own times hold for the fastest alone.
    options: Arc<Vec<StageOption>>,
    index: usize,
    /// Who runs what, where it had to be looked at already.
    mapping: Option<StageMapping>,
    pub(super) time_alone: Nanoseconds,
    pub(super) time: Nanoseconds,
    pub(super) energy: Nanojoules,
}

impl Offered {
    fn option(&self) -> &StageOption {
        &self.options[self.index]
    }

    pub(super) fn end(&self) -> usize {
        self.option().end
    }

    pub(super) fn exit(&self) -> &Arc<Entry> {
        &self.option().exit
    }

    pub(super) fn mapping(&self) -> StageMapping {
        match &self.mapping {
            Some(mapping) => mapping.clone(),
            None => self.option().mapping(),
        }
    }
}

impl Sources<'_> {
    /// Makes the stages that will be asked for.
    pub(super) fn prepare(&self, asked: Asked, entry: &Entry) {
        for mapper in std::iter::once(self.fastest).chain(self.lean) {
            mapper.options_to(asked.start, entry, asked.processors, ends(asked));
        }
    }

    /// All stages that answer a question while `used` are in use, the fastest first.
    pub(super) fn offered(&self, asked: Asked, entry: &Entry, used: ProcessorSet) -> Vec<Offered> {
        let options = |mapper: &StageMapper<'_>| {
            mapper.options_to(asked.start, entry, asked.processors, ends(asked))
        };
        let fastest = options(self.fastest);
        let mut offered: Vec<Offered> = fastest
            .iter()
            .enumerate()
            .map(|(index, option)| {
                let retimed = option
                    .under(used)
                    .expect("the search asks for stages on subsets of the final set alone");
                Offered {
                    options: Arc::clone(&fastest),
                    index,
                    mapping: None,
                    time_alone: option.time,
                    time: retimed.time,
                    energy: retimed.energy,
                }
            })
            .collect();
        for mapper in self.lean {
            let leaner = options(mapper);
            for (index, option) in leaner.iter().enumerate() {
                let mut mapping = option.mapping();
                let timed = |used| self.fastest.retimed(asked.start, entry, &mapping, used);
                let (alone, together) = (timed(asked.processors), timed(used));
                // What is true of all mappings with this exit is true of this one.
                let twin = fastest
                    .iter()
                    .find(|twin| twin.end == option.end && twin.exit == option.exit);
                mapping.proof.bound = twin
                    .map_or(Nanoseconds::ZERO, |twin| twin.bound)
                    .min(alone.time);
                mapping.proof.method.push_str(", for less memory");
                offered.push(Offered {
                    options: Arc::clone(&leaner),
                    index,
                    mapping: Some(mapping),
                    time_alone: alone.time,
                    time: together.time,
                    energy: together.energy,
                });
            }
        }
        offered
    }
}

const fn ends(asked: Asked) -> Ends {
    if asked.is_last {
        Ends::Last
    } else {
        Ends::Inner
    }
}
