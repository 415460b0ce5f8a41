//! Rows of an array as slices: the runs along its last axis.

use std::fmt;
use std::marker::PhantomData;

use super::HostArray;
use crate::{Element, Error};

/// The rows of an array whose last axis is contiguous, in any layout of the other axes.
///
/// ```
/// use arraybridge_core::{AxisSlice, HostArray};
///
/// let image = HostArray::from_slice(&[1u16, 2, 3, 4, 5, 6], &[2, 3])?;
/// let crop = image.slice(&[AxisSlice::full(), AxisSlice::from(1..)])?;
/// assert!(crop.as_slice::<u16>().is_err());
/// assert_eq!(crop.rows::<u16>()?.get(&[1]), Some(&[5, 6][..]));
/// # Ok::<(), arraybridge_core::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Rows<'a, T> {
    first: *const T,
    shape: &'a [usize],
    strides: &'a [isize],
    length: usize,
    _elements: PhantomData<&'a [T]>,
}

impl HostArray {
    /// Returns the rows along the last axis.
    ///
    /// # Errors
    /// [`Error::DtypeMismatch`]; [`Error::LayoutUnsupported`] if the elements of a row do not lie
    /// one after another or are under-aligned ([`HostArray::to_contiguous`] mends that), or if the
    /// array has no axis.
    pub fn rows<T: Element>(&self) -> Result<Rows<'_, T>, Error> {
        if T::DTYPE != self.dtype {
            return Err(Error::DtypeMismatch { expected: T::DTYPE, found: self.dtype });
        }
        let refused = |message: String| Error::LayoutUnsupported { operation: "rows", message };
        let (&length, shape) =
            self.shape().split_last().ok_or_else(|| refused("the array has no axis".into()))?;
        let (&stride, strides) = self
            .layout
            .strides()
            .split_last()
            .ok_or_else(|| refused("the array has no axis".into()))?;
        if (length > 1 && stride != 1 && !self.is_empty()) || !self.is_aligned() {
            return Err(refused(format!(
                "{:?} at address {:#x} has rows with gaps or out of alignment; `to_contiguous` \
                 copies it",
                self.layout,
                self.address()
            )));
        }
        let first = self.slice_pointer::<T>();
        Ok(Rows { first, shape, strides, length, _elements: PhantomData })
    }
}

impl<'a, T: Element> Rows<'a, T> {
    /// Returns the row at an index of all axes but the last; `None` if there is none.
    #[inline]
    pub fn get(&self, index: &[usize]) -> Option<&'a [T]> {
        if index.len() != self.shape.len() {
            return None;
        }
        let mut offset = 0isize;
        for (axis, &place) in index.iter().enumerate() {
            if place >= self.shape[axis] {
                return None;
            }
            // Wrapping only if there are no elements, and then the offset is not used.
            offset = offset.wrapping_add(self.strides[axis].wrapping_mul(place as isize));
        }
        if self.length == 0 {
            return Some(&[]);
        }
        let row = self.first.wrapping_offset(offset);
        // SAFETY: `rows` found the last axis contiguous and every element aligned, and the index
        // is inside the array, so these are `length` of its elements: readable, initialised and
        // not written while the array is borrowed.
        Some(unsafe { std::slice::from_raw_parts(row, self.length) })
    }

    /// Returns the length of each axis but the last, which are those of the index.
    pub fn shape(&self) -> &'a [usize] {
        self.shape
    }

    /// Returns the length of a row.
    pub fn length(&self) -> usize {
        self.length
    }
}

impl<T> fmt::Debug for Rows<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows")
            .field("shape", &self.shape)
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}
