//! The library's array: a host array of any dtype.

use arraybridge_core::{
    ConversionError, CopyPolicy, DType, Decline, DeclineReason, Device, Error, HOST, HostArray,
    Mechanism,
};

use crate::lent::{self, Lent, LentMut};
use crate::{NdView, NdViewMut, OwnedType, ViewMutType, ViewType};

/// An array of any dtype and rank in main memory, copy-on-write.
///
/// Cloning shares the memory; whoever writes while it is shared copies first, and says so
/// ([`NdArray::make_mut`]).
///
/// ```
/// use arraybridge_ndarray::NdArray;
/// use arraybridge_ndarray::ndarray::{Array2, ArrayView2, ArrayViewMut2, array};
///
/// let mut image = NdArray::from(array![[1.0f32, 2.0], [3.0, 4.0]]);
/// image.view_mut::<ArrayViewMut2<f32>>()?[[0, 1]] = 20.0;
/// let view: ArrayView2<f32> = image.view()?;
/// assert_eq!(view, array![[1.0, 20.0], [3.0, 4.0]]);
/// let image: Array2<f32> = image.into_array()?;
/// # Ok::<(), arraybridge_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct NdArray(HostArray);

/// An owned array of ndarray's that came out of an [`NdArray`], and how.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct IntoArray<A> {
    /// The array.
    pub array: A,
    /// Whether its elements were copied, in row-major order, instead of taking the memory over.
    pub copied: bool,
}

impl NdArray {
    /// Wraps a host array, sharing its memory.
    pub fn from_host(array: HostArray) -> NdArray {
        NdArray(array)
    }

    /// Returns a row-major array of zeros (`false` for bool).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::SizeOverflow`].
    pub fn zeros(dtype: DType, shape: &[usize]) -> Result<NdArray, Error> {
        HostArray::zeros(dtype, shape).map(NdArray)
    }

    /// Borrows the host array.
    pub fn host(&self) -> &HostArray {
        &self.0
    }

    /// Borrows the host array for writing.
    pub fn host_mut(&mut self) -> &mut HostArray {
        &mut self.0
    }

    /// Returns the host array.
    pub fn into_host(self) -> HostArray {
        self.0
    }

    /// Returns the dtype.
    pub fn dtype(&self) -> DType {
        self.0.dtype()
    }

    /// Returns the length of each axis.
    pub fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    /// Returns the stride of each axis in elements.
    pub fn strides(&self) -> &[isize] {
        self.0.layout().strides()
    }

