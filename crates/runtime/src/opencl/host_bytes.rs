//! Bytes of the host that devices can use in place: aligned and padded as drivers ask for it, or pinned by the driver of a device that
//! copies them.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::ptr::{self, NonNull};

use opencl3::command_queue::CommandQueue;
use opencl3::context::Context as ClContext;
use opencl3::memory::{
    Buffer, CL_MAP_READ, CL_MAP_WRITE, CL_MEM_ALLOC_HOST_PTR, CL_MEM_READ_WRITE, ClMem,
};
use opencl3::types::CL_BLOCKING;

use super::{Doing, OpenclError};

/// A page, which satisfies every driver.
const ALIGNMENT: usize = 4096;
/// Drivers share memory only in multiples of a cache line.
const GRANULE: usize = 64;

/// Aligned bytes of the host.
#[derive(Debug)]
pub(super) struct HostBytes {
    pointer: NonNull<u8>,
    owner: Owner,
}

#[derive(Debug)]
enum Owner {
    Us(Layout),
    /// A mapped buffer of a driver, and a queue to unmap it.
    Driver(Buffer<u8>, CommandQueue),
}

// SAFETY: the bytes are owned; whoever touches them waits for the commands that do.
#[expect(unsafe_code, reason = "owned memory behind a raw pointer")]
unsafe impl Send for HostBytes {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "owned memory behind a raw pointer")]
unsafe impl Sync for HostBytes {}

impl HostBytes {
    /// At least `bytes` bytes, all zero; `None` if there is no memory.
    pub(super) fn zeroed(bytes: usize) -> Option<Self> {
        let padded = bytes.max(1).checked_next_multiple_of(GRANULE)?;
        let layout = Layout::from_size_align(padded, ALIGNMENT).ok()?;
        // SAFETY: the size is not zero.
        #[expect(unsafe_code, reason = "aligned allocation is unsafe by signature")]
        let pointer = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let owner = Owner::Us(layout);
        Some(Self { pointer, owner })
    }

    /// The same in memory that the driver of `context` pins, so that its device copies there and from there by itself.
    pub(super) fn pinned(
        context: &ClContext,
        queue: CommandQueue,
        bytes: usize,
    ) -> Result<Self, OpenclError> {
        let doing = || format!("pinning {bytes} bytes");
        let padded = bytes.max(1).next_multiple_of(GRANULE);
        let flags = CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR;
        // SAFETY: the driver allocates.
        #[expect(unsafe_code, reason = "creating a buffer is unsafe by signature")]
        let buffer = unsafe { Buffer::<u8>::create(context, flags, padded, ptr::null_mut()) }
            .doing(doing)?;
        let mut mapped = ptr::null_mut();
        let access = CL_MAP_READ | CL_MAP_WRITE;
        // SAFETY: the whole buffer is mapped, and stays so until it is dropped.
        #[expect(unsafe_code, reason = "mapping is unsafe by signature")]
        let event = unsafe {
            queue.enqueue_map_buffer(&buffer, CL_BLOCKING, access, 0, padded, &mut mapped, &[])
        };
        drop(event.doing(doing)?);
        let pointer =
            NonNull::new(mapped.cast::<u8>()).ok_or_else(|| OpenclError::OutOfMemory {
                doing: doing(),
                name: "mapped to nothing".to_owned(),
            })?;
        // SAFETY: so many bytes are mapped.
        #[expect(unsafe_code, reason = "mapped memory is behind a raw pointer")]
        unsafe {
            pointer.write_bytes(0, padded);
        }
        let owner = Owner::Driver(buffer, queue);
        Ok(Self { pointer, owner })
    }

    /// Where they lie.
    pub(super) fn pointer(&self) -> *mut c_void {
        self.pointer.as_ptr().cast()
    }
}

impl Drop for HostBytes {
    fn drop(&mut self) {
        match &self.owner {
            Owner::Us(layout) => {
                // SAFETY: allocated with this layout.
                #[expect(unsafe_code, reason = "aligned allocation is unsafe by signature")]
                unsafe {
                    dealloc(self.pointer.as_ptr(), *layout);
                }
            }
            Owner::Driver(buffer, queue) => {
                let mapped = self.pointer.as_ptr().cast();
                // SAFETY: mapped there, and nobody uses it any more.
                #[expect(unsafe_code, reason = "unmapping is unsafe by signature")]
                let unmapped = unsafe { queue.enqueue_unmap_mem_object(buffer.get(), mapped, &[]) };
                // A driver that fails here keeps its memory.
                let _left = unmapped.map(|event| event.wait());
            }
        }
    }
}
