//! Buffers of devices that share the host's memory, mapped.

use std::ptr;
use std::slice;

use opencl3::command_queue::{CommandQueue, enqueue_map_buffer, enqueue_unmap_mem_object};
use opencl3::event::Event;
use opencl3::memory::{CL_MAP_READ, CL_MAP_WRITE_INVALIDATE_REGION};
use opencl3::types::CL_BLOCKING;

use crate::opencl::{Doing, Memory, OpenclError};

/// What is done with the mapped bytes.
#[derive(Clone, Copy)]
pub(super) enum Access {
    Read,
    Write,
}

/// Maps the first bytes of a buffer while `work` runs.
pub(super) fn with_mapped(
    queue: &CommandQueue,
    memory: &Memory,
    bytes: usize,
    access: Access,
    work: impl FnOnce(&mut [u8]) -> Result<(), OpenclError>,
) -> Result<(), OpenclError> {
    let flags = match access {
        Access::Read => CL_MAP_READ,
        Access::Write => CL_MAP_WRITE_INVALIDATE_REGION,
    };
    let mut mapped = ptr::null_mut();
    // SAFETY: the call blocks; OpenCL refuses what lies outside of the buffer.
    #[expect(unsafe_code, reason = "mapping is unsafe by signature")]
    let event = unsafe {
        enqueue_map_buffer(
            queue.get(),
            memory.handle(),
            CL_BLOCKING,
            flags,
            0,
            bytes,
            &raw mut mapped,
            0,
            ptr::null(),
        )
    };
    drop(Event::new(event.map_err(|code| {
        OpenclError::of_code(code, format!("mapping {bytes} bytes"))
    })?));
    // SAFETY: the driver mapped so many bytes, and nobody else uses them until they are unmapped.
    #[expect(unsafe_code, reason = "mapped memory comes as a pointer")]
    let slice = unsafe { slice::from_raw_parts_mut(mapped.cast::<u8>(), bytes) };
    let done = work(slice);
    // SAFETY: it is mapped, and `slice` is not used any more.
    #[expect(unsafe_code, reason = "unmapping is unsafe by signature")]
    let event = unsafe {
        enqueue_unmap_mem_object(queue.get(), memory.handle(), mapped, 0, ptr::null())
    };
    let event = event.map_err(|code| OpenclError::of_code(code, "unmapping"))?;
    Event::new(event).wait().doing(|| "unmapping".to_owned())?;
    done
}
