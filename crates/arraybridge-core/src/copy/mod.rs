//! Copies between strided layouts.

/// Copies every element of one strided array to its place in another of the same shape.
///
/// # Safety
/// For `shape`, `size`-byte elements at `source` with `source_strides` are readable, those at
/// `target` with `target_strides` writable and not read by anyone else meanwhile; no two target
/// elements overlap, and no target element overlaps a source element. Strides count elements, and
/// neither pointer need be aligned.
pub(crate) unsafe fn copy_strided(
    source: *const u8,
    source_strides: &[isize],
    target: *mut u8,
    target_strides: &[isize],
    shape: &[usize],
    size: usize,
) {
    let Some((&length, inner)) = shape.split_first() else {
        // SAFETY: one element of `size` bytes at each pointer, by this function's contract.
        return unsafe { std::ptr::copy_nonoverlapping(source, target, size) };
    };
    for index in 0..length as isize {
        // Offsets lie inside the arrays; wrapping arithmetic needs no proof of it.
        let from = source.wrapping_offset(index * source_strides[0] * size as isize);
        let to = target.wrapping_offset(index * target_strides[0] * size as isize);
        // SAFETY: the sub-array at this index is part of both arrays.
        unsafe { copy_strided(from, &source_strides[1..], to, &target_strides[1..], inner, size) };
    }
}
