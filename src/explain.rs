//! Why an operator is where it is, and what moving it would change.
//!
//! The answer to "why not there?" is another complete mapping, timed by the estimator like every plan: the same order, one operator elsewhere.

use std::fmt::Write;

use paracompile_frontend::cost::CostTable;
use paracompile_frontend::ir::{OpId, VerifiedGraph};
use paracompile_frontend::soc::{ProcessorId, ProcessorSet};
use paracompile_plan::{Nanojoules, Nanoseconds};

use crate::constraints::{Constraints, find, near};
use crate::estimate::{Estimate, evaluate};
use crate::mapping::{PipelineMapping, StageMapping};
use crate::partition::{FusedGraph, FusedOpId};

/// What is explained: one mapping of one network.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The network.
    pub graph: &'a VerifiedGraph,
    /// Its fused operators.
    pub fused: &'a FusedGraph,
    /// What they cost.
    pub table: &'a CostTable,
    /// Who runs what.
    pub mapping: &'a PipelineMapping,
    /// The figures of this mapping.
    pub estimate: &'a Estimate,
    /// What the user demanded.
    pub constraints: &'a Constraints,
}

/// No operator has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no operator is called `{query}`")]
pub struct UnknownOperator {
    /// What was asked for.
    pub query: String,
    /// Operators whose names are close or contain it.
    pub near: Vec<String>,
}

/// Whether `query` names an operator, asked before a search is spent on it.
pub fn names_operator(graph: &VerifiedGraph, query: &str) -> Result<(), UnknownOperator> {
    find(graph, query)
        .map(|_| ())
        .ok_or_else(|| UnknownOperator {
            query: query.to_owned(),
            near: near(graph, query),
        })
}

/// Explains the operator that `query` names: a node's name, the name of one of its outputs, or `#` and its index in the file.
pub fn explain(subject: &Subject<'_>, query: &str) -> Result<String, UnknownOperator> {
    let Some(op) = find(subject.graph, query) else {
        return Err(UnknownOperator {
            query: query.to_owned(),
            near: near(subject.graph, query),
        });
    };
    let fused = subject
        .fused
        .ops
        .iter()
        .find(|(_, fused)| fused.members.contains(&op))
        .map(|(id, _)| id);
    Ok(match fused {
        Some(fused) => explain_fused(subject, op, fused),
        None => format!(
            "{}: {} is free: its output is another view of its input, so it runs nowhere and takes no time.\n",
            subject.graph.ops[op].name, subject.graph.ops[op].op_type
        ),
    })
}

fn explain_fused(subject: &Subject<'_>, op: OpId, fused: FusedOpId) -> String {
    let Subject {
        graph,
        fused: ops,
        table,
        mapping,
        estimate,
        constraints,
    } = *subject;
    let (stage_index, stage) = mapping
        .stages
        .iter()
        .enumerate()
        .find(|(_, stage)| stage.ops.contains(&fused.index()))
        .expect("a mapping covers every fused operator");
    let here = stage.placement[fused.index() - stage.ops.start];
    let task = estimate.stages[stage_index]
        .tasks
        .iter()
        .find(|task| task.op == fused)
        .expect("the estimate times every task");
    let name = |processor: ProcessorId| table.soc.processors[processor].name.as_str();
    let group = &ops.ops[fused];
    let mut text = String::new();
    let _ = writeln!(text, "{} ({})", graph.ops[op].name, group.class);
    if group.members.len() > 1 {
        let members: Vec<&str> = group
            .members
            .iter()
            .map(|&member| graph.ops[member].op_type.as_str())
            .collect();
        let _ = writeln!(text, "  one task with {}", members.join(" → "));
    }
    let _ = writeln!(
        text,
        "  on {}, {}stage {} of {}: starts {} into the stage and takes {}",
        name(here),
        queue(stage, fused),
        stage_index + 1,
        mapping.stages.len(),
        task.start,
        task.duration
    );
    for moved in &estimate.stages[stage_index].moves {
        if group.reads.contains(&moved.tensor) && moved.to == table.soc.processors[here].home {
            let _ = writeln!(
                text,
                "  reads {} after a move of {}",
                ops.tensors[moved.tensor].name, moved.duration
            );
        }
    }
    for rule in &constraints.placements {
        if rule.concerns(group) {
            let _ = writeln!(text, "  as demanded by {rule}");
        }
    }
    for (processor, _) in table.soc.processors.iter() {
        if processor == here {
            continue;
        }
        let _ = writeln!(
            text,
            "  on {} instead: {}",
            name(processor),
            consequence(subject, stage_index, fused, processor)
        );
    }
    text
}

/// On which of several compute queues of its processor an operator is.
fn queue(stage: &StageMapping, fused: FusedOpId) -> String {
    let offset = fused.index() - stage.ops.start;
    match stage.queue_counts().of(stage.placement[offset]) {
        1 => String::new(),
        count => format!("queue {} of {count}, ", stage.queues[offset] + 1),
    }
}

/// What would change if the operator ran on `processor`, on the best of its queues.
fn consequence(
    subject: &Subject<'_>,
    stage_index: usize,
    fused: FusedOpId,
    processor: ProcessorId,
) -> String {
    let group = &subject.fused.ops[fused];
    if subject.table.group(&group.members, processor).is_none() {
        return "not supported there".to_owned();
    }
    let own = ProcessorSet::only(processor);
    let mut rules = subject.constraints.placements.iter();
    if let Some(rule) = rules.find(|rule| rule.concerns(group) && rule.leaves(own).is_empty()) {
        return format!("excluded by {rule}");
    }
    if let Some(other) = subject
        .mapping
        .stages
        .iter()
        .enumerate()
        .find(|(index, stage)| *index != stage_index && stage.processors.contains(processor))
        .map(|(index, _)| index)
    {
        return format!("not possible, it works for stage {}", other + 1);
    }
    let mut mapping = subject.mapping.clone();
    let stage = &mut mapping.stages[stage_index];
    let offset = fused.index() - stage.ops.start;
    stage.placement[offset] = processor;
    stage.processors = stage.placement.iter().copied().collect::<ProcessorSet>();
    let estimates = (0..stage.queue_counts().of(processor)).filter_map(|queue| {
        let mut mapping = mapping.clone();
        let mut stage = mapping.stages[stage_index].clone();
        stage.queues[offset] = u8::try_from(queue).ok()?;
        mapping.stages[stage_index] = stage.numbered();
        let Subject {
            fused,
            graph,
            table,
            ..
        } = *subject;
        Some(evaluate(fused, graph, table, &mapping))
    });
    let estimate = estimates
        .min_by_key(|estimate| (estimate.latency, estimate.interval, estimate.energy_active))
        .expect("a processor has a queue");
    format!(
        "latency {}, interval {}, energy {}",
        change(
            subject.estimate.latency,
            estimate.latency,
            Nanoseconds::to_seconds
        ),
        change(
            subject.estimate.interval,
            estimate.interval,
            Nanoseconds::to_seconds
        ),
        change(
            subject.estimate.energy_active,
            estimate.energy_active,
            Nanojoules::to_joules
        ),
    )
}

fn change<T: Copy + PartialEq>(before: T, after: T, value: fn(T) -> f64) -> String {
    if before == after {
        return "unchanged".to_owned();
    }
    if value(before) == 0.0 {
        return "no longer zero".to_owned();
    }
    format!("{:+.2}%", (value(after) / value(before) - 1.0) * 100.0)
}
