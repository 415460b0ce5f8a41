//! The library's array: a host array of any dtype.

use arraybridge_core::HostArray;

/// An array of any dtype and rank in main memory, copy-on-write.
#[derive(Clone, Debug)]
pub struct NdArray(HostArray);

impl NdArray {
    /// Wraps a host array, sharing its memory.
    pub fn from_host(array: HostArray) -> NdArray {
        NdArray(array)
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
}
