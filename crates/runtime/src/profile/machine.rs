//! The processors that are measured, each with a queue, and the memories that they compute in.
//!
//! Devices of one platform share a context in a run, and so one memory here: a tensor that one of them writes lies where the other one
//! reads it, so that between them there is nothing to move and only somebody to wait for.

use std::sync::Arc;

use opencl3::command_queue::CommandQueue;
use opencl3::device::Device;
use opencl3::types::cl_device_id;

use crate::execute::{Bound, Watcher};
use crate::lower::Target;
use crate::opencl::{Context, DeviceKind, OpenclError, QueueOrder};

/// A processor with a queue of its own.
#[derive(Debug)]
pub(super) struct Station {
    pub(super) bound: Bound,
    /// What operators are lowered for.
    pub(super) target: Target,
    pub(super) context: Arc<Context>,
    /// Index of its memory.
    pub(super) memory: usize,
    /// In order, with profiling.
    pub(super) queue: CommandQueue,
    /// Who learns of the ends of its events, as in a run.
    pub(super) watcher: Option<Watcher>,
}

/// Everything that is measured.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) stations: Vec<Station>,
    /// By memory.
    pub(super) contexts: Vec<Arc<Context>>,
    /// Names of memories.
    pub(super) memories: Vec<String>,
    /// The memory where frames arrive; `None` where that is the host's own and no processor computes in it.
    pub(super) io: Option<usize>,
}

/// The memory where frames arrive if no processor is a part of the host.
pub(super) const HOST: &str = "host";

impl Machine {
    /// Contexts and queues of the processors.
    pub(super) fn new(bound: &[Bound]) -> Result<Self, OpenclError> {
        let mut platforms: Vec<usize> = Vec::new();
        let mut machine = Self {
            stations: Vec::new(),
            contexts: Vec::new(),
            memories: Vec::new(),
            io: None,
        };
        for processor in bound {
            let platform = processor.device.platform_index;
            let known = platforms.iter().position(|known| *known == platform);
            let memory = if let Some(memory) = known {
                memory
            } else {
                platforms.push(platform);
                machine.add_memory(platform, bound)?;
                platforms.len() - 1
            };
            let context = Arc::clone(&machine.contexts[memory]);
            machine.stations.push(Station {
                watcher: Watcher::for_device(processor.device.kind),
                bound: processor.clone(),
                target: processor.target(),
                queue: context.queue(Device::new(processor.id), QueueOrder::InOrder)?,
                context,
                memory,
            });
        }
        Ok(machine)
    }

    /// The memory of a platform's devices.
    fn add_memory(&mut self, platform: usize, bound: &[Bound]) -> Result<(), OpenclError> {
        let mut ids: Vec<cl_device_id> = Vec::new();
        let mut kinds = Vec::new();
        for processor in bound {
            if processor.device.platform_index == platform && !ids.contains(&processor.id) {
                ids.push(processor.id);
                kinds.push(processor.device.kind);
            }
        }
        let index = self.contexts.len();
        self.contexts
            .push(Arc::new(Context::numbered(index, &ids)?));
        let is_host = kinds.contains(&DeviceKind::Cpu);
        let kind = if is_host { DeviceKind::Cpu } else { kinds[0] };
        if is_host && self.io.is_none() {
            self.io = Some(index);
        }
        self.memories.push(self.free_name(kind_name(kind)));
        Ok(())
    }

    fn free_name(&self, kind: &str) -> String {
        let numbered = (2..).map(|number| format!("{kind}{number}"));
        std::iter::once(kind.to_owned())
            .chain(numbered)
            .find(|name| !self.memories.contains(name))
            .expect("there are more numbers than memories")
    }

    /// The stations that compute in a memory; there is one at least.
    pub(super) fn inhabitants(&self, memory: usize) -> impl Iterator<Item = &Station> {
        self.stations
            .iter()
            .filter(move |station| station.memory == memory)
    }

    /// The name of the memory where frames arrive.
    pub(super) fn io_name(&self) -> &str {
        self.io.map_or(HOST, |io| &self.memories[io])
    }
}

/// The word of profiles for a kind of processor.
pub(super) const fn kind_name(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Cpu => "cpu",
        DeviceKind::Gpu => "gpu",
        DeviceKind::Accelerator => "npu",
    }
}
