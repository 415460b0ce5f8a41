//! Copies between strided layouts.
//!
//! [`plan`] reduces both layouts to as few axes as possible and finds the largest unit that moves in
//! one piece. If that is not everything, [`units`] walks the axes that are left.
//! Where source and target disagree on which axis is fastest, [`transpose`] does so in blocks, by
//! [`avx2`] where the CPU has it.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod plan;
mod transpose;
mod units;

use plan::Plan;

/// Copies every element of one strided array to its place in another of the same shape.
///
/// # Safety
/// For `shape`, `size`-byte elements at `source` with `source_strides` are readable, those at
/// `target` with `target_strides` writable and not read by anyone else meanwhile; no two target
/// elements overlap, and no target element overlaps a source element. The slices are of one length.
/// Strides count elements, and neither pointer need be aligned.
pub(crate) unsafe fn copy_strided(
    source: *const u8,
    source_strides: &[isize],
    target: *mut u8,
    target_strides: &[isize],
    shape: &[usize],
    size: usize,
) {
    let Some(plan) = Plan::new(source_strides, target_strides, shape, size) else { return };
    let source = source.wrapping_offset(plan.source);
    let target = target.wrapping_offset(plan.target);
    if plan.axes.is_empty() {
        // Stores past the caches were measured here too: up to three times slower than this.
        // SAFETY: all elements lie in one run of `unit` bytes in both arrays.
        return unsafe { std::ptr::copy_nonoverlapping(source, target, plan.unit) };
    }
    let copy = match plan.unit {
        1 => units::copy::<1>,
        2 => units::copy::<2>,
        3 => units::copy::<3>,
        4 => units::copy::<4>,
        6 => units::copy::<6>,
        8 => units::copy::<8>,
        12 => units::copy::<12>,
        16 => units::copy::<16>,
        24 => units::copy::<24>,
        32 => units::copy::<32>,
        _ => units::copy::<{ units::ANY }>,
    };
    // SAFETY: the plan addresses the same bytes as the arguments, which this function's caller
    // vouches for; the function is the one for this unit.
    unsafe { copy(source, target, &plan) };
}
