//! Whether operators may be one task.
//!
//! Those of a network are a chain behind an anchor whose inner tensors nobody else sees (rule M12); a user's kernels run one after another.

use std::collections::BTreeSet;

use super::placement::Placement;
use super::violation::{FusionFault, Place, Violation};
use crate::plan::ModelKind;

/// Adds what is wrong with the tasks of several operators.
pub(super) fn judge(placement: &Placement<'_>, found: &mut Vec<Violation>) {
    match placement.network.facts.kind {
        ModelKind::Onnx => chains(placement, found),
        ModelKind::Kernels => sequences(placement, found),
    }
}

/// Each kernel reads what others of its task have written before.
fn sequences(placement: &Placement<'_>, found: &mut Vec<Violation>) {
    let network = placement.network;
    for (index, task) in placement.tasks.iter().enumerate() {
        let mut written: BTreeSet<usize> = BTreeSet::new();
        for &member in &task.members {
            let reads = network.reads[member].iter();
            let mut own = reads.filter(|&&tensor| placement.writer[tensor] == Some(index));
            if own.any(|tensor| !written.contains(tensor)) {
                found.push(Violation::IllegalFusion {
                    at: Place::Task(index),
                    operator: network.facts.operators[member].at.clone(),
                    fault: FusionFault::TooEarly,
                });
            }
            written.extend(&network.writes[member]);
        }
    }
}

/// Epilogues behind an anchor.
fn chains(placement: &Placement<'_>, found: &mut Vec<Violation>) {
    let network = placement.network;
    for (index, task) in placement.tasks.iter().enumerate() {
        let mut report = |member: usize, fault| {
            found.push(Violation::IllegalFusion {
                at: Place::Task(index),
                operator: network.facts.operators[member].at.clone(),
                fault,
            });
        };
        for pair in task.members.windows(2) {
            let connected = (network.reads[pair[1]].iter())
                .any(|tensor| network.writes[pair[0]].binary_search(tensor).is_ok());
            if !connected {
                report(pair[1], FusionFault::Unconnected);
            }
        }
        for &member in &task.members {
            for &tensor in &network.writes[member] {
                if !placement.is_internal(tensor) {
                    continue;
                }
                if network.is_output[tensor] {
                    report(member, FusionFault::NetworkOutput);
                }
                let elsewhere = (network.readers[tensor].iter())
                    .any(|&reader| placement.task_of[reader] != index);
                if elsewhere {
                    report(member, FusionFault::ReadElsewhere);
                }
            }
        }
    }
}
