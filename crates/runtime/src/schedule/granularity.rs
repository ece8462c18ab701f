//! How much of a graph a task is: what a simulation says of each candidate, and the choice among them.
//!
//! Each is simulated with the policy that will run it.
//! A simulation ranks only what differs by more than its error, so those close to its best are run for some frames, in turn, before
//! one is chosen.

use paracompile_frontend::components::{Candidates, Components, Level, Reason, Rule, reasons};
use paracompile_frontend::import::kernels::{KernelGraph, KernelId};

use super::cost::Costs;
use super::engine::{Engine, Known};
use super::error::ScheduleError;
use super::overhead::Overheads;
use super::policy::Policy;
use super::run::{ScheduleRequest, median};
use super::simulate::{Setting, simulate};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granularity {
    /// A fixed level; the best candidate if absent.
    pub level: Option<Level>,
    /// Whether frames of all fixed levels are measured too, in turn with those that count.
    pub compares: bool,
}

/// A grouping that was considered.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// All rules that lead to it, levels first.
    pub rules: Vec<Rule>,
    /// Its tasks.
    pub components: Components,
    /// Simulated nanoseconds of a frame; nothing where the policy cannot be simulated.
    pub simulated_ns: Option<i64>,
    /// The median over frames before the choice; nothing where the simulation ruled it out.
    pub rehearsed_ns: Option<i64>,
    /// The median over frames that count.
    pub measured_ns: Option<i64>,
}

impl Candidate {
    /// Its kernels, by task.
    pub fn groups(&self) -> Vec<Vec<KernelId>> {
        let all = self.components.all.iter();
        all.map(|component| component.kernels.clone()).collect()
    }

    /// Whether it is a fixed level.
    pub fn is_level(&self) -> bool {
        matches!(self.rules.first(), Some(Rule::Level(_)))
    }
}

/// What was chosen, and from what.
#[derive(Clone, Debug)]
pub struct Granulated {
    /// All candidates, from fine to coarse within the levels and behind them.
    pub candidates: Vec<Candidate>,
    /// The place of the chosen one.
    pub chosen: usize,
    /// What tasks and launches cost beyond their kernels.
    pub overheads: Overheads,
    /// Why each task of the chosen one is as it is.
    pub reasons: Vec<Reason>,
}

impl Granulated {
    /// The fixed levels that were not chosen, with their places.
    pub(super) fn levels_beside(&self) -> Vec<(usize, &Components)> {
        let all = self.candidates.iter().enumerate();
        all.filter(|&(place, one)| place != self.chosen && one.is_level())
            .map(|(place, one)| (place, &one.components))
            .collect()
    }
}

/// Everything that candidates are judged with.
pub(super) struct Judge<'j> {
    pub(super) engine: &'j Engine<'j>,
    pub(super) graph: &'j KernelGraph,
    pub(super) costs: &'j Costs,
    /// Of kernels.
    pub(super) ranks: &'j [i64],
    pub(super) request: ScheduleRequest<'j>,
}

