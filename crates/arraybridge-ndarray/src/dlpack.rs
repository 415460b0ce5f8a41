//! The door to the outside: raw DLPack pointers to and from libraries that are not registered.

use std::ffi::c_void;

use arraybridge_core::dlpack::DlpackPayload;
use arraybridge_core::{Access, ConversionError, Error, HostArray};

use crate::NdArray;

impl NdArray {
    /// Hands the array to C as a `DLManagedTensorVersioned *`, whose deleter releases it.
    ///
    /// Unknown consumers write in spite of flags, so only memory that nobody else reaches leaves
    /// without a copy: a shared array, or one whose elements repeat, is copied once, and the tensor
    /// has the flag `IS_COPIED` then. A pointer that nobody consumes leaks the memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] of the copy (the array comes back), [`Error::SizeOverflow`].
    pub fn into_dlpack_versioned(self) -> Result<*mut c_void, ConversionError<NdArray>> {
        self.into_exclusive_payload()?.into_versioned().map_err(lost)
    }

    /// Hands the array to C as a legacy `DLManagedTensor *`, for consumers of DLPack before 1.0;
    /// otherwise as [`NdArray::into_dlpack_versioned`].
    ///
    /// # Errors
    /// As [`NdArray::into_dlpack_versioned`].
    pub fn into_dlpack_legacy(self) -> Result<*mut c_void, ConversionError<NdArray>> {
        self.into_exclusive_payload()?.into_legacy().map_err(lost)
    }

    /// Hands the array to C as a `DLManagedTensorVersioned *` with the flag `READ_ONLY`, without a
    /// copy also while its memory is shared.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`].
    ///
    /// # Safety
    /// No consumer of the tensor writes its elements.
    pub unsafe fn into_dlpack_read_only(self) -> Result<*mut c_void, Error> {
        // A second handle makes the claim find shared memory, as it is for the consumer.
        let shared = self.clone();
        let payload = self.into_host().into_dlpack()?;
        drop(shared);
        payload.into_versioned()
    }

    fn into_exclusive_payload(mut self) -> Result<DlpackPayload, ConversionError<NdArray>> {
        match self.make_mut() {
            Ok(copied) => {
                let payload = self.into_host().into_dlpack().map_err(lost)?;
                Ok(if copied { payload.mark_copied() } else { payload })
            }
            Err(error) => Err(ConversionError::new(error, Some(self))),
        }
    }

    /// Takes over a `DLManagedTensorVersioned *` in memory that the host can read, checking every
    /// field of it.
    ///
    /// `access` is what the caller vouches for. [`Access::SharedMutable`], for a tensor of which
    /// nothing is known, copies the elements and releases the tensor; the others take it as it is,
    /// and release it when the array is dropped. The flag `READ_ONLY` lowers [`Access::Exclusive`]
    /// to [`Access::Immutable`].
    ///
    /// # Errors
    /// [`Error::InvalidPayload`] for what breaks the rules of DLPack or has no dtype here, and for
    /// memory that the host cannot read; [`Error::OutOfMemory`]. The tensor's deleter has been
    /// called then.
    ///
    /// # Safety
    /// As [`DlpackPayload::from_versioned`]; the producer has finished writing.
    pub unsafe fn from_dlpack_versioned(
        tensor: *mut c_void,
        access: Access,
    ) -> Result<NdArray, Error> {
        // SAFETY: the caller's promise.
        let payload = unsafe { DlpackPayload::from_versioned(tensor, access) }?;
        HostArray::from_dlpack(payload).map(NdArray::from_host)
    }

    /// Takes over a legacy `DLManagedTensor *`, otherwise as [`NdArray::from_dlpack_versioned`].
    ///
    /// # Errors
    /// As [`NdArray::from_dlpack_versioned`].
    ///
    /// # Safety
    /// As [`NdArray::from_dlpack_versioned`].
    pub unsafe fn from_dlpack_legacy(
        tensor: *mut c_void,
        access: Access,
    ) -> Result<NdArray, Error> {
        // SAFETY: the caller's promise.
        let payload = unsafe { DlpackPayload::from_legacy(tensor, access) }?;
        HostArray::from_dlpack(payload).map(NdArray::from_host)
    }
}

/// An error of a payload that has been released with it.
fn lost(error: Error) -> ConversionError<NdArray> {
    ConversionError::new(error, None)
}
