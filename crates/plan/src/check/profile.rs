//! What the head of a plan says about the chip, and the figures of the chip for the processors in use.

use super::violation::{List, Place, Violation, compare};
use crate::facts::{CostFacts, OperatorCost};
use crate::plan::Plan;
use crate::{Milliwatts, OpClass, Slowdown};

/// The chip seen from a plan: the plan's processors as entries of the profile.
pub(super) struct Profile<'a> {
    pub(super) facts: &'a CostFacts,
    /// Entry of each of the plan's processors.
    entry: Vec<usize>,
    /// Slowdown by the number of compute queues (rule M10).
    pub(super) sharing: Vec<Slowdown>,
}

impl<'a> Profile<'a> {
    /// Compares the head with the profile; `None` if a processor of the plan is not one of the profile.
    pub(super) fn judge(
        plan: &Plan,
        facts: &'a CostFacts,
        found: &mut Vec<Violation>,
    ) -> Option<Self> {
        soc(plan, facts, found);
        let mut entry = Vec::with_capacity(plan.processors.len());
        let mut sharing = Vec::with_capacity(plan.processors.len());
        for (index, processor) in plan.processors.iter().enumerate() {
            let at = Place::Processor(index);
            let position = (facts.processors.iter()).position(|known| known.name == processor.name);
            let Some(position) = position else {
                found.push(Violation::UnknownReference {
                    at,
                    field: "name",
                    value: processor.name.clone(),
                });
                continue;
            };
            if entry.last().is_some_and(|&previous| previous >= position) {
                found.push(Violation::Unordered {
                    at: at.clone(),
                    list: List::Processors,
                });
            }
            entry.push(position);
            let known = &facts.processors[position];
            let queues = plan.compute_queues(&processor.name);
            let slowdown = queues
                .checked_sub(1)
                .and_then(|extra| known.sharing.get(extra));
            if slowdown.is_none() {
                found.push(Violation::TooManyQueues {
                    at: at.clone(),
                    queues,
                    limit: known.sharing.len(),
                });
            }
            let slowdown = slowdown.copied().unwrap_or(Slowdown::NONE);
            sharing.push(slowdown);
            let memory = &facts.memories[known.memory].name;
            compare(found, &at, "memory", &processor.memory, memory);
            compare(found, &at, "layout", &processor.layout, &known.layout);
            compare(
                found,
                &at,
                "operating_point",
                &processor.operating_point,
                &known.operating_point,
            );
            compare(
                found,
                &at,
                "static_mw",
                &processor.static_mw,
                &known.static_power,
            );
            let dispatch = &known.dispatch;
            compare(found, &at, "dispatch_ns", &processor.dispatch_ns, dispatch);
            compare(found, &at, "sharing", &processor.sharing, &slowdown);
        }
        if entry.len() < plan.processors.len() {
            return None;
        }
        let profile = Self {
            facts,
            entry,
            sharing,
        };
        profile.contention(plan, found);
        Some(profile)
    }

    fn contention(&self, plan: &Plan, found: &mut Vec<Violation>) {
        let name = |processor: usize| self.facts.processors[processor].name.as_str();
        let needed: Vec<_> = (self.facts.contention.iter())
            .filter(|entry| entry.set.iter().all(|member| self.entry.contains(member)))
            .collect();
        compare(
            found,
            &Place::Plan,
            "the number of contention entries",
            &plan.contention.len(),
            &needed.len(),
        );
        for (index, (stated, needed)) in plan.contention.iter().zip(needed).enumerate() {
            let at = Place::Contention(index);
            let set: Vec<&str> = needed.set.iter().map(|&member| name(member)).collect();
            let stated_set: Vec<&str> = stated.set.iter().map(String::as_str).collect();
            compare(found, &at, "set", &stated_set, &set);
            let factor = (needed.factor.iter())
                .map(|(&member, &factor)| (name(member).to_owned(), factor))
                .collect();
            compare(found, &at, "factor", &stated.factor, &factor);
        }
    }

    /// `κ(p, X)` of rule M4; processors are those of the plan.
    pub(super) fn slowdown(&self, processor: usize, used: &[usize]) -> Slowdown {
        let own = self.entry[processor];
        (self.facts.contention.iter())
            .filter(|entry| {
                (entry.set.iter())
                    .all(|member| used.iter().any(|&used| self.entry[used] == *member))
            })
            .filter(|entry| entry.set.contains(&own))
            .filter_map(|entry| entry.factor.get(&own).copied())
            .max()
            .unwrap_or(Slowdown::NONE)
    }

    /// Cost of an operator of the model facts on a processor of the plan.
    pub(super) fn cost(&self, operator: usize, processor: usize) -> Option<&'a OperatorCost> {
        (self.facts.operators.get(operator)?)
            .get(self.entry[processor])?
            .as_ref()
    }

    /// Static power of the processors in use together.
    pub(super) fn static_power(&self) -> Milliwatts {
        (self.entry.iter())
            .map(|&entry| self.facts.processors[entry].static_power)
            .sum()
    }

    /// Whether operators of a class cost nothing behind an anchor (rule M12).
    pub(super) fn fuses(&self, processor: usize, class: OpClass) -> bool {
        self.facts.processors[self.entry[processor]]
            .fuses
            .contains(&class)
    }
}

fn soc(plan: &Plan, facts: &CostFacts, found: &mut Vec<Violation>) {
    let at = Place::Soc;
    compare(found, &at, "name", &plan.soc.name, &facts.soc_name);
    compare(found, &at, "digest", &plan.soc.digest, &facts.soc_digest);
    compare(
        found,
        &at,
        "enqueue_ns",
        &plan.soc.enqueue_ns,
        &facts.enqueue,
    );
    compare(found, &at, "base_mw", &plan.soc.base_mw, &facts.base);
    compare(
        found,
        &at,
        "io",
        &plan.soc.io,
        &facts.memories[facts.io].name,
    );
}
