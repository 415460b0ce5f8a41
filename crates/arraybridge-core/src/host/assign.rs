//! Writing a part of an array.

use super::{Access, HostArray};
use crate::{AxisSlice, Error};

impl HostArray {
    /// Overwrites the part that slices select with `values`, repeated to its shape by NumPy's
    /// rules, allocating nothing.
    ///
    /// ```
    /// use arraybridge_core::{AxisSlice, DType, HostArray};
    ///
    /// let mut array = HostArray::zeros(DType::U8, &[2, 3])?;
    /// let row = HostArray::from_slice(&[1u8, 2, 3], &[3])?;
    /// array.assign(&[AxisSlice::from(1..)], &row)?;
    /// assert_eq!(array.as_slice::<u8>()?, [0, 0, 0, 1, 2, 3]);
    /// # Ok::<(), arraybridge_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DtypeMismatch`], [`Error::ShapeMismatch`], what [`HostArray::slice`] says, and
    /// [`Error::Shared`] if this array is shared or overlaps itself; nothing is written then.
    pub fn assign(&mut self, slices: &[AxisSlice], values: &HostArray) -> Result<(), Error> {
        if values.dtype != self.dtype {
            return Err(Error::DtypeMismatch { expected: self.dtype, found: values.dtype });
        }
        let (layout, offset) = self.layout.slice(slices)?;
        let repeated =
            values.layout.broadcast_to(layout.shape()).map_err(|_| Error::ShapeMismatch {
                operation: "assign",
                expected: layout.shape().to_vec(),
                found: values.shape().to_vec(),
            })?;
        self.require_exclusive("assign")?;
        let part = self.relaid(layout, offset);
        debug_assert_eq!(part.access, Access::Exclusive);
        // The part is of an exclusive array that is borrowed for writing, and ends here.
        values.relaid(repeated, 0).copy_elements(&part);
        Ok(())
    }
}
