//! Memory of core's own: aligned to 64 bytes, from the pool where it is large.

use std::alloc;
use std::ptr::NonNull;

use super::pages::Pages;
use super::pool;
use crate::{Error, HOST};

/// What every buffer is aligned to, in bytes: a cache line, and what XLA asks for.
pub(super) const ALIGNMENT: usize = 64;

/// Buffers from this size in bytes on are mapped from the system and kept in the pool. Smaller ones
/// are the allocator's business, which is good at them.
const POOLED_FROM: usize = 256 << 10;

/// A run of bytes.
pub(super) struct Buffer(Memory);

enum Memory {
    Small {
        pointer: NonNull<u8>,
        layout: alloc::Layout,
    },
    /// `None` only while dropped.
    Pooled(Option<Pages>),
}

// SAFETY: the buffer owns its bytes; nothing about them belongs to a thread.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Returns a buffer of at least `nbytes` bytes, all zero.
    pub(super) fn zeroed(nbytes: usize) -> Result<Buffer, Error> {
        if nbytes < POOLED_FROM {
            // SAFETY: `small` passes a layout that is not empty.
            return Buffer::small(nbytes, |layout| unsafe { alloc::alloc_zeroed(layout) });
        }
        let (pages, fresh) = pool::take(nbytes).ok_or_else(|| out_of_memory(nbytes))?;
        if !fresh {
            // SAFETY: the pages are at least `nbytes` long, and nobody else's.
            unsafe { pages.pointer().write_bytes(0, nbytes) };
        }
        Ok(Buffer(Memory::Pooled(Some(pages))))
    }

    /// Returns a buffer of at least `nbytes` initialised bytes of any value.
    pub(super) fn scratch(nbytes: usize) -> Result<Buffer, Error> {
        if nbytes < POOLED_FROM { Buffer::zeroed(nbytes) } else { Buffer::to_fill(nbytes) }
    }

    /// Returns a buffer of at least `nbytes` bytes that must be written before they are read.
    pub(super) fn to_fill(nbytes: usize) -> Result<Buffer, Error> {
        if nbytes < POOLED_FROM {
            // SAFETY: `small` passes a layout that is not empty.
            return Buffer::small(nbytes, |layout| unsafe { alloc::alloc(layout) });
        }
        let (pages, _) = pool::take(nbytes).ok_or_else(|| out_of_memory(nbytes))?;
        Ok(Buffer(Memory::Pooled(Some(pages))))
    }

    fn small(
        nbytes: usize,
        allocate: impl FnOnce(alloc::Layout) -> *mut u8,
    ) -> Result<Buffer, Error> {
        let layout = alloc::Layout::from_size_align(nbytes.max(1), ALIGNMENT)
            .map_err(|_| out_of_memory(nbytes))?;
        let pointer = NonNull::new(allocate(layout)).ok_or_else(|| out_of_memory(nbytes))?;
        Ok(Buffer(Memory::Small { pointer, layout }))
    }

    pub(super) fn pointer(&self) -> NonNull<u8> {
        match &self.0 {
            Memory::Small { pointer, .. } => *pointer,
            Memory::Pooled(pages) => pages.as_ref().map_or(NonNull::dangling(), Pages::pointer),
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        match &mut self.0 {
            Memory::Small { pointer, layout } => {
                // SAFETY: allocated in `small` with this layout, and not used after this.
                unsafe { alloc::dealloc(pointer.as_ptr(), *layout) };
            }
            Memory::Pooled(pages) => pool::give_back(pages.take()),
        }
    }
}

fn out_of_memory(nbytes: usize) -> Error {
    Error::OutOfMemory {
        library: "host memory",
        device: HOST,
        requested: Some(nbytes),
        available: None,
    }
}
