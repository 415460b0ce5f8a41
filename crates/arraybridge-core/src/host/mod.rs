//! The neutral array in main memory that routes pass between libraries.

mod access;
mod assign;
mod buffer;
mod bytes;
mod copies;
mod layouts;
mod owner;
mod pages;
pub(crate) mod pool;
mod rows;
mod vec;
mod vec_memory;
mod view;
mod view_mut;

use std::fmt;
use std::ptr::NonNull;

use crate::{DType, Element, Error, Layout};

pub use access::Access;
pub use owner::Owner;
pub use rows::Rows;
pub use vec::VecPlace;
pub use view::HostView;
pub use view_mut::HostViewMut;

/// How records and reports name core's own arrays, which are no library's.
pub(crate) const LIBRARY: &str = "host";

/// An array in main memory: owner, pointer, dtype, layout and access.
///
/// Cloning shares the memory. Shared memory is never written: writing needs the only handle
/// ([`HostArray::as_slice_mut`]) or copies first ([`HostArray::make_mut`]).
///
/// ```
/// use arraybridge_core::HostArray;
///
/// let mut array = HostArray::from_vec(vec![1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// array.as_slice_mut::<f32>()?[3] = 40.0;
/// let turned = array.transpose();
/// assert_eq!(turned.gather()?.as_slice::<f32>()?, [1.0, 3.0, 2.0, 40.0]);
/// drop(turned);
/// assert_eq!(array.into_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 40.0]);
/// # Ok::<(), arraybridge_core::Error>(())
/// ```
///
/// # Invariants
/// The constructors establish, and nothing safe breaks, that as long as the owner lives
/// - every element of the layout, counted from `pointer`, lies in initialised memory that may be
///   read, and written while the access is exclusive;
/// - nobody writes the memory except through a unique exclusive array;
/// - the bytes of a `bool` array are 0 or 1.
#[derive(Clone)]
pub struct HostArray {
    owner: Owner,
    pointer: NonNull<u8>,
    dtype: DType,
    layout: Layout,
    access: Access,
}

// SAFETY: the owner is Send and Sync; the memory behind the pointer is only read through `&self`,
// and written through `&mut self` after the owner was found to be unique.
unsafe impl Send for HostArray {}
// SAFETY: see above.
unsafe impl Sync for HostArray {}

impl HostArray {
    /// Wraps memory that `owner` keeps alive, without copying it.
    ///
    /// `pointer` addresses element `[0, 0, ...]`. An array without elements may have any pointer,
    /// null included; it is not kept. The pointer need not be aligned: an under-aligned array can
    /// be gathered and copied, but not viewed as a slice.
    ///
    /// # Errors
    /// [`Error::InvalidPayload`] for a null pointer or a byte of a `bool` array that is neither 0
    /// nor 1, [`Error::Shared`] for [`Access::SharedMutable`] (copy such memory first),
    /// [`Error::SizeOverflow`]. The owner is dropped then.
    ///
    /// # Safety
    /// Until the last handle on `owner` is dropped
    /// - the bytes of every element of `layout`, counted from `pointer`, are initialised, in one
    ///   allocation and readable from any thread;
    /// - with [`Access::Exclusive`], nothing but this array reaches them, for reading or writing,
    ///   and they may be written; with [`Access::Immutable`], nobody writes them.
    pub unsafe fn from_raw(
        owner: Owner,
        pointer: *mut u8,
        dtype: DType,
        layout: Layout,
        access: Access,
    ) -> Result<HostArray, Error> {
        let array = HostArray::wrap(owner, pointer, dtype, layout, access)?;
        if dtype == DType::Bool {
            array.check_bools()?;
        }
        Ok(array)
    }

    /// Wraps elements that `owner` keeps alive, as [`HostArray::from_raw`] does, without reading
    /// any: that they are valid is part of the contract.
    ///
    /// # Errors
    /// As [`HostArray::from_raw`], but for the bytes of `bool`.
    ///
    /// # Safety
    /// As [`HostArray::from_raw`]; and every element is a valid `T`.
    pub unsafe fn from_elements<T: Element>(
        owner: Owner,
        pointer: *mut T,
        layout: Layout,
        access: Access,
    ) -> Result<HostArray, Error> {
        HostArray::wrap(owner, pointer.cast(), T::DTYPE, layout, access)
    }

    fn wrap(
        owner: Owner,
        pointer: *mut u8,
        dtype: DType,
        layout: Layout,
        access: Access,
    ) -> Result<HostArray, Error> {
        layout.byte_span(dtype)?;
        layout.nbytes(dtype)?;
        if layout.is_empty() {
            let pointer = dangling();
            return Ok(HostArray { owner, pointer, dtype, layout, access: Access::Exclusive });
        }
        if access == Access::SharedMutable {
            return Err(Error::Shared {
                operation: "wrapping foreign memory",
                message: "others may write it; copy it instead".into(),
            });
        }
        let pointer = NonNull::new(pointer).ok_or_else(|| Error::InvalidPayload {
            field: "data",
            message: format!("the pointer is null for {} elements", layout.len()),
        })?;
        Ok(HostArray { owner, pointer, dtype, layout, access })
    }

