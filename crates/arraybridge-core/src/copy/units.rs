//! Copies of separate units, whatever their strides.

use smallvec::SmallVec;

use super::plan::{Axis, Plan};
use super::transpose;

/// The unit of a size known at run time only.
pub(super) const ANY: usize = 0;

/// Units from this many bytes on fill cache lines on their own: their order does not matter.
const ORDER_MATTERS_BELOW: usize = 64;

/// Copies all units of a plan that has axes left. `UNIT` is the plan's unit in bytes, or [`ANY`].
///
/// # Safety
/// The plan's units are readable at `source` and writable at `target`; no target unit overlaps
/// another or a source unit.
pub(super) unsafe fn copy<const UNIT: usize>(source: *const u8, target: *mut u8, plan: &Plan) {
    let last = plan.axes.len() - 1;
    if plan.source_fastest != last && plan.unit < ORDER_MATTERS_BELOW {
        // SAFETY: this function's contract.
        return unsafe { transpose::copy::<UNIT>(source, target, plan) };
    }
    each(&plan.axes[..last], source, target, |source, target| {
        // SAFETY: the units along the last axis, at one index of the others.
        unsafe { line::<UNIT>(source, target, plan.axes[last], plan.unit) };
    });
}

/// Calls `copy` with the place in source and target of every index of `axes`, the last fastest.
pub(super) fn each(
    axes: &[Axis],
    source: *const u8,
    target: *mut u8,
    mut copy: impl FnMut(*const u8, *mut u8),
) {
    let mut index: SmallVec<[usize; 6]> = SmallVec::from_elem(0, axes.len());
    let (mut source, mut target) = (source, target);
    loop {
        copy(source, target);
        let mut place = axes.len();
        loop {
            if place == 0 {
                return;
            }
            place -= 1;
            let axis = axes[place];
            index[place] += 1;
            if index[place] < axis.length {
                source = source.wrapping_offset(axis.source);
                target = target.wrapping_offset(axis.target);
                break;
            }
            // Back to the start of this axis, and on with the next slower one.
            index[place] = 0;
            let steps = axis.length as isize - 1;
            source = source.wrapping_offset(-axis.source * steps);
            target = target.wrapping_offset(-axis.target * steps);
        }
    }
}

/// Copies units along one axis. `unit` is their size in bytes, and `UNIT` too unless it is [`ANY`].
///
/// # Safety
/// As [`copy`], for the axis' units.
#[inline]
pub(super) unsafe fn line<const UNIT: usize>(
    source: *const u8,
    target: *mut u8,
    axis: Axis,
    unit: usize,
) {
    let Axis { length, source: from, target: to } = axis;
    let size = if UNIT == ANY { unit } else { UNIT };
    let step = size as isize;
    // Literal strides let the compiler use vector instructions; these are a repeated element, a
    // reversed axis and every second element.
    if UNIT != ANY && to == step && from == 0 {
        // SAFETY: this function's contract; the strides are the axis'.
        unsafe { walk(source, target, length, 0, step, size) };
    } else if UNIT != ANY && to == step && from == -step {
        // SAFETY: as above.
        unsafe { walk(source, target, length, -step, step, size) };
    } else if UNIT != ANY && to == step && from == 2 * step {
        // SAFETY: as above.
        unsafe { walk(source, target, length, 2 * step, step, size) };
    } else {
        // SAFETY: as above.
        unsafe { walk(source, target, length, from, to, size) };
    }
}

/// Copies `length` units of `size` bytes.
///
/// # Safety
/// As [`line`].
#[inline(always)]
unsafe fn walk(
    source: *const u8,
    target: *mut u8,
    length: usize,
    source_stride: isize,
    target_stride: isize,
    size: usize,
) {
    for place in 0..length as isize {
        let from = source.wrapping_offset(place * source_stride);
        let to = target.wrapping_offset(place * target_stride);
        // SAFETY: one of the units that the caller vouches for.
        unsafe { std::ptr::copy_nonoverlapping(from, to, size) };
    }
}
