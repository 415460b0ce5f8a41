//! New arrays of core's own memory, and copies between layouts.

use super::buffer::Buffer;
use super::{Access, HostArray, Owner};
use crate::{DType, Element, Error, Layout, copy};

impl HostArray {
    /// Returns a row-major array of zeros (`false` for bool), 64-byte aligned.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::SizeOverflow`].
    pub fn zeros(dtype: DType, shape: &[usize]) -> Result<HostArray, Error> {
        let layout = Layout::row_major(shape)?;
        let buffer = Buffer::zeroed(layout.nbytes(dtype)?)?;
        Ok(HostArray::from_buffer(buffer, dtype, layout))
    }

    /// Returns a row-major array with any values in it, to be overwritten: 64-byte aligned memory
    /// from the pool, which need not be cleared first.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::SizeOverflow`].
    pub fn scratch(dtype: DType, shape: &[usize]) -> Result<HostArray, Error> {
        if dtype == DType::Bool {
            // Any byte is a valid element of every other dtype.
            return HostArray::zeros(dtype, shape);
        }
        let layout = Layout::row_major(shape)?;
        let buffer = Buffer::scratch(layout.nbytes(dtype)?)?;
        Ok(HostArray::from_buffer(buffer, dtype, layout))
    }

    /// Returns a row-major array of copied elements, 64-byte aligned.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`], [`Error::OutOfMemory`], [`Error::SizeOverflow`].
    pub fn from_slice<T: Element>(elements: &[T], shape: &[usize]) -> Result<HostArray, Error> {
        let layout = Layout::row_major(shape)?;
        if layout.len() != elements.len() {
            return Err(Error::ShapeMismatch {
                operation: "array from slice",
                expected: shape.to_vec(),
                found: vec![elements.len()],
            });
        }
        let buffer = Buffer::to_fill(layout.nbytes(T::DTYPE)?)?;
        let target = buffer.pointer().cast::<T>().as_ptr();
        // SAFETY: the buffer is that long, aligned for every element, and nobody else's.
        unsafe { elements.as_ptr().copy_to_nonoverlapping(target, elements.len()) };
        Ok(HostArray::from_buffer(buffer, T::DTYPE, layout))
    }

    fn from_buffer(buffer: Buffer, dtype: DType, layout: Layout) -> HostArray {
        let pointer = buffer.pointer();
        HostArray { owner: Owner::new(buffer), pointer, dtype, layout, access: Access::Exclusive }
    }

    /// Copies the elements into a new row-major array, 64-byte aligned.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn gather(&self) -> Result<HostArray, Error> {
        let layout = Layout::row_major(self.shape())?;
        let buffer = Buffer::to_fill(layout.nbytes(self.dtype)?)?;
        let target = HostArray::from_buffer(buffer, self.dtype, layout);
        // Fills the buffer: its layout has no gaps.
        self.copy_elements(&target);
        Ok(target)
    }

    /// Returns a row-major array whose elements may be viewed as a slice: this one where it is
    /// (sharing its memory), else a copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] of the copy.
    pub fn to_contiguous(&self) -> Result<HostArray, Error> {
        if self.layout.is_row_major() && self.is_aligned() {
            Ok(self.clone())
        } else {
            self.gather()
        }
    }

    /// Copies the elements into an array of the same dtype and shape and any layout, allocating
    /// nothing.
    ///
    /// # Errors
    /// [`Error::DtypeMismatch`], [`Error::ShapeMismatch`]; [`Error::Shared`] if the target is
    /// shared or overlaps itself.
    pub fn copy_into(&self, target: &mut HostArray) -> Result<(), Error> {
        if target.dtype != self.dtype {
            return Err(Error::DtypeMismatch { expected: target.dtype, found: self.dtype });
        }
        if target.shape() != self.shape() {
            return Err(Error::ShapeMismatch {
                operation: "copying into an array",
                expected: target.shape().to_vec(),
                found: self.shape().to_vec(),
            });
        }
        target.require_exclusive("copying into an array")?;
        self.copy_elements(target);
        Ok(())
    }

    /// Copies into an array of the same dtype and shape that is exclusive.
    pub(super) fn copy_elements(&self, target: &HostArray) {
        if self.is_empty() {
            // The other axes may be too long to walk.
            return;
        }
        let size = self.dtype.size();
        // SAFETY: both arrays' elements are in live memory (the type's invariants); the target was
        // new or found exclusive by the caller, so its memory is not this array's and nobody reads
        // it, and its elements do not overlap.
        unsafe {
            copy::copy_strided(
                self.pointer.as_ptr(),
                self.layout.strides(),
                target.pointer.as_ptr(),
                target.layout.strides(),
                self.layout.shape(),
                size,
            );
        }
    }

    /// Checks that every byte of a `bool` array is 0 or 1.
    pub(super) fn check_bools(&self) -> Result<(), Error> {
        let mut bytes = self.clone();
        bytes.dtype = DType::U8;
        let contiguous = bytes.to_contiguous()?;
        // OR over all bytes instead of stopping at the first: this runs at memory speed.
        let bits = contiguous.as_slice::<u8>()?.iter().fold(0, |bits, byte| bits | byte);
        if bits <= 1 {
            return Ok(());
        }
        Err(Error::InvalidPayload {
            field: "data",
            message: "a bool array holds bytes other than 0 and 1".into(),
        })
    }
}
