//! The stages that the search may choose from: the mapper's own, those at other operating points, and, where memories bind, leaner ones.
//!
//! A stage has one mapping for each exit, the fastest (rule M9), or with energy as an objective its trade-offs of time and energy.
//! Every processor is in one stage alone, so that the operating points of a plan are those of its stages put together: a stage is offered at every combination of points of its own processors, and one search is over all points.
//! Where a memory is too small for the fastest mapping a slower one may be what the plan needs.
//! So mappers that put a price on what operators keep in that memory offer theirs too, under their true times: a Lagrangian relaxation of the limit with a few fixed prices.
//! The front is then over the mappings that were offered, and a bound is still one for all mappings of the stage.

use std::collections::BTreeMap;
use std::sync::Arc;

use paracompile_frontend::soc::ProcessorSet;
use paracompile_plan::{Milliwatts, Nanojoules, Nanoseconds};

use super::label_set::{Cost, thinned};
use super::memory::MemoryDemand;
use super::search::Asked;
use crate::mapping::StageMapping;
use crate::mapping::decompose::{Ends, Entry, StageMapper, StageOption};

/// Where stage mappings come from.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The fastest mapping of each stage.
    pub fastest: &'a StageMapper<'a>,
    /// Operating point of each processor there.
    pub fastest_points: &'a [usize],
    /// What each processor draws while it waits there.
    pub powers: &'a [Milliwatts],
    /// Mappings at other operating points; none where each processor has one.
    pub elsewhere: &'a [AtPoints<'a>],
    /// Mappings under prices on memory; none where no memory binds.
    pub lean: &'a [StageMapper<'a>],
    /// Which memories can bind (rule M8).
    pub demand: &'a MemoryDemand<'a>,
    /// Labels of one state, and offers of a stage of one length and exit, are thinned by energy where they are more.
    pub most_labels: usize,
    /// The longest interval for which thinning keeps its promise.
    pub longest: Nanoseconds,
}

/// A mapper with costs at other operating points.
#[derive(Debug)]
pub struct AtPoints<'a> {
    /// The mapper.
    pub mapper: StageMapper<'a>,
    /// Operating point of each processor.
    pub points: Vec<usize>,
    /// What each processor draws while it waits there.
    pub powers: Vec<Milliwatts>,
    /// The stages that it is asked for: those for which nobody else has these points.
    pub serves: Vec<ProcessorSet>,
}

/// A stage with its times.
#[derive(Debug)]
pub(super) struct Offered {
    /// What one of the mappers answered, and which of it this is; its own times hold for the fastest alone.
    options: Arc<Vec<StageOption>>,
    index: usize,
    /// Who runs what, where it had to be looked at already.
    mapping: Option<StageMapping>,
    /// Which of [`Sources::elsewhere`] it is from, if from one.
    pub(super) elsewhere: Option<usize>,
    pub(super) time_alone: Nanoseconds,
    pub(super) time: Nanoseconds,
    pub(super) energy: Nanojoules,
    pub(super) power: Milliwatts,
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

    /// By how much of its own energy a mapping that was left out may take less, in millionths.
    fn slack(&self) -> u32 {
        let (slack, energy) = (self.option().slack.count(), self.option().energy.count());
        let share = u128::from(slack) * 1_000_000 / u128::from(energy.max(1));
        u32::try_from(share).unwrap_or(u32::MAX)
    }

    fn cost(&self) -> Cost {
        Cost {
            latency: self.time_alone,
            bottleneck: self.time,
            energy: self.energy,
            power: self.power,
            memory: Vec::new(),
        }
    }
}

impl<'a> Sources<'a> {
    /// Makes the stages that will be asked for.
    pub(super) fn prepare(&self, asked: Asked, entry: &Entry) {
        let elsewhere = self
            .elsewhere
            .iter()
            .filter(|at| at.serves.contains(&asked.processors))
            .map(|at| &at.mapper);
        for mapper in std::iter::once(self.fastest)
            .chain(elsewhere)
            .chain(self.lean)
        {
            mapper.options_to(asked.start, entry, asked.processors, ends(asked));
        }
    }

    /// The mapper of an offer, which times it.
    pub(super) fn mapper(&self, offered: &Offered) -> &'a StageMapper<'a> {
        match offered.elsewhere {
            Some(index) => &self.elsewhere[index].mapper,
            None => self.fastest,
        }
    }

    /// All stages that answer a question while `used` are in use, the fastest mapper's first, and the share of energy by which others were left out, in millionths.
    pub(super) fn offered(
        &self,
        asked: Asked,
        entry: &Entry,
        used: ProcessorSet,
    ) -> (Vec<Offered>, u32) {
        let mut offered = Vec::new();
        self.offer(&mut offered, None, asked, entry, used);
        let own = offered.len();
        for (index, at) in self.elsewhere.iter().enumerate() {
            if at.serves.contains(&asked.processors) {
                self.offer(&mut offered, Some(index), asked, entry, used);
            }
        }
        if !self.lean.is_empty() {
            let leaner = self.leaner(&offered[..own], asked, entry, used);
            offered.extend(leaner);
            // How much memory each takes is not known here.
            return (offered, 0);
        }
        self.without_covered(offered)
    }

