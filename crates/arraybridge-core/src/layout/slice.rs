//! Views of an array: slices, single indices, permuted axes.

use std::ops::{Range, RangeFrom, RangeFull, RangeTo};

use smallvec::SmallVec;

use super::Layout;
use crate::Error;

/// The part of one axis from `start` to before `end`, every `step`-th element.
///
/// Ends count from the back when negative and are clamped to the axis, as in Python. A negative
/// step walks backwards; an omitted end is then the front.
///
/// ```
/// use arraybridge_core::{AxisSlice, Layout};
///
/// let line = Layout::row_major(&[10])?;
/// let (evens_backwards, offset) = line.slice(&[AxisSlice::full().with_step(-2)])?;
/// assert_eq!((evens_backwards.shape(), offset), (&[5][..], 9));
/// let (last_three, offset) = line.slice(&[AxisSlice::from(-3..)])?;
/// assert_eq!((last_three.shape(), offset), (&[3][..], 7));
/// # Ok::<(), arraybridge_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AxisSlice {
    start: Option<isize>,
    end: Option<isize>,
    step: isize,
}

impl AxisSlice {
    /// Returns the slice from `start` to before `end`; `None` is the end that the step comes from
    /// or goes to.
    pub const fn new(start: Option<isize>, end: Option<isize>, step: isize) -> AxisSlice {
        AxisSlice { start, end, step }
    }

    /// Returns the slice of a whole axis.
    pub const fn full() -> AxisSlice {
        AxisSlice::new(None, None, 1)
    }

    /// Returns the same slice with another step, which [`AxisSlice::resolve`] refuses if it is 0.
    pub const fn with_step(self, step: isize) -> AxisSlice {
        AxisSlice { step, ..self }
    }

    /// Resolves the slice on an axis: the first index, the number of elements, the step.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the step is 0.
    pub fn resolve(self, length: usize) -> Result<(usize, usize, isize), Error> {
        if self.step == 0 {
            return Err(Error::InvalidArgument {
                operation: "slice",
                message: "the step is 0; a step walks forwards or backwards".into(),
            });
        }
        // Axis lengths fit in isize (layouts check it).
        let length = isize::try_from(length).unwrap_or(isize::MAX);
        // Walking forwards, places are 0..=length; backwards, they are -1..=length - 1.
        let (lowest, highest) = if self.step > 0 { (0, length) } else { (-1, length - 1) };
        let place = |index: isize| {
            let from_front = if index < 0 { index.saturating_add(length) } else { index };
            from_front.clamp(lowest, highest)
        };
        let (first, last) = if self.step > 0 { (lowest, highest) } else { (highest, lowest) };
        let start = self.start.map_or(first, place);
        let end = self.end.map_or(last, place);
        let distance = if self.step > 0 { end - start } else { start - end };
        if distance <= 0 {
            return Ok((0, 0, self.step));
        }
        let count = (distance as usize).div_ceil(self.step.unsigned_abs());
        Ok((start as usize, count, self.step))
    }
}

impl From<Range<isize>> for AxisSlice {
    fn from(range: Range<isize>) -> AxisSlice {
        AxisSlice::new(Some(range.start), Some(range.end), 1)
    }
}

impl From<RangeFrom<isize>> for AxisSlice {
    fn from(range: RangeFrom<isize>) -> AxisSlice {
        AxisSlice::new(Some(range.start), None, 1)
    }
}

impl From<RangeTo<isize>> for AxisSlice {
    fn from(range: RangeTo<isize>) -> AxisSlice {
        AxisSlice::new(None, Some(range.end), 1)
    }
}

impl From<RangeFull> for AxisSlice {
    fn from(_: RangeFull) -> AxisSlice {
        AxisSlice::full()
    }
}

impl Layout {
    /// Returns the layout of a slice and the offset in elements of its first element.
    ///
    /// Axes beyond the given slices are kept whole.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for more slices than axes or a step of 0.
    pub fn slice(&self, slices: &[AxisSlice]) -> Result<(Layout, isize), Error> {
        if slices.len() > self.rank() {
            return Err(Error::InvalidArgument {
                operation: "slice",
                message: format!("{} slices for {} axes", slices.len(), self.rank()),
            });
        }
        let mut layout = self.clone();
        let mut offset = 0;
        for (axis, slice) in slices.iter().enumerate() {
            let (start, count, step) = slice.resolve(self.shape[axis])?;
            layout.shape[axis] = count;
            // Exact where there are elements (both lie in the checked span), unused where there are
            // none.
            offset = isize::wrapping_add(offset, self.strides[axis].wrapping_mul(start as isize));
            layout.strides[axis] =
                if count > 1 { self.strides[axis].wrapping_mul(step) } else { 1 };
        }
        if layout.is_empty() {
            return Ok((Layout::row_major(&layout.shape)?, 0));
        }
        Ok((layout, offset))
    }

    /// Returns the layout without `axis` at this index of it, and the offset of its first element.
    ///
    /// # Errors
    /// [`Error::AxisOutOfRange`] or [`Error::InvalidArgument`] if there is no such axis or index.
    pub fn index_axis(&self, axis: usize, index: usize) -> Result<(Layout, isize), Error> {
        let length = *self
            .shape
            .get(axis)
            .ok_or(Error::AxisOutOfRange { axis: axis as isize, rank: self.rank() })?;
        if index >= length {
            return Err(Error::InvalidArgument {
                operation: "index",
                message: format!("index {index} on axis {axis}, which has {length} elements"),
            });
        }
        let layout = Layout::from_parts(self.shape.without(axis), self.strides.without(axis));
        let stride = self.strides[axis];
        let offset = if layout.is_empty() { 0 } else { stride * index as isize };
        Ok((layout, offset))
    }

    /// Returns the layout with its axes in another order: axis `k` of the result is axis `axes[k]`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `axes` is not a permutation of all axes.
    pub fn permute(&self, axes: &[usize]) -> Result<Layout, Error> {
        let mut seen: SmallVec<[bool; 4]> = SmallVec::from_elem(false, self.rank());
        let mut fits = axes.len() == self.rank();
        for &axis in axes {
            fits &= seen.get_mut(axis).is_some_and(|seen| !std::mem::replace(seen, true));
        }
        if !fits {
            return Err(Error::InvalidArgument {
                operation: "permute",
                message: format!("{axes:?} is not an order of {} axes", self.rank()),
            });
        }
        Ok(Layout::from_parts(
            axes.iter().map(|&axis| self.shape[axis]).collect(),
            axes.iter().map(|&axis| self.strides[axis]).collect(),
        ))
    }

    /// Returns the layout with its axes reversed.
    pub fn transpose(&self) -> Layout {
        Layout::from_parts(
            self.shape.iter().rev().copied().collect(),
            self.strides.iter().rev().copied().collect(),
        )
    }
}
