//! The commands of a frame in the order in which the host enqueues them (`PySchedCL`, section III, `setup_cq` and `enq`).
//!
//! A kernel is its isolated writes, what the host has to write for it; its dependent writes, where it is in the front of its component; its
//! launch; and its reads, of outputs and, at the end of a component, of what another device needs.
//! All of them are on the kernel's own queue.
//! A buffer is written once for each memory, by the first kernel there that reads it, and read back once.

use std::collections::BTreeMap;

use paracompile_frontend::import::kernels::KernelId;
use paracompile_frontend::ir::TensorId;
use paracompile_frontend::soc::{LocationId, ProcessorId};
use paracompile_plan::Nanoseconds;

use super::clusters::operator;
use super::{Clusters, Configuration};

/// What executes a command; a device has one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    /// Copies from the host.
    Write,
    /// Kernels.
    Compute,
    /// Copies to the host.
    Read,
}

/// A command on a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The kernel that it belongs to.
    pub kernel: KernelId,
    /// The device.
    pub device: ProcessorId,
    /// The queue of the device.
    pub queue: usize,
    /// What executes it.
    pub engine: Engine,
    /// How long that takes.
    pub duration: Nanoseconds,
    /// Commands whose ends it waits for, besides those before it on its queue; all stand before it.
    pub after: Vec<usize>,
}

/// All commands of a frame, kernel by kernel.
pub fn commands(clusters: &Clusters<'_>, configuration: &Configuration) -> Vec<Command> {
    let mut enqueued = Enqueued {
        clusters,
        configuration,
        queue_of: configuration.queue_of(clusters),
        commands: Vec::with_capacity(2 * clusters.components.of.len()),
        present: BTreeMap::new(),
    };
    for kernel in clusters.sequence() {
        enqueued.kernel(kernel);
    }
    enqueued.commands
}

struct Enqueued<'a> {
    clusters: &'a Clusters<'a>,
    configuration: &'a Configuration,
    queue_of: Vec<usize>,
    commands: Vec<Command>,
    /// Where a tensor is, with the command that brought it there; none of the host's own.
    present: BTreeMap<(TensorId, LocationId), Option<usize>>,
}

impl Enqueued<'_> {
    fn kernel(&mut self, kernel: KernelId) {
        let clusters = self.clusters;
        let device = self.configuration.device_of(clusters, kernel);
        let home = clusters.table.soc.processors[device].home;
        let op = &clusters.graph.ops[operator(kernel)];
        let mut after = Vec::new();
        for &tensor in op.inputs.iter().flatten() {
            after.extend(self.bring(kernel, tensor, home));
        }
        let time = clusters.time(kernel, device);
        let time = time.expect("configurations put kernels where they have a time");
        let used = self.configuration.used();
        let time = time.slowed(clusters.table.slowdown(device, used));
        let launch = self.push(kernel, Engine::Compute, time, after);
        for &tensor in &op.outputs {
            self.present.insert((tensor, home), Some(launch));
            if self.is_read_back(tensor, home) {
                let host = clusters.table.soc.io_location;
                let time = clusters.copy(tensor, home, host);
                let end = match time {
                    Some(time) => self.push(kernel, Engine::Read, time, vec![launch]),
                    None => launch,
                };
                self.present.insert((tensor, host), Some(end));
            }
        }
    }

    /// The command that a kernel waits for to find a tensor at its device: one that it has written itself, or one that was there before.
    fn bring(&mut self, kernel: KernelId, tensor: TensorId, home: LocationId) -> Option<usize> {
        let clusters = self.clusters;
        if let Some(&known) = self.present.get(&(tensor, home)) {
            return known;
        }
        let host = clusters.table.soc.io_location;
        let source = match clusters.writer(tensor) {
            None => None,
            Some(writer) => {
                let device = self.configuration.device_of(clusters, writer);
                let there = clusters.table.soc.processors[device].home;
                // Processors at locations that fit share what lies there, and a tensor of no elements is nothing but its writer's end.
                let shares =
                    clusters.table.soc.locations[there].fits(clusters.table.soc.locations[home]);
                let is_empty = clusters.graph.tensors[tensor].bytes.count() == 0;
                if shares || is_empty {
                    return self.present[&(tensor, there)];
                }
                // The host has it: it was read back, or the writer's memory is the host's.
                self.present[&(tensor, host)]
            }
        };
        let brought = match clusters.copy(tensor, host, home) {
            Some(time) => Some(self.push(kernel, Engine::Write, time, Vec::from_iter(source))),
            None => source,
        };
        self.present.insert((tensor, home), brought);
        brought
    }

    /// Whether the host reads what a kernel wrote: for itself, or for a device that does not see the memory where it lies.
    fn is_read_back(&self, tensor: TensorId, home: LocationId) -> bool {
        let clusters = self.clusters;
        let readers = &clusters.readers[tensor.index()];
        if clusters.graph.tensors[tensor].bytes.count() == 0 {
            return false;
        }
        let locations = &clusters.table.soc.locations;
        readers.is_empty()
            || readers.iter().any(|reader| {
                let kernel = KernelId::from_index(reader.index());
                let device = self.configuration.device_of(clusters, kernel);
                let there = clusters.table.soc.processors[device].home;
                !locations[home].fits(locations[there])
            })
    }

    fn push(
        &mut self,
        kernel: KernelId,
        engine: Engine,
        duration: Nanoseconds,
        mut after: Vec<usize>,
    ) -> usize {
        after.sort_unstable();
        after.dedup();
        self.commands.push(Command {
            kernel,
            device: self.configuration.device_of(self.clusters, kernel),
            queue: self.queue_of[kernel.index()],
            engine,
            duration,
            after,
        });
        self.commands.len() - 1
    }
}
