//! Shape, rank, dtype and size of an array, without touching its elements.

use crate::{AnyArray, ArrayLibrary, ArrayPayload, DType, Description, Error, HostArray, HostView};

/// The shape and dtype of an array, and what follows from them.
///
/// ```
/// use arraybridge_core::{ArrayGeometry, ArrayPayload, DType, HostArray};
///
/// let image = ArrayPayload::new(HostArray::zeros(DType::F32, &[4, 6])?, "channel 1");
/// let geometry = image.geometry()?;
/// assert_eq!((geometry.shape(), geometry.rank()), (&[4, 6][..], 2));
/// assert_eq!((geometry.dtype(), geometry.nbytes()), (DType::F32, 96));
/// # Ok::<(), arraybridge_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Geometry {
    shape: Vec<usize>,
    dtype: DType,
}

impl Geometry {
    /// Returns the geometry of a library's own array.
    ///
    /// # Errors
    /// What [`ArrayLibrary::describe`] says of an array that has none (sparse, quantised).
    pub fn of<L: ArrayLibrary>(array: &L::Array) -> Result<Geometry, Error> {
        L::INSTANCE.describe(array).map(|seen| Geometry::from_description(&seen))
    }

    fn from_description(seen: &Description) -> Geometry {
        Geometry { shape: seen.layout.shape().to_vec(), dtype: seen.dtype }
    }

    /// Returns the length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Returns the dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().fold(1, |product, length| product.saturating_mul(*length))
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Returns the size of all elements in bytes.
    pub fn nbytes(&self) -> usize {
        if self.is_empty() { 0 } else { self.len().saturating_mul(self.dtype.size()) }
    }
}

/// A value that has a [`Geometry`]: an array of any library, or a container around one.
///
/// A library's own array has no method of it, because native types have `shape` methods of their
/// own; ask [`Geometry::of`].
pub trait ArrayGeometry {
    /// Returns shape and dtype. Reads no elements and copies nothing.
    ///
    /// # Errors
    /// The library's, for an array that has no such description.
    fn geometry(&self) -> Result<Geometry, Error>;
}

impl ArrayGeometry for AnyArray {
    fn geometry(&self) -> Result<Geometry, Error> {
        self.describe().map(|seen| Geometry::from_description(&seen))
    }
}

impl ArrayGeometry for HostArray {
    fn geometry(&self) -> Result<Geometry, Error> {
        Ok(Geometry { shape: self.shape().to_vec(), dtype: self.dtype() })
    }
}

impl ArrayGeometry for HostView<'_> {
    fn geometry(&self) -> Result<Geometry, Error> {
        Ok(Geometry { shape: self.shape().to_vec(), dtype: self.dtype() })
    }
}

impl<A: ArrayGeometry, C> ArrayGeometry for ArrayPayload<A, C> {
    fn geometry(&self) -> Result<Geometry, Error> {
        self.array().geometry()
    }
}
