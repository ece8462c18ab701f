//! A configuration as a mapping of one stage, so that estimator, emitter and checker treat it like any other.

use paracompile_frontend::ir::OpId;
use paracompile_frontend::soc::ProcessorSet;
use paracompile_plan::plan::StoppedBy;

use super::{Clusters, Configuration};
use crate::mapping::decompose::{QueuesAllowed, StageGraph};
use crate::mapping::{StageMapping, StageProof};
use crate::partition::{FusedOpId, Segments};

/// The stage of a configuration: the order of enqueueing is the order on each queue.
///
/// Its bound is the one of the whole network on the whole chip, which holds for every mapping.
///
/// # Panics
/// If a task is not one kernel: nothing is fused with a kernel (rule M12).
pub fn stage(
    clusters: &Clusters<'_>,
    configuration: &Configuration,
    segments: &Segments,
) -> StageMapping {
    let fused = &segments.graph;
    let mut op_of = vec![FusedOpId::from_index(0); clusters.components.of.len()];
    let mut kernel_of: Vec<OpId> = Vec::with_capacity(fused.ops.len());
    for (id, op) in fused.ops.iter() {
        let [member] = op.members[..] else {
            panic!("a task of a kernel graph is one kernel");
        };
        op_of[member.index()] = id;
        kernel_of.push(member);
    }
    let queue_of = configuration.queue_of(clusters);
    let device = |op: &OpId| configuration.devices[clusters.components.of[op.index()]];
    let queue = |op: &OpId| u8::try_from(queue_of[op.index()]).expect("a processor has few queues");
    let sequence = clusters.sequence();
    let soc = &clusters.table.soc;
    let chip = ProcessorSet::first(soc.processors.len());
    let names = soc.processors.iter().map(|(_, it)| it.name.clone());
    let sharing = soc.processors.iter().map(|(_, it)| it.sharing.clone());
    let graph = StageGraph::new(segments, clusters.table, chip).with_queues(QueuesAllowed {
        names: names.collect(),
        counts: configuration
            .queues
            .iter()
            .map(|&count| vec![count.max(1)])
            .collect(),
        sharing: sharing.collect(),
    });
    StageMapping {
        ops: 0..fused.ops.len(),
        processors: configuration.used(),
        placement: kernel_of.iter().map(device).collect(),
        queues: kernel_of.iter().map(queue).collect(),
        sequence: sequence.map(|kernel| op_of[kernel.index()]).collect(),
        proof: StageProof {
            bound: graph.latency_bound(),
            by_queues: Vec::new(),
            method: "clustering".to_owned(),
            scope: "all mappings of the network on the chip".to_owned(),
            stopped_by: StoppedBy::Complete,
        },
    }
}
