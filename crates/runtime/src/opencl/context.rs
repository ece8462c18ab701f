//! A context of devices of one platform, its programs, and memory in it.

use std::collections::BTreeMap;
use std::ptr;
use std::sync::{Arc, Mutex};

use opencl3::command_queue::{
    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_QUEUE_PROFILING_ENABLE, CommandQueue,
};
use opencl3::context::Context as ClContext;
use opencl3::device::{CL_DEVICE_TYPE_CPU, Device};
use opencl3::error_codes::ClError;
use opencl3::event::Event;
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR, ClMem};
use opencl3::program::Program;
use opencl3::types::{CL_NON_BLOCKING, cl_device_id, cl_mem};

use super::host_bytes::HostBytes;
use super::{Doing, OpenclError};
use crate::lower::Source;

const COMMON: &str = include_str!("../kernels/common.cl");

/// Devices of one platform that share buffers, and the programs built for them, each once.
#[derive(Debug)]
pub struct Context {
    index: usize,
    inner: ClContext,
    devices: Vec<cl_device_id>,
    programs: Mutex<BTreeMap<(&'static str, String), Arc<Program>>>,
    is_zero_copy: bool,
}

/// Whether a queue runs its commands in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOrder {
    /// One after another.
    InOrder,
    /// As soon as what they wait for has ended.
    OutOfOrder,
}

// SAFETY: device ids are handles that OpenCL lets every thread use.
#[expect(unsafe_code, reason = "device ids are raw pointers in type alone")]
unsafe impl Send for Context {}
// SAFETY: as above; programs are behind a lock.
#[expect(unsafe_code, reason = "device ids are raw pointers in type alone")]
unsafe impl Sync for Context {}

impl Context {
    /// A context of `devices`, which belong to one platform.
    pub fn new(devices: &[cl_device_id]) -> Result<Self, OpenclError> {
        Self::numbered(0, devices)
    }

    /// The same, as one of several contexts.
    pub fn numbered(index: usize, devices: &[cl_device_id]) -> Result<Self, OpenclError> {
        let context = ClContext::from_devices(devices, &[], None, ptr::null_mut())
            .doing(|| format!("making a context of {} devices", devices.len()))?;
        let mut made = Self {
            index,
            inner: context,
            devices: devices.to_vec(),
            programs: Mutex::default(),
            is_zero_copy: false,
        };
        made.is_zero_copy = made.tries_zero_copy()?;
        Ok(made)
    }

    /// The context itself.
    pub fn inner(&self) -> &ClContext {
        &self.inner
    }

    /// Whether the host sees its memory without any command.
    pub fn is_zero_copy(&self) -> bool {
        self.is_zero_copy
    }

    /// A kernel whose arguments are not set yet; its program is built when it is first asked for.
    pub fn kernel(
        &self,
        source: Source,
        options: &str,
        kernel: &str,
    ) -> Result<Kernel, OpenclError> {
        let program = self.program(source, options)?;
        Kernel::create(&program, kernel)
            .doing(|| format!("taking kernel `{kernel}` of {}", source.name))
    }

    fn program(&self, source: Source, options: &str) -> Result<Arc<Program>, OpenclError> {
        let mut programs = self.programs.lock().expect("no holder of the lock panics");
        let key = (source.name, options.to_owned());
        if let Some(program) = programs.get(&key) {
            return Ok(Arc::clone(program));
        }
        // One string: the wrapper hands several over as if Rust's were C's.
        let text = [COMMON, source.text].concat();
        let mut program = Program::create_from_source(&self.inner, &text)
            .doing(|| format!("taking the source {}", source.name))?;
        if let Err(error) = program.build(&self.devices, options) {
            return Err(self.build_error(&program, source, options, error.0));
        }
        let program = Arc::new(program);
        programs.insert(key, Arc::clone(&program));
        Ok(program)
    }