    fn offer(
        &self,
        offered: &mut Vec<Offered>,
        elsewhere: Option<usize>,
        asked: Asked,
        entry: &Entry,
        used: ProcessorSet,
    ) {
        let (mapper, powers) = match elsewhere {
            Some(index) => {
                let at = &self.elsewhere[index];
                (&at.mapper, at.powers.as_slice())
            }
            None => (self.fastest, self.powers),
        };
        let power: Milliwatts = asked
            .processors
            .iter()
            .map(|processor| powers[processor.index()])
            .sum();
        let options = mapper.options_to(asked.start, entry, asked.processors, ends(asked));
        offered.extend(options.iter().enumerate().map(|(index, option)| {
            let retimed = option
                .under(used)
                .expect("the search asks for stages on subsets of the final set alone");
            Offered {
                options: Arc::clone(&options),
                index,
                mapping: None,
                elsewhere,
                time_alone: option.time,
                time: retimed.time,
                energy: retimed.energy,
                power,
            }
        }));
    }

    fn leaner(
        &self,
        fastest: &[Offered],
        asked: Asked,
        entry: &Entry,
        used: ProcessorSet,
    ) -> Vec<Offered> {
        let power: Milliwatts = asked
            .processors
            .iter()
            .map(|processor| self.powers[processor.index()])
            .sum();
        let mut offered = Vec::new();
        for mapper in self.lean {
            let leaner = mapper.options_to(asked.start, entry, asked.processors, ends(asked));
            for (index, option) in leaner.iter().enumerate() {
                let mut mapping = option.mapping();
                let timed = |used| self.fastest.retimed(asked.start, entry, &mapping, used);
                let (alone, together) = (timed(asked.processors), timed(used));
                // What is true of all mappings with this exit is true of this one.
                let twins = || {
                    let options = fastest.iter().map(Offered::option);
                    options.filter(|twin| twin.end == option.end && twin.exit == option.exit)
                };
                mapping.proof.bound = twins()
                    .map(|twin| twin.bound)
                    .min()
                    .unwrap_or(Nanoseconds::ZERO)
                    .min(alone.time);
                let holds = |queues| {
                    let twins = twins().filter_map(|twin| twin.bound_with(queues));
                    twins.min().unwrap_or(Nanoseconds::ZERO).min(alone.time)
                };
                for (queues, bound) in &mut mapping.proof.by_queues {
                    *bound = holds(*queues);
                }
                mapping.proof.method.push_str(", for less memory");
                offered.push(Offered {
                    options: Arc::clone(&leaner),
                    index,
                    mapping: Some(mapping),
                    elsewhere: None,
                    time_alone: alone.time,
                    time: together.time,
                    energy: together.energy,
                    power,
                });
            }
        }
        offered
    }

    /// Of offers with the same end and exit those that no other covers, thinned where there are many.
    fn without_covered(&self, offered: Vec<Offered>) -> (Vec<Offered>, u32) {
        let slack = offered.iter().map(Offered::slack).max().unwrap_or(0);
        let mut groups: BTreeMap<(usize, &Arc<Entry>), Vec<usize>> = BTreeMap::new();
        for (index, one) in offered.iter().enumerate() {
            let key = (one.end(), one.exit());
            groups.entry(key).or_default().push(index);
        }
        let mut share = 0;
        let mut kept = vec![false; offered.len()];
        for group in groups.into_values() {
            if let [only] = group[..] {
                kept[only] = true;
                continue;
            }
            let mut costs: Vec<(usize, Cost)> = group
                .iter()
                .map(|&index| (index, offered[index].cost()))
                .collect();
            costs.sort_by_key(|(index, cost)| (cost.latency, cost.bottleneck, cost.energy, *index));
            let mut best: Vec<(usize, Cost)> = Vec::new();
            for (index, cost) in costs {
                if !best.iter().any(|(_, other)| other.covers(&cost)) {
                    best.push((index, cost));
                }
            }
            let all: Vec<&Cost> = best.iter().map(|(_, cost)| cost).collect();
            let most = (self.most_labels / OFFERS_SHARE).max(2);
            let (chosen, by) = thinned(&all, most, self.longest);
            share = share.max(by);
            for ((index, _), is_chosen) in best.iter().zip(chosen) {
                kept[*index] = is_chosen;
            }
        }
        let mut kept = kept.into_iter();
        let mut offered = offered;
        offered.retain(|_| kept.next().unwrap_or(true));
        (offered, share.saturating_add(slack))
    }
}

/// How many times fewer offers of one length and exit there are than labels of a state.
const OFFERS_SHARE: usize = 8;

const fn ends(asked: Asked) -> Ends {
    if asked.is_last {
        Ends::Last
    } else {
        Ends::Inner
    }
}
