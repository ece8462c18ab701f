//! The components of a kernel graph in the order in which the host enqueues them, beside what they cost on a chip.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use paracompile_frontend::components::{Components, Grouping};
use paracompile_frontend::cost::CostTable;
use paracompile_frontend::import::kernels::{Device, KernelGraph, KernelId};
use paracompile_frontend::ir::{OpId, TensorId, TensorRole, VerifiedGraph};
use paracompile_frontend::soc::{LocationId, ProcessorId};
use paracompile_plan::Nanoseconds;
use paracompile_plan::plan::KernelComponent;

use super::ClusterError;
use super::rank::component_ranks;
use crate::mapping::QueueCounts;

/// A kernel graph in components, and what it costs.
#[derive(Clone, Debug)]
pub struct Clusters<'a> {
    /// The kernels.
    pub kernels: &'a KernelGraph,
    /// The same as operators: operator `i` is kernel `i`.
    pub graph: &'a VerifiedGraph,
    /// What they cost.
    pub table: &'a CostTable,
    /// The components.
    pub components: Components,
    /// Components in the order in which the host enqueues them: of those whose parents stand before, the one with the highest rank, and of equals the first.
    pub order: Vec<usize>,
    /// Readers of each tensor, ascending.
    pub(super) readers: Vec<Vec<OpId>>,
    gpu: Option<ProcessorId>,
    cpu: Option<ProcessorId>,
}

impl<'a> Clusters<'a> {
    /// Groups kernels and ranks the groups; devices are the chip's processors of these names, or else its first of these kinds.
    pub fn new(
        kernels: &'a KernelGraph,
        graph: &'a VerifiedGraph,
        table: &'a CostTable,
        grouping: Grouping,
    ) -> Result<Self, ClusterError> {
        let components =
            Components::new(kernels, grouping).ok_or_else(|| ClusterError::Circle {
                graph: kernels.name.clone(),
            })?;
        let mut readers = vec![Vec::new(); graph.tensors.len()];
        for (op, known) in graph.ops.iter() {
            for tensor in known.inputs.iter().flatten() {
                let readers: &mut Vec<OpId> = &mut readers[tensor.index()];
                // A kernel may read one buffer through two arguments.
                if readers.last() != Some(&op) {
                    readers.push(op);
                }
            }
        }
        let mut clusters = Self {
            kernels,
            graph,
            table,
            components,
            order: Vec::new(),
            readers,
            gpu: processor_of(table, Device::Gpu),
            cpu: processor_of(table, Device::Cpu),
        };
        clusters.order = by_rank(&clusters.components, &component_ranks(&clusters));
        Ok(clusters)
    }

    /// The chip's processor of a kind.
    pub const fn device(&self, kind: Device) -> Option<ProcessorId> {
        match kind {
            Device::Gpu => self.gpu,
            Device::Cpu => self.cpu,
        }
    }

    /// The devices that there are, the GPU first.
    pub fn devices(&self) -> impl Iterator<Item = ProcessorId> {
        [self.gpu, self.cpu].into_iter().flatten()
    }

    /// How many queues a device can have at most.
    pub fn most_queues(&self, processor: ProcessorId) -> usize {
        let sharing = &self.table.soc.processors[processor].sharing;
        sharing.len().min(QueueCounts::MOST_LANES)
    }

    /// Whether a device can have so many queues.
    pub(super) fn judge_queues(
        &self,
        processor: ProcessorId,
        queues: usize,
    ) -> Result<(), ClusterError> {
        let most = self.most_queues(processor);
        if (1..=most).contains(&queues) {
            return Ok(());
        }
        Err(ClusterError::NoSuchQueues {
            processor: self.table.soc.processors[processor].name.clone(),
            queues,
            most,
        })
    }

    /// Kernels in the order in which the host enqueues them.
    pub fn sequence(&self) -> impl Iterator<Item = KernelId> + '_ {
        let all = &self.components.all;
        let order = self.order.iter();
        order.flat_map(move |&component| all[component].kernels.iter().copied())
    }

    /// What a kernel takes on a processor that nobody slows down.
    pub(super) fn time(&self, kernel: KernelId, processor: ProcessorId) -> Option<Nanoseconds> {
        let cost = self.table.group(&[operator(kernel)], processor)?;
        Some(cost.time)
    }

    /// What the command that moves a tensor takes; nothing where nothing moves.
    pub(super) fn copy(
        &self,
        tensor: TensorId,
        from: LocationId,
        to: LocationId,
    ) -> Option<Nanoseconds> {
        let bytes = self.graph.tensors[tensor].bytes;
        if bytes.count() == 0 {
            return None;
        }
        Some(self.table.transfer(bytes, from, to)?.time)
    }

    /// The kernel that writes a tensor; the host writes what none does.
    pub(super) fn writer(&self, tensor: TensorId) -> Option<KernelId> {
        match &self.graph.tensors[tensor].role {
            TensorRole::Computed(op) => Some(KernelId::from_index(op.index())),
            TensorRole::Input | TensorRole::Weight(_) => None,
        }
    }
}

/// What the tasks of a plan say of components, by kernel.
///
/// # Panics
/// Never: a kernel graph has fewer components than 2^32.
pub fn kernel_components(components: &Components) -> Vec<KernelComponent> {
    let of_kernel = |(index, &id): (usize, &usize)| {
        let (kernel, component) = (KernelId::from_index(index), &components.all[id]);
        KernelComponent {
            id: u32::try_from(id).expect("a graph has fewer than 2^32 components"),
            front: component.front.contains(&kernel),
            end: component.end.contains(&kernel),
        }
    };
    components.of.iter().enumerate().map(of_kernel).collect()
}

/// The operator of a kernel.
pub(super) fn operator(kernel: KernelId) -> OpId {
    OpId::from_index(kernel.index())
}

/// A GPU or a CPU by its name, or else the first that is one: two parts of a CPU can stand for both.
fn processor_of(table: &CostTable, device: Device) -> Option<ProcessorId> {
    let names = [Device::Gpu, Device::Cpu].map(Device::name);
    let all = &table.soc.processors;
    let by_name = all.iter().find(|(_, one)| one.name == device.name());
    let by_kind = || {
        let mut unnamed = all
            .iter()
            .filter(|(_, one)| !names.contains(&one.name.as_str()));
        unnamed.find(|(_, one)| one.kind == device.name())
    };
    by_name.or_else(by_kind).map(|(id, _)| id)
}

/// Parents first, and of what may stand next the highest rank.
fn by_rank(components: &Components, ranks: &[Nanoseconds]) -> Vec<usize> {
    let all = &components.all;
    let mut open: Vec<usize> = all.iter().map(|one| one.parents.len()).collect();
    let mut ready: BTreeSet<(Reverse<Nanoseconds>, usize)> = open
        .iter()
        .enumerate()
        .filter(|(_, open)| **open == 0)
        .map(|(component, _)| (Reverse(ranks[component]), component))
        .collect();
    let mut order = Vec::with_capacity(all.len());
    while let Some((_, component)) = ready.pop_first() {
        order.push(component);
        for &child in &all[component].children {
            open[child] -= 1;
            if open[child] == 0 {
                ready.insert((Reverse(ranks[child]), child));
            }
        }
    }
    order
}
