//! What the user demanded, against the plan that says it meets it.
//!
//! Which operators a pattern meant is the word of whoever wrote the plan: a plan lists them.

use std::collections::BTreeMap;

use super::placement::Placement;
use super::violation::{Place, Violation};
use crate::plan::{Constraint, Figure, Plan};

/// Adds every demand that the plan does not meet.
pub(super) fn judge(placement: &Placement<'_>, found: &mut Vec<Violation>) {
    let plan = placement.plan;
    if plan.constraints.is_empty() {
        return;
    }
    let mut processor_of: BTreeMap<&str, &str> = BTreeMap::new();
    for (task, placed) in plan.tasks.iter().zip(&placement.tasks) {
        for operator in &task.operators {
            let name = plan.processors[placed.processor].name.as_str();
            processor_of.insert(&operator.output, name);
        }
    }
    for (index, constraint) in plan.constraints.iter().enumerate() {
        let at = Place::Constraint(index);
        match constraint {
            Constraint::Pin {
                processor,
                operators,
                ..
            } => placed(&processor_of, &at, operators, found, |on| on == processor),
            Constraint::Forbid {
                processor,
                operators,
                ..
            } => placed(&processor_of, &at, operators, found, |on| on != processor),
            Constraint::Require {
                figure,
                memory,
                at_most,
                ..
            } => {
                if let Some(name) = memory
                    && *figure != Figure::Memory
                {
                    found.push(Violation::UnknownReference {
                        at,
                        field: "memory",
                        value: name.clone(),
                    });
                } else if !meets(plan, *figure, memory.as_deref(), *at_most) {
                    found.push(Violation::Exceeded {
                        at,
                        figure: figure.name(),
                        at_most: *at_most,
                    });
                }
            }
        }
    }
}

fn placed(
    processor_of: &BTreeMap<&str, &str>,
    at: &Place,
    operators: &[String],
    found: &mut Vec<Violation>,
    is_allowed: impl Fn(&str) -> bool,
) {
    for operator in operators {
        match processor_of.get(operator.as_str()) {
            None => found.push(Violation::UnknownReference {
                at: at.clone(),
                field: "operators",
                value: operator.clone(),
            }),
            Some(processor) if !is_allowed(processor) => found.push(Violation::Misplaced {
                at: at.clone(),
                operator: operator.clone(),
                processor: (*processor).to_owned(),
            }),
            Some(_) => (),
        }
    }
}

/// Whether a predicted figure, which is judged elsewhere, is within its limit.
fn meets(plan: &Plan, figure: Figure, memory: Option<&str>, at_most: u64) -> bool {
    let predicted = &plan.predicted;
    let interval = u128::from(plan.admission_interval_ns.count());
    // At most so many nanowatts: nothing is divided, so that nothing is rounded.
    let draws = |energy: u64| u128::from(energy) * 1_000_000_000 <= u128::from(at_most) * interval;
    match figure {
        Figure::Latency => predicted.latency_ns.count() <= at_most,
        Figure::Interval => plan.admission_interval_ns.count() <= at_most,
        Figure::EnergyActive => predicted.energy_active_nj.count() <= at_most,
        Figure::EnergyBoard => predicted.energy_board_nj.count() <= at_most,
        Figure::PowerActive => draws(predicted.energy_active_nj.count()),
        Figure::PowerBoard => draws(predicted.energy_board_nj.count()),
        Figure::Memory => {
            let peaks = predicted
                .memory
                .iter()
                .filter(|used| memory.is_none_or(|name| used.memory == name))
                .map(|used| used.peak.count());
            peaks.fold(0, u64::saturating_add) <= at_most
        }
    }
}
