//! Shape and strides: what a flat run of elements means as an array.

mod axes;
mod contiguity;
mod reshape;
mod slice;

use std::fmt;

use crate::{DType, Error};

pub use slice::AxisSlice;

use axes::Axes;

/// A shape and one signed stride per axis, both counted in elements.
///
/// A layout says nothing of where the first element lies: element `[0, 0, ...]` is at offset 0, and
/// the others lie within [`Layout::span`] of it, before it where strides are negative. Every
/// constructor checks its arithmetic, so the number of elements and every offset fit in `isize`, and
/// every stride has a negative.
///
/// ```
/// use arraybridge_core::Layout;
///
/// let image = Layout::row_major(&[2, 3])?;
/// let turned = image.transpose();
/// assert_eq!((turned.shape(), turned.strides()), (&[3, 2][..], &[1, 3][..]));
/// assert!(image.is_row_major() && !turned.is_row_major());
/// # Ok::<(), arraybridge_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Axes<usize>,
    strides: Axes<isize>,
}

impl Layout {
    /// Returns the layout of this shape and these strides.
    ///
    /// # Errors
    /// [`Error::InvalidLayout`] if the lengths differ; [`Error::SizeOverflow`] if the number of
    /// elements or an offset does not fit in `isize`.
    pub fn new(shape: &[usize], strides: &[isize]) -> Result<Layout, Error> {
        if shape.len() != strides.len() {
            return Err(Error::InvalidLayout {
                message: format!("{} axes but {} strides", shape.len(), strides.len()),
            });
        }
        // The one stride without a negative can only be one without meaning (of an axis of length 1,
        // or where there are no elements), yet reversing its axis would negate it.
        let strides = strides.iter().map(|&stride| stride.max(-isize::MAX)).collect();
        let layout = Layout { shape: shape.into(), strides };
        layout.check()?;
        Ok(layout)
    }

    /// Returns the compact layout whose last axis runs fastest (C order).
    ///
    /// # Errors
    /// [`Error::SizeOverflow`] if the number of elements does not fit in `isize`.
    pub fn row_major(shape: &[usize]) -> Result<Layout, Error> {
        Layout::compact(shape, |axis| shape.len() - 1 - axis)
    }

    /// Returns the compact layout whose first axis runs fastest (Fortran order).
    ///
    /// # Errors
    /// [`Error::SizeOverflow`] if the number of elements does not fit in `isize`.
    pub fn column_major(shape: &[usize]) -> Result<Layout, Error> {
        Layout::compact(shape, |axis| axis)
    }

    /// Lays axes out compactly; `order(k)` is the k-th fastest axis.
    ///
    /// Strides of an array without elements are those of the same shape with its zeros taken as
    /// ones: they are never used, and stay small.
    fn compact(shape: &[usize], order: impl Fn(usize) -> usize) -> Result<Layout, Error> {
        let mut strides = Axes::same(1, shape.len());
        let mut stride = 1isize;
        for place in 0..shape.len() {
            let axis = order(place);
            strides[axis] = stride;
            stride = isize::try_from(shape[axis].max(1))
                .ok()
                .and_then(|length| stride.checked_mul(length))
                .ok_or_else(|| overflow(shape))?;
        }
        Ok(Layout { shape: shape.into(), strides })
    }

    /// Builds a layout from parts that an operation on a checked layout made.
    fn from_parts(shape: Axes<usize>, strides: Axes<isize>) -> Layout {
        debug_assert_eq!(shape.len(), strides.len());
        Layout { shape, strides }
    }

    fn check(&self) -> Result<(), Error> {
        let product = self.shape.iter().try_fold(1isize, |product, &length| {
            isize::try_from(length.max(1)).ok().and_then(|length| product.checked_mul(length))
        });
        product.ok_or_else(|| overflow(&self.shape))?;
        let (mut low, mut high) = (0isize, 0isize);
        if !self.is_empty() {
            for (&length, &stride) in self.shape.iter().zip(self.strides.iter()) {
                // `length` fits in isize: it is a factor of the product above.
                let reach = stride.checked_mul(length as isize - 1);
                let reach = reach.ok_or_else(|| overflow(&self.shape))?;
                let end = if reach < 0 { &mut low } else { &mut high };
                *end = end.checked_add(reach).ok_or_else(|| overflow(&self.shape))?;
            }
        }
        high.checked_sub(low)
            .and_then(|distance| distance.checked_add(1))
            .map(|_| ())
            .ok_or_else(|| overflow(&self.shape))
    }

    /// Returns the length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the stride of each axis in elements.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Returns the number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Returns the number of elements, the product of the shape (1 for rank 0).
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns whether there are no elements, that is, whether an axis has length 0.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Returns the size of all elements in bytes, which fits in `isize`.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`] if it does not.
    pub fn nbytes(&self, dtype: DType) -> Result<usize, Error> {
        let bytes = self.len().checked_mul(dtype.size());
        bytes.filter(|bytes| isize::try_from(*bytes).is_ok()).ok_or_else(|| overflow(&self.shape))
    }
}

fn overflow(shape: &[usize]) -> Error {
    Error::SizeOverflow { shape: shape.to_vec() }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shape {:?} strides {:?}", &self.shape[..], &self.strides[..])
    }
}