impl Judge<'_> {
    /// The tasks that are asked for.
    pub(super) fn choose(
        &self,
        policy: &mut dyn Policy,
        asked: Granularity,
        overheads: Overheads,
    ) -> Result<Granulated, ScheduleError> {
        let mut candidates = self.candidates(asked, &overheads)?;
        for candidate in &mut candidates {
            let setting = Setting {
                devices: &self.engine.devices,
                components: &candidate.components,
                costs: self.costs,
                ranks: self.ranks,
                overheads: &overheads,
            };
            candidate.simulated_ns = simulate(policy, setting);
        }
        let chosen = if let Some(level) = asked.level {
            let is_asked = |one: &Candidate| one.rules.contains(&Rule::Level(level));
            candidates.iter().position(is_asked)
        } else {
            self.rehearse_finalists(policy, &mut candidates)?;
            let places = 0..candidates.len();
            places.min_by_key(|&place| {
                let one = &candidates[place];
                let finest = usize::MAX - one.components.all.len();
                (one.rehearsed_ns.unwrap_or(i64::MAX), finest)
            })
        };
        let chosen = chosen.expect("every level is a candidate");
        let groups = candidates[chosen].groups();
        let dispatch = overheads.dispatch();
        let reasons = reasons(self.graph, &groups, &self.costs.nanoseconds, &dispatch);
        Ok(Granulated {
            candidates,
            chosen,
            overheads,
            reasons,
        })
    }

    /// All groupings, each once.
    fn candidates(
        &self,
        asked: Granularity,
        overheads: &Overheads,
    ) -> Result<Vec<Candidate>, ScheduleError> {
        let mut found = Candidates::default();
        for level in Level::ALL {
            if asked.compares || asked.level.is_none_or(|asked| asked == level) {
                found.add_level(self.graph, level);
            }
        }
        if asked.level.is_none() {
            let dispatch = overheads.dispatch();
            found.add_adaptive(self.graph, &self.costs.nanoseconds, &dispatch);
        }
        let candidates = found.into_list().into_iter().map(|one| {
            Ok(Candidate {
                rules: one.rules,
                components: Components::from_groups(self.graph, &one.groups)
                    .ok_or(ScheduleError::Cycle)?,
                simulated_ns: None,
                rehearsed_ns: None,
                measured_ns: None,
            })
        });
        candidates.collect()
    }

    /// Runs frames of the candidates that the simulation finds best, in turn.
    fn rehearse_finalists(
        &self,
        policy: &mut dyn Policy,
        candidates: &mut [Candidate],
    ) -> Result<(), ScheduleError> {
        /// Those within a quarter of the best, and no more than so many.
        const FINALISTS: usize = 6;
        /// A fixed level runs even where its simulation takes up to so many times the best: each is what the choice is compared with.
        const LEVEL_WITHIN: i64 = 4;
        /// Short frames are repeated more often, since they vary more: until about so many nanoseconds are measured.
        const ENOUGH_NS: i64 = 1_500_000_000;
        const ROUNDS: std::ops::RangeInclusive<i64> = 5..=200;
        let mut order: Vec<(i64, usize)> = candidates
            .iter()
            .enumerate()
            .filter_map(|(place, one)| Some((one.simulated_ns?, place)))
            .collect();
        order.sort_unstable();
        let best = order.first().map_or(0, |&(time, _)| time);
        let mut close = 0;
        order.retain(|&(time, place)| {
            let is_close = time <= best + best / 4 && close < FINALISTS;
            close += usize::from(is_close);
            is_close || (candidates[place].is_level() && time <= LEVEL_WITHIN.saturating_mul(best))
        });
        if order.is_empty() {
            // A policy that cannot be simulated can still be run.
            order = (0..candidates.len()).map(|place| (0, place)).collect();
        }
        let round: i64 = order.iter().map(|&(time, _)| time).sum();
        let rounds = (ENOUGH_NS / round.max(1)).clamp(*ROUNDS.start(), *ROUNDS.end());
        let mut samples: Vec<Vec<i64>> = vec![Vec::new(); order.len()];
        for round in 0..=rounds {
            for (samples, &(_, place)) in samples.iter_mut().zip(&order) {
                let time = self.frame(policy, &candidates[place].components)?;
                // The first one of each is no rehearsal of its tasks yet.
                if round > 0 {
                    samples.push(time);
                }
            }
        }
        for (samples, &(_, place)) in samples.into_iter().zip(&order) {
            candidates[place].rehearsed_ns = Some(median(samples));
        }
        Ok(())
    }

    fn frame(
        &self,
        policy: &mut dyn Policy,
        components: &Components,
    ) -> Result<i64, ScheduleError> {
        let known = Known {
            components,
            costs: self.costs,
            ranks: &components.ranks(self.ranks),
        };
        let frame = self.engine.frame(policy, known, self.request.interrupted)?;
        Ok(frame.ok_or(ScheduleError::Interrupted)?.total_ns)
    }
}
