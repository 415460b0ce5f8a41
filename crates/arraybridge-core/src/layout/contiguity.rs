//! What a layout means for memory: order, extent, overlap.

use std::ops::Range;

use smallvec::SmallVec;

use super::{Layout, overflow};
use crate::{DType, Error};

impl Layout {
    /// Returns whether the elements lie one after another, the last axis fastest.
    ///
    /// Strides of axes of length 1 have no meaning and are ignored, and so are all strides of an
    /// array without elements.
    pub fn is_row_major(&self) -> bool {
        is_compact(self.shape.iter().zip(self.strides.iter()).rev())
    }

    /// Returns whether the elements lie one after another, the first axis fastest.
    pub fn is_column_major(&self) -> bool {
        is_compact(self.shape.iter().zip(self.strides.iter()))
    }

    /// Returns whether the elements fill their span without gap or overlap, in any axis order and
    /// direction.
    pub fn is_dense(&self) -> bool {
        self.is_empty() || (self.span().len() == self.len() && !self.may_overlap())
    }

    /// Returns the offsets in elements that the array reaches, relative to its first element.
    ///
    /// The start is negative where strides are. An array without elements reaches none.
    pub fn span(&self) -> Range<isize> {
        let (mut low, mut high, mut empty) = (0isize, 0isize, false);
        for (&length, &stride) in self.shape.iter().zip(self.strides.iter()) {
            // Nothing wraps where there are elements.
            let reach = stride.wrapping_mul((length as isize).wrapping_sub(1));
            low = low.wrapping_add(reach.min(0));
            high = high.wrapping_add(reach.max(0));
            empty |= length == 0;
        }
        if empty { 0..0 } else { low..high + 1 }
    }

    /// Returns the offsets in bytes that the array reaches, relative to its first element.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`] if an offset does not fit in `isize`.
    pub fn byte_span(&self, dtype: DType) -> Result<Range<isize>, Error> {
        // Sizes are at most 16 bytes, so the cast is exact.
        let size = dtype.size() as isize;
        let span = self.span();
        let start = span.start.checked_mul(size);
        let end = span.end.checked_mul(size);
        let pair = start.zip(end).filter(|(start, end)| end.checked_sub(*start).is_some());
        pair.map(|(start, end)| start..end).ok_or_else(|| overflow(&self.shape))
    }

    /// Returns whether two elements may lie at one place.
    ///
    /// `false` is a proof; `true` is exact for zero strides and for layouts made by slicing and
    /// permuting a compact array, and cautious for others (whether an arbitrary layout overlaps is
    /// a hard problem).
    pub fn may_overlap(&self) -> bool {
        // By far the most arrays, and quick to see.
        if self.is_row_major() {
            return false;
        }
        let mut axes: SmallVec<[(usize, usize); 4]> = self
            .shape
            .iter()
            .zip(self.strides.iter())
            .filter(|(length, _)| **length > 1)
            .map(|(&length, &stride)| (stride.unsigned_abs(), length))
            .collect();
        axes.sort_unstable();
        let mut reach = 0usize;
        for (stride, length) in axes {
            if stride <= reach {
                return true;
            }
            reach += stride * (length - 1);
        }
        false
    }

    /// Returns the same array with strides that every library reads alike: those of axes of length
    /// 1, and all of an array without elements, are set to what a compact row-major array of this
    /// shape has.
    pub fn canonical(&self) -> Layout {
        let mut strides = self.strides.clone();
        let mut compact = 1isize;
        let empty = self.is_empty();
        for axis in (0..self.rank()).rev() {
            let length = self.shape[axis].max(1) as isize;
            if empty || length == 1 {
                // Where a faster axis has a stride of its own, follow it, so that a contiguous
                // array stays recognisable as one.
                strides[axis] = compact;
            }
            compact = strides[axis].saturating_mul(length).max(-isize::MAX);
        }
        if empty {
            let mut stride = 1isize;
            for axis in (0..self.rank()).rev() {
                strides[axis] = stride;
                stride *= self.shape[axis].max(1) as isize;
            }
        }
        Layout::from_parts(self.shape.clone(), strides)
    }
}

/// Returns whether the elements of these axes, the fastest first, lie one after another.
fn is_compact<'a>(fastest_first: impl Iterator<Item = (&'a usize, &'a isize)>) -> bool {
    let (mut compact, mut expected) = (true, 1isize);
    for (&length, &stride) in fastest_first {
        if length == 0 {
            return true;
        }
        compact &= length == 1 || stride == expected;
        // Lengths and their product fit in isize.
        expected *= length as isize;
    }
    compact
}
