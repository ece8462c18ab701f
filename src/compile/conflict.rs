//! Which demands exclude each other: a smallest set of them that no plan meets.
//!
//! Whether a set can be met is a search of its own wherever placements or limits on memory differ; requirements on other figures only filter what a search found.
//! A plan that was found once counts for every set that it meets, so that more freedom never finds less.
//! Divide and conquer (Junker's `QuickXplain`, 2004) gives a set from which nothing can be left out; where there are few demands, all smaller sets are tried behind it.
//! That no plan was found is no proof, and a conflict says which it is.

use std::collections::BTreeSet;

use paracompile_frontend::soc::{ProcessorId, ProcessorSet};
use paracompile_plan::plan::Figure;
use rayon::prelude::*;

use super::Options;
use super::arrow::Inputs;
use super::demands::{capacity, judged};
use super::field::{Field, Floor, explore, floor};
use crate::constraints::{Eligibility, Judged, PlacementRule, Requirement, eligible};
use crate::mapping::PipelineMapping;
use crate::pipeline::Capacity;

/// Demands that no plan meets together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The demands, in the order of the command line; those of the chip last.
    pub demands: Vec<Demanded>,
    /// How small the set is.
    pub smallness: Smallness,
    /// Whether a lower bound shows that no plan meets them; otherwise none was found.
    pub is_proven: bool,
}

/// How small a conflicting set is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Smallness {
    /// No set of fewer demands conflicts.
    Smallest,
    /// Without any one of them, a plan meets the rest.
    Minimal,
    /// The search was stopped before it could be made smaller.
    Unreduced,
}

/// One demand of a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demanded {
    /// The option, or the memory of the chip.
    pub option: String,
    /// For a requirement: what can be had instead.
    pub attainable: Option<Attainable>,
}

/// How far a figure can be pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attainable {
    /// The requirement.
    pub requirement: Requirement,
    /// The best value that was found, in the figure's smallest unit.
    pub best: Option<u64>,
    /// What the best value leaves met.
    pub given: Given,
    /// No plan has less.
    pub bound: u64,
}

/// Under which other demands a value was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// There are no others.
    Alone,
    /// All other demands of the run.
    AllOthers,
    /// The other demands of the conflict alone.
    OthersOfTheConflict,
    /// None of the others: nothing meets them all.
    NoOthers,
}

impl std::fmt::Display for Conflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match (self.demands.len(), self.is_proven) {
            (1, true) => "no plan can meet this demand",
            (1, false) => "no plan was found that meets this demand",
            (_, true) => "no plan can meet these demands together",
            (_, false) => "no plan was found that meets these demands together",
        })?;
        f.write_str(match (self.demands.len(), self.smallness) {
            (1, Smallness::Smallest | Smallness::Minimal) => "",
            (_, Smallness::Smallest) => "; no fewer of them conflict",
            (_, Smallness::Minimal) => "; without any one of them a plan meets the rest",
            (_, Smallness::Unreduced) => "; the search was stopped before it could leave some out",
        })
    }
}

impl std::fmt::Display for Demanded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.option)?;
        let Some(attainable) = &self.attainable else {
            return Ok(());
        };
        let Attainable {
            requirement,
            best,
            given,
            bound,
        } = attainable;
        match best {
            Some(best) => {
                let given = match given {
                    Given::Alone => "",
                    Given::AllOthers => " with everything else met",
                    Given::OthersOfTheConflict => " with the other demands listed here met",
                    Given::NoOthers => " if nothing else is demanded",
                };
                let claim = if best == bound { "possible" } else { "found" };
                let best = requirement.shown(*best);
                write!(f, ": {best} is the best {claim}{given}")?;
            }
            None => f.write_str(": nothing was found")?,
        }
        if *bound > 0 && Some(*bound) != *best {
            let beyond = requirement.shown_bound(*bound);
            write!(f, "; no plan does better than {beyond}")?;
        }
        Ok(())
    }
}

/// How many searches may be spent on making a conflict smaller.
const MOST_SEARCHES: usize = 16;

/// With at most so many demands, every smaller set is tried.
const FEW: usize = 7;

