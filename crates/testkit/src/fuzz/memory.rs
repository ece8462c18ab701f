//! How much memory a call needs at most, counted by the allocator, so that a bound on it is a test that says the same on every machine.
//!
//! A test binary installs [`Counting`] as its global allocator; counts are those of one thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, counted.
#[derive(Debug)]
pub struct Counting;

/// What `call` returns, and the most bytes that this thread held during it beyond what it held before.
///
/// It is zero where [`Counting`] is not the global allocator.
pub fn peak<T>(call: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.get();
    PEAK.set(before);
    let value = call();
    let most = PEAK.get().saturating_sub(before);
    (value, usize::try_from(most).unwrap_or(0))
}

fn count(bytes: usize, is_new: bool) {
    // Sizes are at most `isize::MAX`, as `Layout` holds.
    let bytes = bytes.cast_signed();
    // A thread that ends frees what it holds behind its counters.
    let _ = LIVE.try_with(|live| {
        live.set(live.get() + if is_new { bytes } else { -bytes });
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: every call goes on to the system's allocator unchanged; counting touches two cells of the thread and allocates nothing.
#[expect(unsafe_code, reason = "an allocator is unsafe by signature")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), true);
        // SAFETY: the caller's promise about `layout` is the one that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(layout.size(), false);
        // SAFETY: the pointer came from `System` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), true);
        // SAFETY: as for `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Old and new place may exist at once.
        count(size, true);
        // SAFETY: the pointer came from `System` with this layout, and the caller's promise about `size` is the one that `System` asks for.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        count(layout.size(), false);
        moved
    }
}