    fn build_error(
        &self,
        program: &Program,
        source: Source,
        options: &str,
        code: i32,
    ) -> OpenclError {
        const SUCCESS: i32 = 0;
        let failed = self.devices.iter().copied().find(|&device| {
            program
                .get_build_status(device)
                .is_ok_and(|status| status != SUCCESS)
        });
        let Some(device) = failed else {
            return OpenclError::of_code(code, format!("building {}", source.name));
        };
        OpenclError::Build {
            source_name: source.name,
            options: options.to_owned(),
            device: Device::new(device).name().unwrap_or_default(),
            log: program.get_build_log(device).unwrap_or_default(),
        }
    }

    /// Memory of `bytes` bytes; a tensor without elements has one byte.
    pub fn allocate(&self, bytes: usize) -> Result<Arc<Memory>, OpenclError> {
        self.allocate_beside(None, bytes)
    }

    /// The same for what moves to or from `other`: where the host shares this memory, the driver of the other one pins it.
    pub fn allocate_beside(
        &self,
        other: Option<&Self>,
        bytes: usize,
    ) -> Result<Arc<Memory>, OpenclError> {
        let no_memory = || OpenclError::OutOfMemory {
            doing: format!("allocating {bytes} bytes"),
            name: "no memory on the host".to_owned(),
        };
        let shared = match other.filter(|other| !other.is_zero_copy) {
            _ if !self.is_zero_copy => None,
            Some(other) => {
                let queue = other.queue(other.first_device(), QueueOrder::InOrder)?;
                Some(HostBytes::pinned(&other.inner, queue, bytes)?)
            }
            None => Some(HostBytes::zeroed(bytes).ok_or_else(no_memory)?),
        };
        let (flags, pointer) = match &shared {
            Some(host) => (CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, host.pointer()),
            None => (CL_MEM_READ_WRITE, ptr::null_mut()),
        };
        // SAFETY: the host's bytes, if any, live as long as the buffer.
        #[expect(unsafe_code, reason = "creating a buffer is unsafe by signature")]
        let buffer = unsafe { Buffer::<u8>::create(&self.inner, flags, bytes.max(1), pointer) }
            .doing(|| format!("allocating {bytes} bytes"))?;
        Ok(Arc::new(Memory {
            buffer,
            bytes,
            context: self.index,
            shared,
        }))
    }

    /// Whether the host sees what devices write into its memory without any command.
    ///
    /// True for CPUs in practice, and tried out rather than assumed: a command fills such memory, and the host looks.
    fn tries_zero_copy(&self) -> Result<bool, OpenclError> {
        const BYTES: usize = 64;
        const PATTERN: u8 = 0xa5;
        let is_cpu = |&id: &cl_device_id| {
            let kind = Device::new(id).dev_type();
            kind.is_ok_and(|kind| kind & CL_DEVICE_TYPE_CPU != 0)
        };
        if !self.devices.iter().all(is_cpu) {
            return Ok(false);
        }
        let Some(host) = HostBytes::zeroed(BYTES) else {
            return Ok(false);
        };
        let queue = self.queue(Device::new(self.devices[0]), QueueOrder::InOrder)?;
        // SAFETY: the host's bytes outlive the buffer, which is dropped first.
        #[expect(unsafe_code, reason = "buffers are unsafe by signature")]
        unsafe {
            let flags = CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR;
            let mut buffer = Buffer::<u8>::create(&self.inner, flags, BYTES, host.pointer())
                .doing(|| "sharing memory of the host".to_owned())?;
            queue
                .enqueue_fill_buffer(&mut buffer, &[PATTERN], 0, BYTES, &[])
                .doing(|| "filling shared memory".to_owned())?;
            queue
                .finish()
                .doing(|| "filling shared memory".to_owned())?;
            let is_seen =
                (0..BYTES).all(|at| host.pointer().cast::<u8>().add(at).read_volatile() == PATTERN);
            drop(buffer);
            Ok(is_seen)
        }
    }

    /// A queue of one of the context's devices, with profiling.
    pub fn queue(&self, device: Device, order: QueueOrder) -> Result<CommandQueue, OpenclError> {
        let properties = match order {
            QueueOrder::InOrder => CL_QUEUE_PROFILING_ENABLE,
            QueueOrder::OutOfOrder => {
                CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
            }
        };
        // SAFETY: the device belongs to the context, or OpenCL refuses it.
        #[expect(unsafe_code, reason = "creating a queue is unsafe by signature")]
        let queue = unsafe {
            CommandQueue::create_with_properties(&self.inner, device.id(), properties, 0)
        };
        queue.doing(|| "creating a queue".to_owned())
    }

