//! The processors that are measured, each with a queue, and the memories that they compute in.
//!
//! Processors that are parts of one device share its context and its memory: a tensor that one of them writes lies where the other one
//! reads it, so that between them there is nothing to move and only somebody to wait for.

use std::sync::Arc;

use opencl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::types::cl_device_id;

use crate::lower::Target;
use crate::opencl::{Context, DeviceInfo, DeviceKind, Doing, OpenclError};

/// A processor to be measured: a device, or a part of one.
#[derive(Clone, Debug)]
pub struct ProcessorDevice {
    /// Its name in the profile.
    pub name: String,
    /// The device, or the whole one that it is a part of.
    pub device: DeviceInfo,
    /// Its compute units.
    pub units: usize,
    /// The device or sub-device itself.
    pub id: cl_device_id,
    /// How `--map` and `--device` name it.
    pub spelled: String,
}

/// A processor with a queue of its own.
#[derive(Debug)]
pub(super) struct Station {
    pub(super) processor: ProcessorDevice,
    /// What operators are lowered for.
    pub(super) target: Target,
    pub(super) context: Arc<Context>,
    /// Index of its memory.
    pub(super) memory: usize,
    /// In order, with profiling.
    pub(super) queue: CommandQueue,
}

/// A memory that processors compute in.
#[derive(Debug)]
pub(super) struct DeviceMemory {
    pub(super) name: String,
    /// Index of a station that computes in it.
    pub(super) station: usize,
    /// For moves: an in-order queue that launches never wait in.
    pub(super) queue: CommandQueue,
}

/// Everything that is measured.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) stations: Vec<Station>,
    pub(super) memories: Vec<DeviceMemory>,
    /// The memory where frames arrive; `None` where that is the host's own and no processor computes in it.
    pub(super) io: Option<usize>,
}

/// The memory where frames arrive if no processor is a part of the host.
pub(super) const HOST: &str = "host";

impl Machine {
    /// Contexts and queues of the processors.
    pub(super) fn new(processors: &[ProcessorDevice]) -> Result<Self, OpenclError> {
        let mut machine = Self {
            stations: Vec::new(),
            memories: Vec::new(),
            io: None,
        };
        let mut indices: Vec<usize> = Vec::new();
        for processor in processors {
            let index = processor.device.index;
            let memory = if let Some(memory) = indices.iter().position(|known| *known == index) {
                memory
            } else {
                machine.add_memory(processor, processors)?;
                indices.push(index);
                indices.len() - 1
            };
            // The first of a memory has made its context already.
            let first = machine.memories[memory].station;
            if first < machine.stations.len() {
                let context = Arc::clone(&machine.stations[first].context);
                machine.add_station(processor, memory, context)?;
            }
        }
        machine.io = machine
            .memories
            .iter()
            .position(|memory| machine.kind(memory) == DeviceKind::Cpu);
        Ok(machine)
    }

    /// A memory with its context and the first processor that computes in it.
    fn add_memory(
        &mut self,
        processor: &ProcessorDevice,
        all: &[ProcessorDevice],
    ) -> Result<(), OpenclError> {
        let ids: Vec<cl_device_id> = all
            .iter()
            .filter(|other| other.device.index == processor.device.index)
            .map(|other| other.id)
            .collect();
        let context = Arc::new(Context::new(&ids)?);
        let queue = queue(&context, processor.id)?;
        let name = self.free_name(kind_name(processor.device.kind));
        self.memories.push(DeviceMemory {
            name,
            station: self.stations.len(),
            queue,
        });
        self.add_station(processor, self.memories.len() - 1, context)
    }

    fn add_station(
        &mut self,
        processor: &ProcessorDevice,
        memory: usize,
        context: Arc<Context>,
    ) -> Result<(), OpenclError> {
        let queue = queue(&context, processor.id)?;
        self.stations.push(Station {
            target: processor.device.target(processor.units),
            processor: processor.clone(),
            context,
            memory,
            queue,
        });
        Ok(())
    }

    fn free_name(&self, kind: &str) -> String {
        let taken = |name: &str| self.memories.iter().any(|memory| memory.name == name);
        let numbered = (2..).map(|number| format!("{kind}{number}"));
        std::iter::once(kind.to_owned())
            .chain(numbered)
            .find(|name| !taken(name))
            .expect("there are more numbers than memories")
    }

    fn kind(&self, memory: &DeviceMemory) -> DeviceKind {
        self.stations[memory.station].processor.device.kind
    }

    /// The stations that compute in a memory.
    pub(super) fn inhabitants(&self, memory: usize) -> impl Iterator<Item = &Station> {
        self.stations
            .iter()
            .filter(move |station| station.memory == memory)
    }

    /// The name of the memory where frames arrive.
    pub(super) fn io_name(&self) -> &str {
        self.io.map_or(HOST, |io| &self.memories[io].name)
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

/// An in-order queue with profiling on a device of the context.
pub(super) fn queue(context: &Context, id: cl_device_id) -> Result<CommandQueue, OpenclError> {
    // SAFETY: the device belongs to the context.
    #[expect(unsafe_code, reason = "creating a queue is unsafe by signature")]
    let queue = unsafe {
        CommandQueue::create_with_properties(context.inner(), id, CL_QUEUE_PROFILING_ENABLE, 0)
    };
    queue.doing(|| "creating a queue".to_owned())
}