/// One demand of the run.
#[derive(Clone, Copy, Debug)]
enum Demand<'a> {
    Placed(&'a PlacementRule),
    Required(&'a Requirement),
    /// A memory of the chip that is limited.
    Chip,
}

/// A mapping that was found, and what is asked about it.
struct Known {
    judged: Judged,
    /// The processor of each task.
    placement: Vec<ProcessorId>,
}

/// Whether some demands can be met together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Yes,
    NotFound,
    /// No search was left to find out.
    Unknown,
}

struct Asker<'a> {
    inputs: &'a Inputs<'a>,
    options: &'a Options<'a>,
    demands: Vec<Demand<'a>>,
    /// Of demands that limit memory.
    capacities: Vec<Option<Capacity>>,
    /// Tasks that each placement is about.
    concerned: Vec<Vec<usize>>,
    known: Vec<Known>,
    /// The demands that each search so far obeyed.
    searched: BTreeSet<BTreeSet<usize>>,
    searches_left: usize,
}

/// A smallest set of demands that nothing was found for, starting from what a search under all of them found; `None` if it has no demand of the user's in it.
pub(super) fn conflict(
    inputs: &Inputs<'_>,
    field: &Field,
    options: &Options<'_>,
) -> Option<Conflict> {
    let mut asker = Asker::new(inputs, options);
    let all: BTreeSet<usize> = (0..asker.demands.len()).collect();
    let obeyed = asker.obeyed(&all);
    asker.learn(field);
    asker.searched.insert(obeyed);
    // What nothing limits is the richest source of mappings that meet some of the demands.
    let mut is_unknown = asker.answer(&BTreeSet::new()) == Answer::Unknown;
    let candidates: Vec<usize> = all.iter().copied().collect();
    let mut core = asker.quick(&BTreeSet::new(), false, &candidates, &mut is_unknown);
    let mut smallness = if is_unknown {
        Smallness::Unreduced
    } else {
        Smallness::Minimal
    };
    if !is_unknown && (core.len() == 1 || all.len() <= FEW) {
        match asker.smaller(&candidates, core.len()) {
            Ok(Some(smaller)) => {
                core = smaller;
                smallness = Smallness::Smallest;
            }
            Ok(None) => smallness = Smallness::Smallest,
            Err(Stopped) => {}
        }
    }
    let is_users = |&index: &usize| !matches!(asker.demands[index], Demand::Chip);
    if !core.iter().any(is_users) {
        return None;
    }
    Some(asker.report(&core, smallness))
}

/// No search was left.
struct Stopped;

impl<'a> Asker<'a> {
    fn new(inputs: &'a Inputs<'a>, options: &'a Options<'a>) -> Self {
        let asked = options.constraints;
        let soc = &inputs.table.soc;
        let chip = Capacity::of_chip(soc);
        let placed = asked.placements.iter().map(Demand::Placed);
        let required = asked.requirements.iter().map(Demand::Required);
        let demands: Vec<Demand<'a>> = placed
            .chain(required)
            .chain(chip.iter().map(|_| Demand::Chip))
            .collect();
        let mut of_chip = chip.into_iter();
        let capacities = demands
            .iter()
            .map(|demand| match demand {
                Demand::Placed(_) => None,
                Demand::Required(requirement) => capacity(soc, requirement),
                Demand::Chip => of_chip.next(),
            })
            .collect();
        let concerned = demands
            .iter()
            .map(|demand| match demand {
                Demand::Placed(rule) => {
                    let ops = inputs.segments.graph.ops.iter();
                    ops.filter(|(_, op)| rule.concerns(op))
                        .map(|(id, _)| id.index())
                        .collect()
                }
                Demand::Required(_) | Demand::Chip => Vec::new(),
            })
            .collect();
        Self {
            inputs,
            options,
            demands,
            capacities,
            concerned,
            known: Vec::new(),
            searched: BTreeSet::new(),
            searches_left: MOST_SEARCHES,
        }
    }

    /// The demands of a set that a search obeys; the others filter what it found.
    fn obeyed(&self, set: &BTreeSet<usize>) -> BTreeSet<usize> {
        set.iter()
            .copied()
            .filter(|&index| {
                matches!(self.demands[index], Demand::Placed(_)) || self.capacities[index].is_some()
            })
            .collect()
    }

