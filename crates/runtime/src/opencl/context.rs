//! A context of devices of one platform, its programs, and memory in it.

use std::collections::BTreeMap;
use std::ptr;
use std::sync::{Arc, Mutex};

use opencl3::command_queue::CommandQueue;
use opencl3::context::Context as ClContext;
use opencl3::device::Device;
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem};
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_device_id, cl_mem};

use super::{Doing, OpenclError};
use crate::lower::Source;

const COMMON: &str = include_str!("../kernels/common.cl");

/// Devices of one platform that share buffers, and the programs built for them, each once.
#[derive(Debug)]
pub struct Context {
    context: ClContext,
    devices: Vec<cl_device_id>,
    programs: Mutex<BTreeMap<(&'static str, String), Arc<Program>>>,
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
        let context = ClContext::from_devices(devices, &[], None, ptr::null_mut())
            .doing(|| format!("making a context of {} devices", devices.len()))?;
        Ok(Self {
            context,
            devices: devices.to_vec(),
            programs: Mutex::default(),
        })
    }

    /// The context itself.
    pub fn inner(&self) -> &ClContext {
        &self.context
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
        let mut program = Program::create_from_source(&self.context, &text)
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
        // SAFETY: no host pointer is handed over.
        #[expect(unsafe_code, reason = "creating a buffer is unsafe by signature")]
        let buffer = unsafe {
            Buffer::<u8>::create(
                &self.context,
                CL_MEM_READ_WRITE,
                bytes.max(1),
                ptr::null_mut(),
            )
        }
        .doing(|| format!("allocating {bytes} bytes"))?;
        Ok(Arc::new(Memory { buffer, bytes }))
    }
}

/// Memory of a context.
#[derive(Debug)]
pub struct Memory {
    buffer: Buffer<u8>,
    bytes: usize,
}

impl Memory {
    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The handle for calls of OpenCL.
    pub fn handle(&self) -> cl_mem {
        self.buffer.get()
    }
}

/// Writes `bytes` from position `offset` on, and waits until it is done.
pub fn write(
    queue: &CommandQueue,
    memory: &Memory,
    offset: usize,
    bytes: &[u8],
) -> Result<(), OpenclError> {
    let doing = || format!("writing {} bytes", bytes.len());
    // SAFETY: the call blocks, so `bytes` outlives it; OpenCL refuses what does not fit the buffer.
    #[expect(
        unsafe_code,
        reason = "OpenCL's own call, since the wrapper asks for a mutable buffer"
    )]
    let event = unsafe {
        opencl3::command_queue::enqueue_write_buffer(
            queue.get(),
            memory.handle(),
            CL_BLOCKING,
            offset,
            bytes.len(),
            bytes.as_ptr().cast(),
            0,
            ptr::null(),
        )
    }
    .map_err(|code| OpenclError::of_code(code, doing()))?;
    drop(opencl3::event::Event::new(event));
    Ok(())
}

/// Reads as many bytes as `bytes` has from position `offset` on, and waits until it is done.
pub fn read(
    queue: &CommandQueue,
    memory: &Memory,
    offset: usize,
    bytes: &mut [u8],
) -> Result<(), OpenclError> {
    let doing = format!("reading {} bytes", bytes.len());
    // SAFETY: the call blocks, so `bytes` outlives it; OpenCL refuses what does not fit the buffer.
    #[expect(unsafe_code, reason = "reading is unsafe by signature")]
    let event =
        unsafe { queue.enqueue_read_buffer(&memory.buffer, CL_BLOCKING, offset, bytes, &[]) };
    drop(event.doing(|| doing)?);
    Ok(())
}