    /// Returns the number of axes.
    pub fn rank(&self) -> usize {
        self.0.layout().rank()
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the size of all elements in bytes.
    pub fn nbytes(&self) -> usize {
        self.0.nbytes()
    }

    /// Returns the device, which is always the host.
    pub fn device(&self) -> Device {
        HOST
    }

    /// Views the elements where they are, whatever their layout.
    ///
    /// ```
    /// use arraybridge_ndarray::NdArray;
    /// use arraybridge_ndarray::ndarray::{ArrayView3, ArrayViewD, array};
    ///
    /// let row = NdArray::from(array![1u8, 2, 3]);
    /// assert_eq!(row.view::<ArrayViewD<u8>>()?.shape(), [3]);
    /// let error = row.view::<ArrayView3<u8>>().unwrap_err();
    /// assert!(error.to_string().ends_with("shape [3] has 1 axes, the type 3; `IxDyn` takes any number"));
    /// # Ok::<(), arraybridge_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DtypeMismatch`]; [`Error::LayoutUnsupported`] for another number of axes or an
    /// under-aligned address.
    pub fn view<'a, V: ViewType<'a>>(&'a self) -> Result<V, Error> {
        Lent::of_host(&self.0, V::RANK).map(V::of_lent)
    }

    /// Views the elements for writing.
    ///
    /// # Errors
    /// As [`NdArray::view`]; [`Error::Shared`] if the memory is shared or elements repeat
    /// ([`NdArray::make_mut`] copies it first).
    pub fn view_mut<'a, V: ViewMutType<'a>>(&'a mut self) -> Result<V, Error> {
        LentMut::of_host(&mut self.0, V::RANK).map(V::of_lent)
    }

    /// Makes the memory this array's alone, copying it into a row-major array if it is shared or
    /// elements repeat, and returns whether it copied.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; the array is left as it was.
    pub fn make_mut(&mut self) -> Result<bool, Error> {
        self.0.make_mut()
    }

    /// Turns the array into one of ndarray's own: without copying if the memory is one of ndarray's
    /// (an `Array`'s or any other `Vec`, or an `ArcArray`), else with one copy.
    ///
    /// [`NdArray::into_array_with`] tells which it was, or refuses to copy.
    ///
    /// # Errors
    /// [`Error::DtypeMismatch`], [`Error::LayoutUnsupported`] for another number of axes,
    /// [`Error::OutOfMemory`]; the array comes back.
    pub fn into_array<A: OwnedType>(self) -> Result<A, ConversionError<NdArray>> {
        self.into_array_with(CopyPolicy::Allow).map(|into| into.array)
    }

    /// Turns the array into one of ndarray's own, with a say in whether it may copy, and tells
    /// whether it did.
    ///
    /// ```
    /// use arraybridge_core::{CopyPolicy, HostArray};
    /// use arraybridge_ndarray::NdArray;
    /// use arraybridge_ndarray::ndarray::{Array1, array};
    ///
    /// let array = NdArray::from(array![1, 2, 3]);
    /// let shared = array.clone();
    /// let into = shared.into_array_with::<Array1<i32>>(CopyPolicy::Allow)?;
    /// assert!(into.copied);
    /// let into = array.into_array_with::<Array1<i32>>(CopyPolicy::Never)?;
    /// assert!(!into.copied);
    /// # Ok::<(), arraybridge_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`NdArray::into_array`], and [`Error::WouldCopy`]; the array comes back.
    pub fn into_array_with<A: OwnedType>(
        self,
        policy: CopyPolicy,
    ) -> Result<IntoArray<A>, ConversionError<NdArray>> {
        let array = match self.take_or_back::<A>()? {
            Ok(array) => return Ok(IntoArray { array, copied: false }),
            Err(back) => back,
        };
        if policy == CopyPolicy::Never && !array.is_empty() {
            return Err(ConversionError::new(would_copy(), Some(array)));
        }
        let copied = !array.is_empty();
        let copy = array.0.to_vec().and_then(|vec| {
            A::of_elements(vec, array.shape())
                .ok_or_else(|| Error::SizeOverflow { shape: array.shape().to_vec() })
        });
        match copy {
            Ok(array) => Ok(IntoArray { array, copied }),
            Err(error) => Err(ConversionError::new(error, Some(array))),
        }
    }

    /// Turns the array into one of ndarray's own without copying.
    pub(crate) fn take<A: OwnedType>(self) -> Result<A, ConversionError<NdArray>> {
        let array = self.take_or_back::<A>()?;
        array.map_err(|back| ConversionError::new(would_copy(), Some(back)))
    }

    /// Checks dtype and rank, and takes the memory over or returns the array.
    fn take_or_back<A: OwnedType>(self) -> Result<Result<A, NdArray>, ConversionError<NdArray>> {
        match lent::check::<A::Elem>(self.dtype(), self.0.layout(), A::RANK) {
            Ok(()) => Ok(A::take(self.0).map_err(NdArray)),
            Err(error) => Err(ConversionError::new(error, Some(self))),
        }
    }

    /// Copies all elements into memory of the same dtype and shape that is borrowed for writing,
    /// such as an `ArrayViewMut`.
    ///
    /// ```
    /// use arraybridge_ndarray::NdArray;
    /// use arraybridge_ndarray::ndarray::{Array2, array, s};
    ///
    /// let tile = NdArray::from(array![[1u8, 2]]);
    /// let mut mosaic = Array2::<u8>::zeros((2, 4));
    /// tile.copy_into(mosaic.slice_mut(s![1..2, 1..;2]))?;
    /// assert_eq!(mosaic, array![[0, 0, 0, 0], [0, 1, 0, 2]]);
    /// # Ok::<(), arraybridge_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DtypeMismatch`], [`Error::ShapeMismatch`].
    pub fn copy_into<'t>(
        &self,
        target: impl TryInto<NdViewMut<'t>, Error = Error>,
    ) -> Result<(), Error> {
        target.try_into()?.copy_from(&self.0.view())
    }

    /// Borrows the array as a [`NdView`].
    pub fn as_view(&self) -> NdView<'_> {
        NdView::from_host(self.0.view())
    }
}

fn would_copy() -> Error {
    let note = "the memory is not a Vec or ArcArray of this type, or has other holders";
    let decline = Decline::new(DeclineReason::Shared).note(note);
    Error::WouldCopy {
        source_library: "ndarray",
        target_library: "ndarray",
        device: HOST,
        mechanism: Mechanism::HostCopy,
        declined: vec![(Mechanism::StaysInPlace, decline)],
    }
}
