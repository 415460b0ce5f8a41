//! Memory of ndarray's views, borrowed for as long as they are.

use arraybridge_core::{
    ArrayLibrary, Convert, DType, Device, Error, HostView, HostViewMut, Layout,
};

use crate::lent::Lent;
use crate::{NdArray, ViewType};

/// An array of any dtype and rank that is borrowed for reading, such as an `ArrayView`.
///
/// It cannot become an array of another library as it is, since that array would outlive the
/// borrow: [`NdView::copy_to`] copies.
///
/// ```
/// use arraybridge_ndarray::ndarray::{array, s};
/// use arraybridge_ndarray::{NdArray, NdView};
///
/// let image = array![[1u16, 2], [3, 4]];
/// let column = NdView::try_from(image.slice(s![.., 1]))?;
/// let owned: NdArray = column.to_nd_array()?;
/// assert_eq!(owned.host().as_slice::<u16>()?, [2, 4]);
/// # Ok::<(), arraybridge_core::Error>(())
/// ```
#[derive(Debug)]
pub struct NdView<'a>(HostView<'a>);

impl<'a> NdView<'a> {
    /// Wraps a view of the memory of any library's array.
    pub fn from_host(view: HostView<'a>) -> NdView<'a> {
        NdView(view)
    }

    /// Borrows the view of the memory.
    pub fn host(&self) -> &HostView<'a> {
        &self.0
    }

    /// Returns the dtype.
    pub fn dtype(&self) -> DType {
        self.0.dtype()
    }

    /// Returns the layout.
    pub fn layout(&self) -> &Layout {
        self.0.layout()
    }

    /// Returns the length of each axis.
    pub fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    /// Views the elements where they are as ndarray's own view type.
    ///
    /// # Errors
    /// As [`NdArray::view`].
    pub fn view<'v, V: ViewType<'v>>(&'v self) -> Result<V, Error> {
        Lent::of_view(&self.0, V::RANK).map(V::of_lent)
    }

    /// Copies the elements into a row-major array.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_nd_array(&self) -> Result<NdArray, Error> {
        self.0.to_host_array().map(NdArray::from_host)
    }

    /// Copies the elements into an array of library `L` on `device`.
    ///
    /// The copy goes into main memory, which libraries on the host take as it is; records show the
    /// conversion from there on.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and those of
    /// [`Convert::convert_to`](arraybridge_core::Convert::convert_to).
    pub fn copy_to<L: ArrayLibrary>(&self, device: Device) -> Result<L::Array, Error> {
        Ok(self.to_nd_array()?.convert_to::<L>(device)?)
    }
}

/// Memory of any dtype and rank that is borrowed for writing, such as an `ArrayViewMut`: what
/// [`NdArray::copy_into`] fills.
#[derive(Debug)]
pub struct NdViewMut<'a>(HostViewMut<'a>);

impl<'a> NdViewMut<'a> {
    /// Wraps memory that is borrowed for writing.
    pub fn from_host(view: HostViewMut<'a>) -> NdViewMut<'a> {
        NdViewMut(view)
    }

    /// Returns the dtype.
    pub fn dtype(&self) -> DType {
        self.0.dtype()
    }

    /// Returns the layout.
    pub fn layout(&self) -> &Layout {
        self.0.layout()
    }

    /// Returns the length of each axis.
    pub fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    /// Copies all elements of a view of the same dtype and shape into this memory: an array's of
    /// any library that the host can read.
    ///
    /// # Errors
    /// [`Error::DtypeMismatch`], [`Error::ShapeMismatch`].
    pub fn copy_from(&mut self, source: &HostView<'_>) -> Result<(), Error> {
        self.0.copy_from(source)
    }
}
