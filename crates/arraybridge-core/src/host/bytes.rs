//! An array's bytes, whatever its dtype.

use super::{Access, HostArray};
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
    /// The bytes of a `bool` array can be read so but not written ([`HostArray::make_mut`] copies
    /// them first): its owner may take them for `bool`s again.
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
        if checked && dtype != DType::Bool {
            self.access = Access::Immutable;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_byte_but_0_and_1_gets_into_a_vector_of_bools() {
        let array = HostArray::from_vec(vec![true; 3], &[3]).unwrap();
        let mut bytes = array.reinterpret(DType::U8, &[3]).unwrap();
        assert!(matches!(bytes.as_slice_mut::<u8>(), Err(Error::Shared { .. })));
        // Written, the bytes would come back under a part that shows none of them.
        let part = bytes.slice(&[(0..0isize).into()]).unwrap();
        drop(bytes);
        let part = part.reinterpret(DType::Bool, &[0]).unwrap();
        assert_eq!(part.into_vec_parts::<bool>().unwrap().0, [true; 3]);

        let array = HostArray::from_vec(vec![true; 3], &[3]).unwrap();
        let mut bytes = array.reinterpret(DType::U8, &[3]).unwrap();
        assert!(bytes.make_mut().unwrap());
        bytes.as_slice_mut::<u8>().unwrap()[0] = 7;
        assert!(bytes.reinterpret(DType::Bool, &[3]).is_err());
    }
}
