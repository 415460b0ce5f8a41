//! Copies where source and target disagree on which axis is fastest.
//!
//! Walked in either's order, the other would be read or written one unit per cache line. So both are
//! walked in blocks small enough that a line stays in cache until all of it is used.

use smallvec::SmallVec;

use super::plan::{Axis, Plan};
use super::units;

/// Units per side of the blocks that are copied unit by unit.
const BLOCK: usize = 16;

/// Bytes of a cache line.
pub(super) const LINE: usize = 64;

/// Target size in bytes from which stores bypass the caches.
///
/// Below it the target is likely to be read from cache soon; above it, not reading the target's
/// lines before overwriting them saves a third of the memory traffic.
const STREAM_FROM: usize = 8 << 20;

/// Target size in bytes from which it pays to ask for the target's lines ahead.
const PREFETCH_FROM: usize = 1 << 20;

/// How tiles are stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stores {
    /// As they come.
    Plain,
    /// With the lines of the target asked for ahead: walking across the target's rows defeats the
    /// CPU's own prefetching, and a store that misses holds up all later ones.
    Prefetched,
    /// Past the caches, in whole lines (a part of a line costs far more than it saves).
    Streamed,
}

/// The units of two axes: `along` is the target's fastest axis, `across` the source's.
#[derive(Clone, Copy)]
pub(super) struct Plane {
    pub(super) source: *const u8,
    pub(super) target: *mut u8,
    pub(super) along: Axis,
    pub(super) across: Axis,
}

impl Plane {
    /// Returns the part that starts at these places of the axes and is this long.
    pub(super) fn part(self, along: (usize, usize), across: (usize, usize)) -> Plane {
        let (first, second) = (along.0 as isize, across.0 as isize);
        Plane {
            source: self
                .source
                .wrapping_offset(first * self.along.source + second * self.across.source),
            target: self
                .target
                .wrapping_offset(first * self.along.target + second * self.across.target),
            along: Axis { length: along.1, ..self.along },
            across: Axis { length: across.1, ..self.across },
        }
    }
}

/// Copies all units of a plan whose `source_fastest` is not the last axis.
///
/// # Safety
/// As [`units::copy`].
pub(super) unsafe fn copy<const UNIT: usize>(source: *const u8, target: *mut u8, plan: &Plan) {
    let last = plan.axes.len() - 1;
    let (along, across) = (plan.axes[last], plan.axes[plan.source_fastest]);
    let mut outer: SmallVec<[Axis; 6]> = plan.axes[..last].into();
    outer.remove(plan.source_fastest);

    let stores = choose_stores(plan, target);
    // Streaming, all planes are done one line of the target's fastest axis at a time, starting where
    // a line starts: the source is then read in long runs, and no line of the target is met twice.
    let (first, step) = if stores == Stores::Streamed {
        ((target.addr().wrapping_neg() % LINE) / plan.unit, LINE / plan.unit)
    } else {
        (0, along.length)
    };
    let mut start = 0;
    while start < along.length {
        let length = if start < first { first } else { step }.min(along.length - start);
        units::each(&outer, source, target, |source, target| {
            let plane = Plane { source, target, along, across };
            let stripe = plane.part((start, length), (0, across.length));
            // SAFETY: units of two axes, at one index of the others.
            unsafe { copy_plane::<UNIT>(stripe, plan.unit, stores) };
        });
        start += length;
    }
}

fn choose_stores(plan: &Plan, target: *mut u8) -> Stores {
    let last = plan.axes.len() - 1;
    let nbytes = plan.axes.iter().map(|axis| axis.length).product::<usize>() * plan.unit;
    if nbytes < PREFETCH_FROM {
        return Stores::Plain;
    }
    let across = plan.axes[plan.source_fastest];
    let tiled = tiles(plan.unit, plan.axes[last], across) && across.length * plan.unit >= LINE;
    let whole_lines = plan.axes[..last].iter().all(|axis| axis.target % LINE as isize == 0)
        && target.addr().is_multiple_of(plan.unit);
    if nbytes >= STREAM_FROM && tiled && whole_lines {
        Stores::Streamed
    } else {
        Stores::Prefetched
    }
}

/// Returns whether [`avx2`](super::avx2) can copy (most of) a plane of these axes here.
fn tiles(unit: usize, along: Axis, across: Axis) -> bool {
    #[cfg(target_arch = "x86_64")]
    let available = super::avx2::available();
    #[cfg(not(target_arch = "x86_64"))]
    let available = false;
    let step = unit as isize;
    available && matches!(unit, 1 | 2 | 4 | 8 | 16) && along.target == step && across.source == step
}

/// Copies a plane: by vector instructions as far as whole tiles reach, else in blocks.
///
/// # Safety
/// As [`units::copy`], for the plane's units.
unsafe fn copy_plane<const UNIT: usize>(plane: Plane, unit: usize, stores: Stores) {
    let (along, across) = (plane.along.length, plane.across.length);
    let (mut long, mut wide) = (0, 0);
    #[cfg(target_arch = "x86_64")]
    if UNIT != units::ANY && tiles(UNIT, plane.along, plane.across) {
        let (tile_long, tile_wide) = super::avx2::tile(UNIT);
        (long, wide) = (along / tile_long * tile_long, across / tile_wide * tile_wide);
        // Streaming, the stripe before the first whole line and the one behind the last are short.
        let whole = long * UNIT == LINE || stores != Stores::Streamed;
        let stores = if whole { stores } else { Stores::Plain };
        // SAFETY: `tiles` found AVX2 and the contiguous axes; the lengths are whole tiles.
        unsafe { super::avx2::copy::<UNIT>(plane.part((0, long), (0, wide)), stores) };
    }
    // SAFETY: what lies behind the tiles along the target's fastest axis.
    unsafe { blocks::<UNIT>(plane.part((long, along - long), (0, wide)), unit) };
    // SAFETY: what lies beside them.
    unsafe { blocks::<UNIT>(plane.part((0, along), (wide, across - wide)), unit) };
}

/// Copies a plane in square blocks, unit by unit.
///
/// # Safety
/// As [`units::copy`], for the plane's units.
unsafe fn blocks<const UNIT: usize>(plane: Plane, unit: usize) {
    // Lines along the longer axis: a short one costs more to start than to copy.
    let lengthwise = plane.along.length >= BLOCK.min(plane.across.length);
    let (lines, line) =
        if lengthwise { (plane.across, plane.along) } else { (plane.along, plane.across) };
    for first in (0..lines.length).step_by(BLOCK) {
        let last = lines.length.min(first + BLOCK);
        for start in (0..line.length).step_by(BLOCK) {
            let part = Axis { length: BLOCK.min(line.length - start), ..line };
            for place in first as isize..last as isize {
                let start = start as isize;
                let source =
                    plane.source.wrapping_offset(place * lines.source + start * line.source);
                let target =
                    plane.target.wrapping_offset(place * lines.target + start * line.target);
                // SAFETY: these units are part of the plane.
                unsafe { units::line::<UNIT>(source, target, part, unit) };
            }
        }
    }
}