    /// The first device of the context.
    pub fn first_device(&self) -> Device {
        Device::new(self.devices[0])
    }
}

/// Memory of a context.
#[derive(Debug)]
pub struct Memory {
    buffer: Buffer<u8>,
    bytes: usize,
    context: usize,
    /// The bytes themselves, where host and devices share them; dropped after the buffer.
    shared: Option<HostBytes>,
}

impl Memory {
    /// Where the host finds the bytes, if it shares them with the devices.
    pub fn shared(&self) -> Option<*mut u8> {
        self.shared.as_ref().map(|host| host.pointer().cast())
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The index of its context.
    pub fn context(&self) -> usize {
        self.context
    }

    /// The handle for calls of OpenCL.
    pub fn handle(&self) -> cl_mem {
        self.buffer.get()
    }
}

/// Where a range of memory lies for the host, if it shares the memory and the range is within.
fn within(memory: &Memory, offset: usize, length: usize) -> Option<*mut u8> {
    let end = offset.checked_add(length)?;
    let pointer = memory.shared()?;
    (end <= memory.bytes()).then(|| pointer.wrapping_add(offset))
}

/// Writes `bytes` from position `offset` on, and waits until it is done.
pub fn write(
    queue: &CommandQueue,
    memory: &Memory,
    offset: usize,
    bytes: &[u8],
) -> Result<(), OpenclError> {
    let doing = || format!("writing {} bytes", bytes.len());
    if let Some(pointer) = within(memory, offset, bytes.len()) {
        // SAFETY: the range lies within the memory, and whoever calls has waited for what uses it.
        #[expect(unsafe_code, reason = "devices share these bytes")]
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), pointer, bytes.len());
        }
        return Ok(());
    }
    #[expect(
        unsafe_code,
        reason = "OpenCL's own call, since the wrapper asks for a mutable buffer"
    )]
    // SAFETY: the command is waited for, so `bytes` outlives it; OpenCL refuses what does not fit the buffer.
    let event = unsafe {
        opencl3::command_queue::enqueue_write_buffer(
            queue.get(),
            memory.handle(),
            CL_NON_BLOCKING,
            offset,
            bytes.len(),
            bytes.as_ptr().cast(),
            0,
            ptr::null(),
        )
    }
    .map_err(|code| OpenclError::of_code(code, doing()))?;
    wait(queue, &Event::new(event)).doing(doing)
}

/// Reads as many bytes as `bytes` has from position `offset` on, and waits until it is done.
pub fn read(
    queue: &CommandQueue,
    memory: &Memory,
    offset: usize,
    bytes: &mut [u8],
) -> Result<(), OpenclError> {
    let length = bytes.len();
    let doing = || format!("reading {length} bytes");
    if let Some(pointer) = within(memory, offset, bytes.len()) {
        // SAFETY: the range lies within the memory, and whoever calls has waited for what writes it.
        #[expect(unsafe_code, reason = "devices share these bytes")]
        unsafe {
            ptr::copy_nonoverlapping(pointer, bytes.as_mut_ptr(), bytes.len());
        }
        return Ok(());
    }
    // SAFETY: the command is waited for, so `bytes` outlives it; OpenCL refuses what does not fit the buffer.
    #[expect(unsafe_code, reason = "reading is unsafe by signature")]
    let event =
        unsafe { queue.enqueue_read_buffer(&memory.buffer, CL_NON_BLOCKING, offset, bytes, &[]) };
    wait(queue, &event.doing(doing)?).doing(doing)
}

/// Waits for a command of a queue: drivers let others enqueue meanwhile, which they need not while a call of theirs blocks.
fn wait(queue: &CommandQueue, event: &Event) -> Result<(), ClError> {
    let flushed = queue.flush();
    // Whatever happens, the command must have ended before its bytes go.
    let waited = event.wait();
    flushed.and(waited)
}
