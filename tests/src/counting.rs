//! A global allocator that counts what one thread allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counting per thread: `#[global_allocator] static A: Counting = Counting;`.
#[derive(Debug)]
pub struct Counting;

/// What a thread allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// How often memory was asked for, reallocations included.
    pub count: usize,
    /// The bytes of the largest request.
    pub largest: usize,
}

thread_local! {
    static TALLY: Cell<Tally> = const { Cell::new(Tally { count: 0, largest: 0 }) };
}

/// Returns what a closure returns and what it allocated on this thread.
pub fn tally<R>(body: impl FnOnce() -> R) -> (R, Tally) {
    let outer = TALLY.replace(Tally::default());
    let result = body();
    (result, TALLY.replace(outer))
}

fn note(layout: Layout) {
    // A thread that ends has no tally any more.
    let _ = TALLY.try_with(|tally| {
        let seen = tally.get();
        let largest = seen.largest.max(layout.size());
        tally.set(Tally { count: seen.count + 1, largest });
    });
}

// SAFETY: every method forwards to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout);
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(Layout::from_size_align(size, layout.align()).unwrap_or(layout));
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}
