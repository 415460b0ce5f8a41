//! Memory of core's own: aligned to 64 bytes, always initialised.

use std::alloc;
use std::ptr::NonNull;

use crate::{Error, HOST};

/// What every buffer is aligned to, in bytes: a cache line, and what XLA asks for.
pub(super) const ALIGNMENT: usize = 64;

/// A run of initialised bytes.
pub(super) struct Buffer {
    pointer: NonNull<u8>,
    layout: alloc::Layout,
}

// SAFETY: the buffer owns its bytes; nothing about them belongs to a thread.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Returns a buffer of at least `nbytes` bytes, all zero.
    pub(super) fn zeroed(nbytes: usize) -> Result<Buffer, Error> {
        let full = || Error::OutOfMemory {
            library: "host memory",
            device: HOST,
            requested: Some(nbytes),
            available: None,
        };
        let layout =
            alloc::Layout::from_size_align(nbytes.max(1), ALIGNMENT).map_err(|_| full())?;
        // SAFETY: the size is not zero.
        let pointer = unsafe { alloc::alloc_zeroed(layout) };
        let pointer = NonNull::new(pointer).ok_or_else(full)?;
        Ok(Buffer { pointer, layout })
    }

    /// Returns a buffer of at least `nbytes` bytes of any value.
    pub(super) fn scratch(nbytes: usize) -> Result<Buffer, Error> {
        Buffer::zeroed(nbytes)
    }

    pub(super) fn pointer(&self) -> NonNull<u8> {
        self.pointer
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `zeroed` with this layout, and not used after this.
        unsafe { alloc::dealloc(self.pointer.as_ptr(), self.layout) };
    }
}
