//! Bottom-level ranks (Topcuoglu, Hariri and Wu 2002, section 4; `PySchedCL`, section V): what is left to do from a kernel to the end.

use paracompile_frontend::import::kernels::KernelId;
use paracompile_frontend::soc::ProcessorId;
use paracompile_plan::Nanoseconds;

use super::Clusters;
use super::clusters::operator;

/// `rank(k) = w(k) + max rank(j)` over the kernels `j` that wait for `k`, where `w(k)` is the mean over the devices that can run `k` of its time and of its copies from and to the host, rounded down.
fn kernel_ranks(clusters: &Clusters<'_>) -> Vec<Nanoseconds> {
    let kernels = &clusters.kernels.kernels;
    let mut ranks = vec![Nanoseconds::ZERO; kernels.len()];
    let mut behind = ranks.clone();
    for (id, kernel) in kernels.iter().rev() {
        let rank = mean(clusters, id) + behind[id.index()];
        ranks[id.index()] = rank;
        for parent in kernel.parents() {
            let most: &mut Nanoseconds = &mut behind[parent.index()];
            *most = (*most).max(rank);
        }
    }
    ranks
}

/// The largest rank of the kernels of each component.
pub(super) fn component_ranks(clusters: &Clusters<'_>) -> Vec<Nanoseconds> {
    let ranks = kernel_ranks(clusters);
    let all = clusters.components.all.iter();
    let largest = all.map(|component| {
        let kernels = component.kernels.iter();
        kernels.map(|kernel| ranks[kernel.index()]).max()
    });
    largest.map(Option::unwrap_or_default).collect()
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
