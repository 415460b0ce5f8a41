//! Large memory from the system, in huge pages where it has them.

use std::ptr::NonNull;

/// A run of initialised bytes of a whole number of pages.
pub(super) struct Pages {
    pointer: NonNull<u8>,
    nbytes: usize,
}

// SAFETY: the pages are owned; nothing about them belongs to a thread.
unsafe impl Send for Pages {}

impl Pages {
    /// Returns `nbytes` bytes, all zero, or `None` if there is no memory for them.
    ///
    /// `nbytes` is not zero. Large sizes are placed for huge pages: a page
    /// fault for every 4 KiB costs more than a copy into the memory does.
    pub(super) fn zeroed(nbytes: usize) -> Option<Pages> {
        system::map(nbytes).map(|pointer| Pages { pointer, nbytes })
    }

    pub(super) fn pointer(&self) -> NonNull<u8> {
        self.pointer
    }

    pub(super) fn nbytes(&self) -> usize {
        self.nbytes
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped in `zeroed` with this size, and not used after this.
        unsafe { system::unmap(self.pointer, self.nbytes) };
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use std::ptr::{self, NonNull};

    /// Bytes of a huge page on the common architectures.
    pub(super) const HUGE: usize = 2 << 20;

    pub(super) fn map(nbytes: usize) -> Option<NonNull<u8>> {
        if nbytes < HUGE {
            return anonymous(nbytes);
        }
        // A mapping starts at any page: take a huge page more, and cut it to size.
        let start = anonymous(nbytes.checked_add(HUGE)?)?;
        let before = start.addr().get().wrapping_neg() % HUGE;
        let pointer = start.as_ptr().wrapping_add(before);
        if before > 0 {
            // SAFETY: the first `before` bytes of the mapping, which nothing uses.
            unsafe { unmap(start, before) };
        }
        let end = NonNull::new(pointer.wrapping_add(nbytes))?;
        if let rest @ 1.. = HUGE - before {
            // SAFETY: the last bytes of the mapping, which nothing uses.
            unsafe { unmap(end, rest) };
        }
        // Advice: where the system has no huge pages it fails, and nothing is lost.
        // SAFETY: the mapping is ours.
        unsafe { libc::madvise(pointer.cast(), nbytes, libc::MADV_HUGEPAGE) };
        NonNull::new(pointer)
    }

    fn anonymous(nbytes: usize) -> Option<NonNull<u8>> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping of no file, wherever the system likes.
        let start = unsafe { libc::mmap(ptr::null_mut(), nbytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast()) }
    }

    /// # Safety
    /// The bytes are whole pages of a mapping made by `map`, and not used after this.
    pub(super) unsafe fn unmap(pointer: NonNull<u8>, nbytes: usize) {
        // Fails only for what is no mapping; there would be nothing to do about it.
        // SAFETY: this function's contract.
        unsafe { libc::munmap(pointer.as_ptr().cast(), nbytes) };
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    use std::alloc;
    use std::ptr::NonNull;

    use crate::host::buffer::ALIGNMENT;

    pub(super) fn map(nbytes: usize) -> Option<NonNull<u8>> {
        let layout = alloc::Layout::from_size_align(nbytes, ALIGNMENT).ok()?;
        // SAFETY: `nbytes` is not zero.
        NonNull::new(unsafe { alloc::alloc_zeroed(layout) })
    }

    /// # Safety
    /// The bytes were allocated by `map` with this size, and are not used after this.
    pub(super) unsafe fn unmap(pointer: NonNull<u8>, nbytes: usize) {
        if let Ok(layout) = alloc::Layout::from_size_align(nbytes, ALIGNMENT) {
            // SAFETY: this function's contract; it is the layout of `map`.
            unsafe { alloc::dealloc(pointer.as_ptr(), layout) };
        }
    }
}
