//! An array's bytes, whatever its dtype.

use super::HostArray;
use crate::{DType, Error, Layout};

impl HostArray {
    /// Returns the bytes of a row-major array of any dtype and alignment.
    ///
    /// # Errors
    /// [`Error::LayoutUnsupported`] for another order or gaps.
    pub fn as_bytes(&self) -> Result<&[u8], Error> {
        if !self.layout.is_row_major() {
            return Err(Error::LayoutUnsupported {
                operation: "viewing as bytes",
                message: format!("{:?} is not row-major; `to_contiguous` copies it", self.layout),
            });
        }
        // SAFETY: the type's invariants: this many initialised bytes from the pointer on (any, if
        // there are none), not written while `self` is borrowed.
        Ok(unsafe { std::slice::from_raw_parts(self.slice_pointer::<u8>(), self.nbytes()) })
    }

    /// Reads the bytes of a row-major array as elements of another dtype, over the same memory.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the bytes are not those of this shape,
    /// [`Error::LayoutUnsupported`] as [`HostArray::as_bytes`], [`Error::InvalidPayload`] if the
    /// dtype is bool and a byte is neither 0 nor 1.
    pub fn reinterpret(mut self, dtype: DType, shape: &[usize]) -> Result<HostArray, Error> {
        let layout = Layout::row_major(shape)?;
        if layout.nbytes(dtype)? != self.as_bytes()?.len() {
            return Err(Error::ShapeMismatch {
                operation: "reading bytes as another dtype",
                expected: shape.to_vec(),
                found: self.shape().to_vec(),
            });
        }
        let checked = self.dtype == DType::Bool;
        (self.dtype, self.layout) = (dtype, layout);
        if dtype == DType::Bool && !checked {
            self.check_bools()?;
        }
        Ok(self)
    }
}
