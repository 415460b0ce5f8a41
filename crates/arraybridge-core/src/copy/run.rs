//! Copies of one contiguous run.

/// Copies `nbytes` bytes.
///
/// # Safety
/// The bytes are readable at `source`, writable at `target`, and do not overlap.
pub(super) unsafe fn copy(source: *const u8, target: *mut u8, nbytes: usize) {
    // SAFETY: this function's contract.
    unsafe { std::ptr::copy_nonoverlapping(source, target, nbytes) };
}
