//! Ranks of components: the weight of a kernel is what it takes with its copies.

use paracompile_frontend::components::bottom_level_ranks;
use paracompile_frontend::import::kernels::KernelId;
use paracompile_frontend::soc::ProcessorId;
use paracompile_plan::Nanoseconds;

use super::Clusters;
use super::clusters::operator;

/// The bottom-level rank of each component, where the weight of a kernel is the mean over the devices that can run it of its time and of its copies from and to the host, rounded down.
pub(super) fn component_ranks(clusters: &Clusters<'_>) -> Vec<Nanoseconds> {
    let kernels = clusters.kernels.kernels.ids();
    let weights: Vec<Nanoseconds> = kernels.map(|kernel| mean(clusters, kernel)).collect();
    let ranks = bottom_level_ranks(clusters.kernels, &weights);
    clusters.components.ranks(&ranks)
}

fn mean(clusters: &Clusters<'_>, kernel: KernelId) -> Nanoseconds {
    let times: Vec<u64> = clusters
        .devices()
        .filter_map(|device| {
            let time = clusters.time(kernel, device)? + copies(clusters, kernel, device);
            Some(time.count())
        })
        .collect();
    let count = u64::try_from(times.len()).unwrap_or(u64::MAX).max(1);
    let sum = times.into_iter().fold(0, u64::saturating_add);
    Nanoseconds::new(sum / count)
}

/// What its own commands copy if it runs there: what the host writes, and what the host reads back.
fn copies(clusters: &Clusters<'_>, kernel: KernelId, device: ProcessorId) -> Nanoseconds {
    let soc = &clusters.table.soc;
    let (home, host) = (soc.processors[device].home, soc.io_location);
    let op = &clusters.graph.ops[operator(kernel)];
    let read = op.inputs.iter().flatten();
    let written = read
        .filter(|&&tensor| clusters.writer(tensor).is_none())
        .filter_map(|&tensor| clusters.copy(tensor, host, home));
    let back = op
        .outputs
        .iter()
        .filter(|tensor| clusters.readers[tensor.index()].is_empty())
        .filter_map(|&tensor| clusters.copy(tensor, home, host));
    written.chain(back).sum()
}
