//! Whether operators may be one task: a chain behind an anchor whose inner tensors nobody else sees (rule M12).

use super::placement::Placement;
use super::violation::{FusionFault, Place, Violation};

/// Adds what is wrong with the tasks of several operators.
pub(super) fn judge(placement: &Placement<'_>, found: &mut Vec<Violation>) {
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
