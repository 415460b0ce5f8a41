//! Transposes of whole tiles by AVX2.
//!
//! A 16-byte lane holds `16 / UNIT` units. Interleaving the upper half of that many rows with the
//! lower half, log2 of that many times, transposes them: each interleaving rotates the bits of
//! (row, column) by one. Two lanes, of rows that far apart, make 32 bytes of a target row, and two
//! of those a cache line.

use std::arch::x86_64::*;

use super::transpose::{LINE, Plane, Stores};

/// How many target rows ahead lines are asked for.
const AHEAD: isize = 32;

/// Returns whether this CPU has the instructions.
pub(super) fn available() -> bool {
    is_x86_feature_detected!("avx2")
}

/// Returns the lengths in units, along and across, of the smallest tile.
pub(super) fn tile(unit: usize) -> (usize, usize) {
    (32 / unit, 16 / unit)
}

/// Copies a plane whose `along` is contiguous in the target and whose `across` is contiguous in the
/// source.
///
/// # Safety
/// - The plane's units are as in [`super::units::copy`], and `UNIT` bytes each: 1, 2, 4, 8 or 16.
/// - The lengths are multiples of [`tile`]'s, and the CPU has AVX2.
/// - To stream, the plane is one [`LINE`] long, and all target rows start at a multiple of that.
pub(super) unsafe fn copy<const UNIT: usize>(plane: Plane, stores: Stores) {
    match UNIT {
        // SAFETY: this function's contract, with the number of units in 16 bytes.
        1 => unsafe { copy_tiles::<1, 16>(plane, stores) },
        // SAFETY: as above.
        2 => unsafe { copy_tiles::<2, 8>(plane, stores) },
        // SAFETY: as above.
        4 => unsafe { copy_tiles::<4, 4>(plane, stores) },
        // SAFETY: as above.
        8 => unsafe { copy_tiles::<8, 2>(plane, stores) },
        // SAFETY: as above.
        _ => unsafe { copy_tiles::<16, 1>(plane, stores) },
    }
}

/// # Safety
/// As [`copy`]; `LANE` is `16 / UNIT`.
#[target_feature(enable = "avx2")]
unsafe fn copy_tiles<const UNIT: usize, const LANE: usize>(plane: Plane, stores: Stores) {
    let side = LINE / UNIT;
    for first in (0..plane.along.length).step_by(side) {
        let length = side.min(plane.along.length - first);
        for start in (0..plane.across.length).step_by(LANE) {
            let tile = plane.part((first, length), (start, LANE));
            if length < side {
                // SAFETY: half a tile.
                unsafe { copy_half_lines::<UNIT, LANE>(tile) };
            } else {
                // SAFETY: a tile.
                unsafe { copy_lines::<UNIT, LANE>(tile, stores) };
            }
        }
    }
    if stores == Stores::Streamed {
        // What was streamed is written before anything after this.
        _mm_sfence();
    }
}

/// Copies `LANE` target rows of 64 bytes.
///
/// # Safety
/// As [`copy`].
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn copy_lines<const UNIT: usize, const LANE: usize>(tile: Plane, stores: Stores) {
    let (source, rows) = (tile.source, tile.along.source);
    // SAFETY: the first half of the rows.
    let near = unsafe { lanes::<UNIT, LANE>(source, rows) };
    // SAFETY: the second half.
    let far =
        unsafe { lanes::<UNIT, LANE>(source.wrapping_offset(2 * LANE as isize * rows), rows) };
    for (place, (near, far)) in near.into_iter().zip(far).enumerate() {
        let start = tile.target.wrapping_offset(place as isize * tile.across.target);
        let middle = start.wrapping_add(32);
        if stores == Stores::Streamed {
            // SAFETY: the first half of a line of the target, which starts at a multiple of 64.
            unsafe { _mm256_stream_si256(start.cast(), near) };
            // SAFETY: the second half.
            unsafe { _mm256_stream_si256(middle.cast(), far) };
        } else {
            if stores == Stores::Prefetched {
                let ahead = start.wrapping_offset(AHEAD * tile.across.target);
                // The line in which this row ends: the one in which it starts was met before.
                let ahead = ahead.wrapping_add(LINE - 1).cast_const().cast();
                // SAFETY: any address may be prefetched (newer toolchains know this).
                #[allow(unused_unsafe)]
                unsafe {
                    _mm_prefetch::<_MM_HINT_ET0>(ahead)
                };
            }
            // SAFETY: the first 32 bytes of a row of the tile.
            unsafe { _mm256_storeu_si256(start.cast(), near) };
            // SAFETY: the second 32 bytes.
            unsafe { _mm256_storeu_si256(middle.cast(), far) };
        }
    }
}

/// Copies `LANE` target rows of 32 bytes.
///
/// # Safety
/// As [`copy`].
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn copy_half_lines<const UNIT: usize, const LANE: usize>(tile: Plane) {
    // SAFETY: all rows of the tile.
    let rows = unsafe { lanes::<UNIT, LANE>(tile.source, tile.along.source) };
    for (place, row) in rows.into_iter().enumerate() {
        let target = tile.target.wrapping_offset(place as isize * tile.across.target);
        // SAFETY: 32 bytes of a row of the tile.
        unsafe { _mm256_storeu_si256(target.cast(), row) };
    }
}

/// Transposes 16 bytes of each of `2 * LANE` rows.
///
/// # Safety
/// As [`copy`].
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn lanes<const UNIT: usize, const LANE: usize>(
    source: *const u8,
    stride: isize,
) -> [__m256i; LANE] {
    let mut rows = [_mm256_setzero_si256(); LANE];
    for (place, row) in rows.iter_mut().enumerate() {
        let near = source.wrapping_offset(place as isize * stride);
        let far = source.wrapping_offset((place + LANE) as isize * stride);
        // SAFETY: 16 bytes of a row of the plane.
        let near = unsafe { _mm_loadu_si128(near.cast()) };
        // SAFETY: as above.
        let far = unsafe { _mm_loadu_si128(far.cast()) };
        *row = _mm256_set_m128i(far, near);
    }
    let mut rounds = 1;
    while rounds < LANE {
        let mut next = rows;
        for place in 0..LANE / 2 {
            let (upper, lower) = (rows[place], rows[place + LANE / 2]);
            next[2 * place] = interleave_low::<UNIT>(upper, lower);
            next[2 * place + 1] = interleave_high::<UNIT>(upper, lower);
        }
        rows = next;
        rounds *= 2;
    }
    rows
}

#[target_feature(enable = "avx2")]
#[inline]
fn interleave_low<const UNIT: usize>(a: __m256i, b: __m256i) -> __m256i {
    match UNIT {
        1 => _mm256_unpacklo_epi8(a, b),
        2 => _mm256_unpacklo_epi16(a, b),
        4 => _mm256_unpacklo_epi32(a, b),
        _ => _mm256_unpacklo_epi64(a, b),
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn interleave_high<const UNIT: usize>(a: __m256i, b: __m256i) -> __m256i {
    match UNIT {
        1 => _mm256_unpackhi_epi8(a, b),
        2 => _mm256_unpackhi_epi16(a, b),
        4 => _mm256_unpackhi_epi32(a, b),
        _ => _mm256_unpackhi_epi64(a, b),
    }
}
