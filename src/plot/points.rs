//! Names of operating points in pictures: plans that differ in nothing else are told apart by them.

use paracompile_plan::Plan;
use paracompile_plan::front::place;
use paracompile_plan::plan::{AS_IT_IS, PlanStage};

/// At which point a processor of the plan runs, where that is known and could be another one.
pub(super) fn point_of<'p>(plan: &'p Plan, processor: &str) -> Option<&'p str> {
    let mut used = plan.processors.iter();
    let used = used.find(|used| used.name == processor)?;
    Some(used.operating_point.as_str()).filter(|point| !point.is_empty() && *point != AS_IT_IS)
}

/// Processors of a stage with their points and the number of their queues: `big@1200MHz+gpu@800MHz×2`.
pub(super) fn place_of(plan: &Plan, stage: &PlanStage) -> String {
    let names = stage.processors.iter();
    place(names.map(|name| {
        let queues = u32::try_from(plan.compute_queues(name)).unwrap_or(u32::MAX);
        (name.as_str(), point_of(plan, name), queues)
    }))
}
