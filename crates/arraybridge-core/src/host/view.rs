//! Borrowed memory of any library's array that the host can read.

use std::fmt;
use std::marker::PhantomData;

use super::{Access, HostArray, Owner};
use crate::{AxisSlice, DType, Element, Error, Layout};

/// A read-only view of an array's memory for as long as the array is borrowed.
///
/// [`HostView::as_slice`] borrows the elements, [`HostView::to_host_array`] copies them.
pub struct HostView<'a> {
    /// The memory, under an owner that ends with the view. Never handed out: its clones would
    /// outlive `'a`.
    array: HostArray,
    /// What has to end with the view, such as a mapping; dropped after the array.
    _guard: Option<Box<dyn Send + Sync + 'a>>,
    _borrowed: PhantomData<&'a ()>,
}

impl<'a> HostView<'a> {
    /// Makes a view of memory that stays as it is for `'a`; `guard` is dropped with the view.
    ///
    /// # Errors
    /// As [`HostArray::from_raw`].
    ///
    /// # Safety
    /// For all of `'a` (and until `guard` is dropped) the bytes of every element of `layout`,
    /// counted from `pointer`, are initialised, in one allocation, readable from any thread and not
    /// written by anyone.
    pub unsafe fn new(
        pointer: *const u8,
        dtype: DType,
        layout: Layout,
        guard: Option<Box<dyn Send + Sync + 'a>>,
    ) -> Result<HostView<'a>, Error> {
        let owner = Owner::new(());
        // SAFETY: the caller vouches for the memory during 'a, and no handle of this array leaves
        // the view, so the array does not outlive it. Immutable access is never written through.
        let array = unsafe {
            HostArray::from_raw(owner, pointer.cast_mut(), dtype, layout, Access::Immutable)
        }?;
        Ok(HostView { array, _guard: guard, _borrowed: PhantomData })
    }

    /// Makes a view of elements as [`HostView::new`] does, without reading any: that they are valid
    /// is part of the contract.
    ///
    /// # Errors
    /// As [`HostArray::from_elements`].
    ///
    /// # Safety
    /// As [`HostView::new`]; and every element is a valid `T`.
    pub unsafe fn from_elements<T: Element>(
        pointer: *const T,
        layout: Layout,
    ) -> Result<HostView<'a>, Error> {
        let (owner, pointer) = (Owner::new(()), pointer.cast_mut());
        // SAFETY: as in `new`.
        let array = unsafe { HostArray::from_elements(owner, pointer, layout, Access::Immutable) }?;
        Ok(HostView { array, _guard: None, _borrowed: PhantomData })
    }

    /// The memory under an owner that does not keep it: no clone may leave the view.
    pub(super) fn array(&self) -> &HostArray {
        &self.array
    }

    /// Returns the dtype.
    pub fn dtype(&self) -> DType {
        self.array.dtype()
    }

    /// Returns the layout.
    pub fn layout(&self) -> &Layout {
        self.array.layout()
    }

    /// Returns the length of each axis.
    pub fn shape(&self) -> &[usize] {
        self.array.shape()
    }

    /// Returns the address of element `[0, 0, ...]`.
    pub fn address(&self) -> usize {
        self.array.address()
    }

    /// Returns the pointer to element `[0, 0, ...]`.
    pub fn as_ptr(&self) -> *const u8 {
        self.array.as_ptr()
    }

    /// Returns the elements of a row-major view.
    ///
    /// # Errors
    /// As [`HostArray::as_slice`].
    pub fn as_slice<T: Element>(&self) -> Result<&[T], Error> {
        self.array.as_slice()
    }

    /// Copies the elements into the part of an array that slices select ([`HostArray::assign`]).
    pub(crate) fn assign_to(
        &self,
        target: &mut HostArray,
        slices: &[AxisSlice],
    ) -> Result<(), Error> {
        target.assign(slices, &self.array)
    }

    /// Copies the elements into a row-major array of its own.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_host_array(&self) -> Result<HostArray, Error> {
        self.array.gather()
    }
}

impl HostArray {
    /// Returns a view of the array under its borrow.
    pub fn view(&self) -> HostView<'_> {
        HostView { array: self.clone(), _guard: None, _borrowed: PhantomData }
    }
}

impl fmt::Debug for HostView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostView")
            .field("dtype", &self.dtype())
            .field("layout", self.layout())
            .field("address", &format_args!("{:#x}", self.address()))
            .finish_non_exhaustive()
    }
}
