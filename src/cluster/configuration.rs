//! A configuration `(q_gpu, q_cpu, h_cpu)`: which components go to which device, and how many queues each device has.

use paracompile_frontend::components::Component;
use paracompile_frontend::import::kernels::{Device, KernelId};
use paracompile_frontend::soc::{ProcessorId, ProcessorSet};

use super::{ClusterError, Clusters};

/// Which components run on the CPU; the others run on the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnCpu {
    /// The first so many, in the order of their first kernels: `h_cpu`.
    First(usize),
    /// Those whose kernels the specification prefers there.
    Specified,
}

/// Components on devices, and queues of devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// The device of each component.
    pub devices: Vec<ProcessorId>,
    /// Queues of each processor of the chip; none where nothing runs.
    pub queues: Vec<usize>,
    /// How many components run on the CPU, `h_cpu`.
    pub cpu_heads: usize,
}

impl Configuration {
    /// Puts components on devices; a device with components has the number of queues that `queues` says, one if it says none.
    pub fn new(
        clusters: &Clusters<'_>,
        on_cpu: OnCpu,
        queues: &[(ProcessorId, usize)],
    ) -> Result<Self, ClusterError> {
        let devices = devices(clusters, on_cpu)?;
        let mut own = vec![0; clusters.table.soc.processors.len()];
        for &device in &devices {
            let asked = queues.iter().find(|(known, _)| *known == device);
            own[device.index()] = asked.map_or(1, |&(_, count)| count);
        }
        let cpu = clusters.device(Device::Cpu);
        let configuration = Self {
            cpu_heads: devices.iter().filter(|&&at| Some(at) == cpu).count(),
            devices,
            queues: own,
        };
        configuration.judge(clusters)?;
        Ok(configuration)
    }

    /// The configuration that the specification asks for: its devices and components, and its queues, one where it names none.
    pub fn specified(clusters: &Clusters<'_>) -> Result<Self, ClusterError> {
        let queues = clusters
            .kernels
            .queues
            .iter()
            .filter_map(|(&kind, &count)| {
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                Some((clusters.device(kind)?, count))
            });
        Self::new(clusters, OnCpu::Specified, &queues.collect::<Vec<_>>())
    }

    /// The devices that something runs on.
    pub fn used(&self) -> ProcessorSet {
        self.devices.iter().copied().collect()
    }

    /// The device of a kernel.
    pub fn device_of(&self, clusters: &Clusters<'_>, kernel: KernelId) -> ProcessorId {
        self.devices[clusters.components.of[kernel.index()]]
    }

    /// The queue of each kernel on its device, round robin in the order in which the host enqueues kernels (`PySchedCL`'s `setup_cq`).
    ///
    /// A component begins where the one before it on the device ended, so that components of few kernels fill all queues.
    pub fn queue_of(&self, clusters: &Clusters<'_>) -> Vec<usize> {
        let mut next = vec![0; self.queues.len()];
        let mut queue_of = vec![0; clusters.components.of.len()];
        for kernel in clusters.sequence() {
            let device = self.device_of(clusters, kernel).index();
            queue_of[kernel.index()] = next[device];
            next[device] = (next[device] + 1) % self.queues[device];
        }
        queue_of
    }

    /// Every kernel has a time where it runs, and every queue is one of the device and has a kernel.
    fn judge(&self, clusters: &Clusters<'_>) -> Result<(), ClusterError> {
        for processor in self.used().iter() {
            let own = || {
                let kernels = clusters.kernels.kernels.ids();
                kernels.filter(|&kernel| self.device_of(clusters, kernel) == processor)
            };
            let name = || clusters.table.soc.processors[processor].name.clone();
            let unknown = own().filter(|&kernel| clusters.time(kernel, processor).is_none());
            let kernels: Vec<String> = unknown
                .map(|kernel| clusters.kernels.kernels[kernel].name.clone())
                .collect();
            if !kernels.is_empty() {
                let processor = name();
                return Err(ClusterError::Unmeasured { processor, kernels });
            }
            let (queues, kernels) = (self.queues[processor.index()], own().count());
            clusters.judge_queues(processor, queues)?;
            if queues > kernels {
                return Err(ClusterError::TooManyQueues {
                    processor: name(),
                    queues,
                    kernels,
                });
            }
        }
        Ok(())
    }
}

fn devices(clusters: &Clusters<'_>, on_cpu: OnCpu) -> Result<Vec<ProcessorId>, ClusterError> {
    let all = &clusters.components.all;
    if let OnCpu::First(asked) = on_cpu
        && asked > all.len()
    {
        let components = all.len();
        return Err(ClusterError::TooManyOnCpu { asked, components });
    }
    let kinds = all
        .iter()
        .enumerate()
        .map(|(index, component)| match on_cpu {
            OnCpu::First(count) if index < count => Ok(Device::Cpu),
            OnCpu::First(_) => Ok(Device::Gpu),
            OnCpu::Specified => preferred(clusters, index, component),
        });
    let kinds = kinds.collect::<Result<Vec<Device>, _>>()?;
    let device = |&kind: &Device| {
        clusters.device(kind).ok_or_else(|| ClusterError::NoDevice {
            soc: clusters.table.soc.name.clone(),
            kind,
            components: kinds.iter().filter(|&&other| other == kind).count(),
        })
    };
    kinds.iter().map(device).collect()
}

/// The kind of device that the kernels of a component prefer; the GPU where they prefer none.
fn preferred(
    clusters: &Clusters<'_>,
    index: usize,
    component: &Component,
) -> Result<Device, ClusterError> {
    let kernels = &clusters.kernels.kernels;
    let mut known = component
        .kernels
        .iter()
        .filter_map(|&kernel| Some((kernels[kernel].device?, &kernels[kernel].name)));
    let Some((preferred, first)) = known.next() else {
        return Ok(Device::Gpu);
    };
    match known.find(|(other, _)| *other != preferred) {
        None => Ok(preferred),
        Some((instead, other)) => Err(ClusterError::Divided {
            component: index,
            first: first.clone(),
            preferred,
            other: other.clone(),
            instead,
        }),
    }
}
