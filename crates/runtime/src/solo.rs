//! One device with one queue, and single operators on it: constants of a model, tests, and measurements.

use std::sync::Arc;

use opencl3::command_queue::CommandQueue;
use opencl3::event::Event;

use crate::host_memory::zeroed;
use crate::launch::{Launch, Place, Places, launches};
use crate::lower::{Lowered, Phase, Target};
use crate::opencl::{Context, DeviceInfo, Doing, Memory, OpenclError, QueueOrder};

/// A device, a context of its own and a queue in order.
#[derive(Debug)]
pub struct Solo {
    /// What operators are lowered for.
    pub target: Target,
    /// The context.
    pub context: Context,
    /// The queue, with profiling.
    pub queue: CommandQueue,
}

/// Operators that can run again and again.
#[derive(Debug)]
pub struct Prepared {
    launches: Vec<Launch>,
    places: Places,
}

impl Prepared {
    /// Enqueues them once.
    pub fn enqueue(&self, queue: &CommandQueue) -> Result<Vec<Event>, OpenclError> {
        let launches = self.launches.iter();
        launches.map(|launch| launch.enqueue(queue, &[])).collect()
    }

    /// The operands, results and scratch space.
    pub fn places(&self) -> &Places {
        &self.places
    }
}

impl Solo {
    /// On a whole device.
    pub fn new(device: &DeviceInfo) -> Result<Self, OpenclError> {
        let id = device.device.id();
        let context = Context::new(&[id])?;
        let queue = context.queue(device.device, QueueOrder::InOrder)?;
        Ok(Self {
            target: device.target(device.compute_units),
            context,
            queue,
        })
    }

    /// Runs lowered operators once: operands as bytes, results of the given sizes as bytes.
    pub fn run(
        &self,
        lowered: &Lowered,
        operands: &[Option<&[u8]>],
        results: &[Option<usize>],
    ) -> Result<Vec<Option<Vec<u8>>>, OpenclError> {
        let prepared = self.prepare(lowered, operands, results)?;
        drop(prepared.enqueue(&self.queue)?);
        self.finish()?;
        let results = prepared.places.results.iter();
        results
            .map(|place| {
                place
                    .as_ref()
                    .map(|place| self.read(&place.memory))
                    .transpose()
            })
            .collect()
    }

    /// Fills the operands, and runs what has to run once before the first frame.
    pub fn prepare(
        &self,
        lowered: &Lowered,
        operands: &[Option<&[u8]>],
        results: &[Option<usize>],
    ) -> Result<Prepared, OpenclError> {
        let place = |memory: Arc<Memory>| Place { memory, first: 0 };
        let mut places = Places::default();
        for operand in operands {
            let memory = operand.map(|bytes| self.filled(bytes)).transpose()?;
            places.operands.push(memory.map(place));
        }
        for result in results {
            let memory = result
                .map(|bytes| self.context.allocate(bytes))
                .transpose()?;
            places.results.push(memory.map(place));
        }
        for scratch in &lowered.scratch {
            places.scratch.push(self.context.allocate(scratch.bytes)?);
        }
        for table in &lowered.tables {
            places.tables.push(self.filled(table)?);
        }
        for launch in launches(&self.context, lowered, &places, Phase::Setup)? {
            launch.enqueue(&self.queue, &[])?;
        }
        self.finish()?;
        Ok(Prepared {
            launches: launches(&self.context, lowered, &places, Phase::Frame)?,
            places,
        })
    }

    /// Waits until all is done.
    pub fn finish(&self) -> Result<(), OpenclError> {
        self.queue
            .finish()
            .doing(|| "waiting for operators".to_owned())
    }

    /// Memory with the given contents.
    pub fn filled(&self, bytes: &[u8]) -> Result<Arc<Memory>, OpenclError> {
        let memory = self.context.allocate(bytes.len())?;
        if !bytes.is_empty() {
            crate::opencl::write(&self.queue, &memory, 0, bytes)?;
        }
        Ok(memory)
    }

    /// The contents of memory.
    pub fn read(&self, memory: &Memory) -> Result<Vec<u8>, OpenclError> {
        let bytes = zeroed("a result", memory.bytes());
        let mut bytes = bytes.map_err(|_| OpenclError::OutOfMemory {
            doing: format!("reading {} bytes", memory.bytes()),
            name: "no memory on the host".to_owned(),
        })?;
        if !bytes.is_empty() {
            crate::opencl::read(&self.queue, memory, 0, &mut bytes)?;
        }
        Ok(bytes)
    }
}
