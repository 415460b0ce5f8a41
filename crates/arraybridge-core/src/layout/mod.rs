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
        Layout::from_axes(shape.iter().copied().zip(strides.iter().copied()))
    }

    /// Returns the layout of these axes, each a length and a stride in elements.
    ///
    /// ```
    /// use arraybridge_core::Layout;
    ///
    /// // NumPy counts strides in bytes: of float32, four to an element.
    /// let (shape, bytes) = ([2, 3], [12, 4]);
    /// let layout = Layout::from_axes(shape.into_iter().zip(bytes.map(|bytes| bytes / 4)))?;
    /// assert!(layout.is_row_major());
    /// # Ok::<(), arraybridge_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::SizeOverflow`] if the number of elements or an offset does not fit in `isize`.
    pub fn from_axes(axes: impl IntoIterator<Item = (usize, isize)>) -> Result<Layout, Error> {
        let (mut shape, mut strides) = (Axes::none(), Axes::none());
        let mut extent = Extent::default();
        // One pass: every conversion makes a layout or two.
        for (length, stride) in axes {
            // The one stride without a negative can only be one without meaning (of an axis of length
            // 1, or where there are no elements), yet reversing its axis would negate it.
            let stride = stride.max(-isize::MAX);
            extent.add(length, stride);
            shape.push(length);
            strides.push(stride);
        }
        if extent.fits() { Ok(Layout { shape, strides }) } else { Err(overflow(&shape)) }
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

/// The number of elements and the distance of any two. Axes of length 0 are counted as of length 1,
/// and without elements there are no distances.
struct Extent {
    count: isize,
    low: isize,
    high: isize,
    uncounted: bool,
    too_far: bool,
    empty: bool,
}

impl Default for Extent {
    fn default() -> Extent {
        Extent { count: 1, low: 0, high: 0, uncounted: false, too_far: false, empty: false }
    }
}

impl Extent {
    /// Adds an axis, without branches.
    #[inline]
    fn add(&mut self, length: usize, stride: isize) {
        self.empty |= length == 0;
        let length = length.max(1);
        let (count, wrapped) = self.count.overflowing_mul(length as isize);
        self.count = count;
        self.uncounted |= wrapped | (length > isize::MAX as usize);
        let (reach, wrapped) = stride.overflowing_mul((length as isize).wrapping_sub(1));
        let (low, below) = self.low.overflowing_add(reach.min(0));
        let (high, above) = self.high.overflowing_add(reach.max(0));
        (self.low, self.high) = (low, high);
        self.too_far |= wrapped | below | above;
    }

    /// Returns whether both fit in `isize`.
    fn fits(&self) -> bool {
        let (distance, wrapped) = self.high.overflowing_sub(self.low);
        let too_far = self.too_far | wrapped | (distance == isize::MAX);
        !self.uncounted && (self.empty || !too_far)
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