    fn learn(&mut self, field: &Field) {
        let with_memory = self.capacities.iter().any(Option::is_some);
        let inputs = &Inputs {
            elsewhere: &field.tables,
            ..self.inputs.clone()
        };
        let candidates = field.rivals(inputs);
        let learnt: Vec<Known> = candidates
            .par_iter()
            .map(|candidate| Known {
                judged: judged(inputs, candidate, with_memory),
                placement: placement(&candidate.mapping),
            })
            .collect();
        self.known.extend(learnt);
    }

    /// Whether a mapping obeys what a search would have obeyed.
    fn obeys(&self, known: &Known, set: &BTreeSet<usize>) -> bool {
        set.iter().all(|&index| {
            let is_placed = match self.demands[index] {
                Demand::Placed(rule) => self.concerned[index].iter().all(|&op| {
                    let own = ProcessorSet::only(known.placement[op]);
                    rule.leaves(own) == own
                }),
                Demand::Required(_) | Demand::Chip => true,
            };
            let fits = self.capacities[index].as_ref().is_none_or(|capacity| {
                capacity.used(known.judged.memory.iter().copied()) <= capacity.limit
            });
            is_placed && fits
        })
    }

    fn requirements(&self, set: &BTreeSet<usize>) -> Vec<&'a Requirement> {
        set.iter()
            .filter_map(|&index| match self.demands[index] {
                Demand::Required(requirement) => Some(requirement),
                Demand::Placed(_) | Demand::Chip => None,
            })
            .collect()
    }

    fn is_met(&self, set: &BTreeSet<usize>) -> bool {
        let requirements = self.requirements(set);
        self.known
            .iter()
            .any(|known| self.obeys(known, set) && known.judged.admission(&requirements).is_some())
    }

    /// Whether a set can be met, by a search if nothing that is known tells.
    fn answer(&mut self, set: &BTreeSet<usize>) -> Answer {
        if self.is_met(set) && !set.is_empty() {
            return Answer::Yes;
        }
        let obeyed = self.obeyed(set);
        if !self.searched.contains(&obeyed) {
            if self.searches_left == 0 || self.options.budget.should_stop() {
                return Answer::Unknown;
            }
            self.searches_left -= 1;
            self.search(obeyed);
            if self.options.budget.should_stop() {
                return Answer::Unknown;
            }
        }
        if self.is_met(set) {
            Answer::Yes
        } else {
            Answer::NotFound
        }
    }

    fn search(&mut self, obeyed: BTreeSet<usize>) {
        let inputs = self.inputs;
        let limits = obeyed.iter();
        let capacities: Vec<Capacity> = limits
            .filter_map(|&index| self.capacities[index].clone())
            .collect();
        let eligibility = self.eligibility(&obeyed);
        // A search whose figures the estimator contradicts is a bug that the main search would have met too.
        if let Ok(field) = explore(inputs, &eligibility, &capacities, self.options) {
            self.learn(&field);
        }
        self.searched.insert(obeyed);
    }

    /// What the placements of a set leave.
    fn eligibility(&self, set: &BTreeSet<usize>) -> Eligibility {
        let rules: Vec<&PlacementRule> = set
            .iter()
            .filter_map(|&index| match self.demands[index] {
                Demand::Placed(rule) => Some(rule),
                Demand::Required(_) | Demand::Chip => None,
            })
            .collect();
        let inputs = self.inputs;
        eligible(&rules, inputs.graph, &inputs.segments.graph, inputs.table)
            .expect("all rules together leave every task a processor, so fewer do too")
    }

    /// The part of `candidates` that, with `background`, conflicts and from which nothing can be left out.
    fn quick(
        &mut self,
        background: &BTreeSet<usize>,
        has_grown: bool,
        candidates: &[usize],
        is_unknown: &mut bool,
    ) -> BTreeSet<usize> {
        if has_grown {
            match self.answer(background) {
                Answer::NotFound => return BTreeSet::new(),
                Answer::Yes => {}
                Answer::Unknown => *is_unknown = true,
            }
        }
        if candidates.len() <= 1 {
            return candidates.iter().copied().collect();
        }
        let (first, second) = candidates.split_at(candidates.len() / 2);
        let with = |more: &[usize]| -> BTreeSet<usize> {
            background.iter().chain(more).copied().collect()
        };
        let of_second = self.quick(&with(first), true, second, is_unknown);
        let chosen: Vec<usize> = of_second.iter().copied().collect();
        let of_first = self.quick(&with(&chosen), !chosen.is_empty(), first, is_unknown);
        of_first.union(&of_second).copied().collect()
    }

    /// A conflicting set of fewer than `size` demands, the smallest there is.
    fn smaller(
        &mut self,
        candidates: &[usize],
        size: usize,
    ) -> Result<Option<BTreeSet<usize>>, Stopped> {
        for count in 1..size {
            for set in subsets(candidates, count) {
                match self.answer(&set) {
                    Answer::Yes => {}
                    Answer::NotFound => return Ok(Some(set)),
                    Answer::Unknown => return Err(Stopped),
                }
            }
        }
        Ok(None)
    }

    fn report(&mut self, core: &BTreeSet<usize>, smallness: Smallness) -> Conflict {
        let mut is_proven = false;
        let mut demands = Vec::new();
        let floor = floor(self.inputs, &self.eligibility(core), self.options.points);
        for &index in core {
            let attainable = match self.demands[index] {
                Demand::Required(requirement) => {
                    let attainable = self.attainable(index, requirement, core, floor);
                    is_proven |= attainable.bound > requirement.at_most;
                    Some(attainable)
                }
                Demand::Placed(_) | Demand::Chip => None,
            };
            demands.push(Demanded {
                option: self.option(index),
                attainable,
            });
        }
        Conflict {
            demands,
            smallness,
            is_proven,
        }
    }

    fn option(&self, index: usize) -> String {
        match (self.demands[index], &self.capacities[index]) {
            (Demand::Placed(rule), _) => rule.to_string(),
            (Demand::Required(requirement), _) => requirement.to_string(),
            (Demand::Chip, Some(capacity)) => {
                format!("memory `{}` of {}", capacity.name, capacity.limit)
            }
            (Demand::Chip, None) => "a memory of the chip".to_owned(),
        }
    }

    /// The best value of a requirement's figure while everything else is met, or at least the rest of the conflict.
    fn attainable(
        &mut self,
        index: usize,
        requirement: &Requirement,
        core: &BTreeSet<usize>,
        floor: Floor,
    ) -> Attainable {
        let without = |set: &BTreeSet<usize>| -> BTreeSet<usize> {
            set.iter()
                .copied()
                .filter(|&other| other != index)
                .collect()
        };
        let all = without(&(0..self.demands.len()).collect());
        let core = without(core);
        self.answer(&all);
        let (given, best) = match self.best(requirement, &all) {
            Some(best) if all.is_empty() => (Given::Alone, Some(best)),
            Some(best) => (Given::AllOthers, Some(best)),
            None if core.is_empty() => (Given::NoOthers, self.best(requirement, &core)),
            None => (Given::OthersOfTheConflict, self.best(requirement, &core)),
        };
        Attainable {
            requirement: requirement.clone(),
            best,
            given,
            bound: bound(requirement, floor),
        }
    }

    fn best(&self, requirement: &Requirement, others: &BTreeSet<usize>) -> Option<u64> {
        let requirements = self.requirements(others);
        self.known
            .iter()
            .filter(|known| self.obeys(known, others))
            .filter_map(|known| known.judged.best(requirement, &requirements))
            .min()
    }
}

/// What no plan is below; zero where nothing is known.
const fn bound(requirement: &Requirement, floor: Floor) -> u64 {
    match (requirement.figure, requirement.memory) {
        (Figure::Latency, _) => floor.latency.count(),
        (Figure::Interval, _) => floor.interval.count(),
        (Figure::EnergyActive | Figure::EnergyBoard, _) => floor.energy.count(),
        (Figure::Memory, None) => floor.memory.count(),
        (Figure::PowerActive | Figure::PowerBoard | Figure::Memory, _) => 0,
    }
}

/// All sets of `count` of the candidates, in lexicographic order.
fn subsets(candidates: &[usize], count: usize) -> Vec<BTreeSet<usize>> {
    if count == 0 {
        return vec![BTreeSet::new()];
    }
    let mut sets = Vec::new();
    for (place, &first) in candidates.iter().enumerate() {
        for mut rest in subsets(&candidates[place + 1..], count - 1) {
            rest.insert(first);
            sets.push(rest);
        }
    }
    sets
}

/// The processor of each task, in the order of the fused graph.
fn placement(mapping: &PipelineMapping) -> Vec<ProcessorId> {
    mapping
        .stages
        .iter()
        .flat_map(|stage| stage.placement.iter().copied())
        .collect()
}
