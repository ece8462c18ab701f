//! What kernels take on each device, and the ranks that follow.

use paracompile_frontend::components::bottom_level_ranks;
use paracompile_frontend::import::kernels::KernelGraph;

/// Nanoseconds of every kernel on every device, copies included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Costs {
    /// By kernel, then by device.
    pub nanoseconds: Vec<Vec<i64>>,
}

impl Costs {
    /// The bottom-level rank of each kernel: its mean over the devices, and the largest rank of those that wait for it.
    pub fn ranks(&self, graph: &KernelGraph) -> Vec<i64> {
        let means: Vec<i64> = self
            .nanoseconds
            .iter()
            .map(|costs| {
                let count = i64::try_from(costs.len().max(1)).unwrap_or(1);
                costs.iter().sum::<i64>() / count
            })
            .collect();
        bottom_level_ranks(graph, &means)
    }
}