    /// Returns the dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the length of each axis.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.layout.is_empty()
    }

    /// Returns the size of all elements in bytes.
    pub fn nbytes(&self) -> usize {
        // Constructors and views check that this does not overflow.
        self.len() * self.dtype.size()
    }

    /// Returns the address of element `[0, 0, ...]`.
    pub fn address(&self) -> usize {
        self.pointer.as_ptr() as usize
    }

    /// Returns the pointer to element `[0, 0, ...]`, for native calls that read.
    pub fn as_ptr(&self) -> *const u8 {
        self.pointer.as_ptr()
    }

    /// Returns the pointer to element `[0, 0, ...]` for native calls that write, if the array is
    /// exclusive.
    ///
    /// # Errors
    /// [`Error::Shared`] if it is not.
    pub fn as_mut_ptr(&mut self) -> Result<*mut u8, Error> {
        self.require_exclusive("writing")?;
        Ok(self.pointer.as_ptr())
    }

    /// Returns the owner, whose handles keep the memory alive.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Returns the owner alone, giving up the view of its memory.
    pub fn into_owner(self) -> Owner {
        self.owner
    }

    /// Finds out who may reach the memory now: [`Access::Exclusive`] only if this is the only
    /// handle on an owner that was handed over exclusively, and no two elements overlap.
    pub fn claim(&mut self) -> Access {
        let exclusive = self.access == Access::Exclusive
            && self.owner.is_unique()
            && !self.layout.may_overlap();
        if exclusive { Access::Exclusive } else { Access::Immutable }
    }

    /// Returns whether the address and strides suit references to the elements.
    pub fn is_aligned(&self) -> bool {
        self.is_empty() || self.address().is_multiple_of(self.dtype.align())
    }

    /// Returns the elements of a row-major array.
    ///
    /// # Errors
    /// [`Error::DtypeMismatch`]; [`Error::LayoutUnsupported`] for another order, gaps or an
    /// under-aligned address ([`HostArray::to_contiguous`] mends those).
    pub fn as_slice<T: Element>(&self) -> Result<&[T], Error> {
        self.check_slice::<T>()?;
        // SAFETY: the type's invariants: readable, initialised (0 or 1 if bool), not written while
        // `self` is borrowed; `check_slice` found dtype, order and alignment right.
        Ok(unsafe { std::slice::from_raw_parts(self.slice_pointer::<T>(), self.len()) })
    }

    /// Returns the elements of a row-major array for writing.
    ///
    /// # Errors
    /// As [`HostArray::as_slice`]; [`Error::Shared`] if the memory has other holders
    /// ([`HostArray::make_mut`] copies it then).
    pub fn as_slice_mut<T: Element>(&mut self) -> Result<&mut [T], Error> {
        self.check_slice::<T>()?;
        self.require_exclusive("writing")?;
        // SAFETY: as in `as_slice`, and nothing else reaches the memory while `self` is borrowed.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.slice_pointer::<T>(), self.len()) })
    }

    /// Makes the array exclusive and its memory its own, copying it into a row-major array if it
    /// is not, and returns whether it copied.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; the array is left as it was.
    pub fn make_mut(&mut self) -> Result<bool, Error> {
        if self.claim() == Access::Exclusive {
            return Ok(false);
        }
        *self = self.gather()?;
        Ok(true)
    }

    fn require_exclusive(&mut self, operation: &'static str) -> Result<(), Error> {
        if self.claim() == Access::Exclusive {
            return Ok(());
        }
        Err(Error::Shared {
            operation,
            message: "this one is shared or overlaps itself; `make_mut` copies it first".into(),
        })
    }

    fn check_slice<T: Element>(&self) -> Result<(), Error> {
        if T::DTYPE != self.dtype {
            return Err(Error::DtypeMismatch { expected: T::DTYPE, found: self.dtype });
        }
        if !self.layout.is_row_major() {
            return Err(Error::LayoutUnsupported {
                operation: "viewing as a slice",
                message: format!("{:?} is not row-major; `to_contiguous` copies it", self.layout),
            });
        }
        if !self.is_aligned() {
            return Err(Error::LayoutUnsupported {
                operation: "viewing as a slice",
                message: format!(
                    "address {:#x} is not a multiple of {}; `to_contiguous` copies it",
                    self.address(),
                    self.dtype.align()
                ),
            });
        }
        Ok(())
    }

    /// Returns the pointer of a slice, which is aligned and not null also where there is nothing.
    fn slice_pointer<T: Element>(&self) -> *mut T {
        if self.is_empty() { NonNull::dangling().as_ptr() } else { self.pointer.cast().as_ptr() }
    }
}

/// The pointer of arrays without elements: aligned for every dtype, not null, not to be read.
fn dangling() -> NonNull<u8> {
    NonNull::<u128>::dangling().cast()
}

impl fmt::Debug for HostArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostArray")
            .field("dtype", &self.dtype)
            .field("layout", &self.layout)
            .field("address", &format_args!("{:#x}", self.address()))
            .field("owner", &self.owner)
            .finish()
    }
}
