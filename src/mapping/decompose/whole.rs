//! Baselines as stages: the whole network as one stage, by a rule that people know (rule M13).

use paracompile_frontend::soc::{ProcessorId, ProcessorSet};
use paracompile_plan::Nanoseconds;
use paracompile_plan::plan::StoppedBy;

use super::super::{
    LayerSwitched, ListRule, Solution, heft, layer_switched_within, lower_bound, schedule, single,
};
use super::stage_graph::Part;
use super::stage_mapper::{Ends, Known, StageMapper};
use crate::mapping::{StageMapping, StageProof};
use crate::partition::FusedOpId;

impl StageMapper<'_> {
    /// Everything on one processor, in order; `None` where it does not support everything.
    pub fn whole_on(&self, processor: ProcessorId) -> Option<StageMapping> {
        let part = self.whole_part(ProcessorSet::only(processor));
        let solution = single(&part.problem, 0)?;
        Some(self.whole_stage(&part, &solution, "single"))
    }

    /// A list schedule over all processors; the stage has those that it uses.
    ///
    /// It ranks and places under the slowdown of all processors in use together, since it cannot know which ones it will use.
    pub fn whole_by(&self, rule: ListRule) -> Option<StageMapping> {
        let part = self.whole_part(self.graph().allowed);
        let solution = rule.schedule(&part.problem)?;
        Some(self.whole_stage(&part, &solution, rule.name()))
    }

    /// One operator after another, each where the sum of execution and moves is least (see [`crate::mapping::layer_switched`]), and that sum.
    ///
    /// Every set of processors, one of all that are equivalent, is tried under its own slowdown, so the sum is the least under rule M4 wherever [`LayerSwitched::is_least`] says so.
    /// The stage has the processors that are used; the method names the sum, which the stage's time falls short of where operators overlap.
    /// What the budget leaves no time for is not tried, as the least sum is then unknown.
    pub fn whole_layer_switched(&self) -> Option<StageMapping> {
        let budget = self.budget();
        let found = self.graph().sets().filter_map(|set| {
            let part = self.whole_part(set);
            let found = layer_switched_within(&part.problem, budget)?;
            Some((part, found))
        });
        // Of equal sums the first; a set comes behind all of its subsets.
        let (part, found) = found.min_by_key(|(_, found)| found.total)?;
        if budget.should_stop() {
            return None;
        }
        let method = layer_switched_method(&found);
        Some(self.whole_stage(&part, &found.solution, &method))
    }

    /// The whole network as one stage on all processors, as far as a list schedule and paths tell.
    pub fn at_first(&self) -> Option<Known> {
        let part = self.whole_part(self.graph().allowed);
        let solution = heft(&part.problem)?;
        let value = schedule(&part.problem, &solution).objective.makespan;
        let bound = self.latency_bound().min(value);
        Some(Known { value, bound })
    }

    fn whole_part(&self, set: ProcessorSet) -> Part {
        let end = self.graph().whole.operators.len();
        let queues = self.graph().lanes.least();
        self.graph()
            .part(0, end, &self.entry_at_start(), set, queues)
    }

    fn whole_stage(&self, part: &Part, solution: &Solution, method: &str) -> StageMapping {
        let placement: Vec<ProcessorId> = solution
            .processors
            .iter()
            .map(|&local| part.processors[local])
            .collect();
        let lane = |&local: &usize| {
            let lane = local - part.problem.device(local);
            u8::try_from(lane).expect("a stage has few lanes")
        };
        let processors: ProcessorSet = placement.iter().copied().collect();
        let stage = StageMapping {
            ops: 0..part.problem.operators.len(),
            processors,
            placement,
            queues: solution.processors.iter().map(lane).collect(),
            sequence: solution
                .sequence
                .iter()
                .map(|&operator| FusedOpId::from_index(operator))
                .collect(),
            proof: StageProof {
                bound: Nanoseconds::ZERO,
                by_queues: Vec::new(),
                method: method.to_owned(),
                scope: String::new(),
                stopped_by: StoppedBy::Complete,
            },
        }
        .numbered();
        // The bound is for the processors that are used, which slow each other less than all of them.
        let (own, solution) = self.part_of(0, &self.entry_at_start(), &stage);
        let time = schedule(&own.problem, &solution).objective.makespan;
        let options = self.options_to(0, &self.entry_at_start(), processors, Ends::Last);
        let ended = || {
            let options = options.iter();
            options.filter(|option| option.ops.end == own.problem.operators.len())
        };
        let known: Option<Nanoseconds> = ended().map(|option| option.bound).min();
        // Where no block was solved in time, bounds of the whole are left; on one processor they are quick and tight.
        let bound = known.unwrap_or_else(|| {
            let any = self.latency_bound();
            if processors.len() == 1 && self.graph().lanes.are_single() {
                any.max(lower_bound(&own.problem))
            } else {
                any
            }
        });
        let bound = bound.min(time);
        let choices = self.graph().queue_choices(processors, 0);
        let by_queues = choices.iter().map(|&queues| {
            let bounds = ended().map(|option| option.bound_with(queues).unwrap_or(bound));
            (queues, bounds.min().unwrap_or(bound).min(time))
        });
        StageMapping {
            proof: StageProof {
                bound,
                by_queues: if choices.len() > 1 {
                    by_queues.collect()
                } else {
                    Vec::new()
                },
                scope: format!(
                    "all mappings of the stage{}",
                    self.graph().lanes.described(processors, 0)
                ),
                ..stage.proof
            },
            ..stage
        }
    }
}

fn layer_switched_method(found: &LayerSwitched) -> String {
    let rank = if found.is_least { "least" } else { "found" };
    format!(
        "layer-switched, {rank} sum of execution and moves {}",
        found.total
    )
}
