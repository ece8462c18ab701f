//! Bytes of the host that devices can use in place: aligned and padded as drivers ask for it.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::ptr::NonNull;

/// A page, which satisfies every driver.
const ALIGNMENT: usize = 4096;
/// Drivers share memory only in multiples of a cache line.
const GRANULE: usize = 64;

/// Aligned bytes of the host.
#[derive(Debug)]
pub(super) struct HostBytes {
    pointer: NonNull<u8>,
    layout: Layout,
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
        Some(Self { pointer, layout })
    }

    /// Where they lie.
    pub(super) fn pointer(&self) -> *mut c_void {
        self.pointer.as_ptr().cast()
    }
}

impl Drop for HostBytes {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        #[expect(unsafe_code, reason = "aligned allocation is unsafe by signature")]
        unsafe {
            dealloc(self.pointer.as_ptr(), self.layout);
        }
    }
}
