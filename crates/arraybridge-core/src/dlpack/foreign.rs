//! The C structures: payloads out to, and in from, any DLPack library.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use dlpark::allocation::dynamic::Initialized;
use dlpark::ffi::{
    DLDataType, DLDataTypeCode, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned,
};
use dlpark::metadata::Dynamic;
use dlpark::{DlpackFlags, Managed, ManagedTensorBase};

use super::{DlpackDevice, DlpackPayload};
use crate::{Access, DType, Error, Layout, Owner};

/// An owner inside a C structure, whose deleter must not unwind into C.
struct Released(Option<Owner>);

impl Drop for Released {
    fn drop(&mut self) {
        let owner = self.0.take();
        // A panic of a foreign value's drop has nowhere to go; the memory is gone either way. What
        // it carries is leaked: dropping that could panic once more.
        if let Err(thrown) = catch_unwind(AssertUnwindSafe(|| drop(owner))) {
            std::mem::forget(thrown);
        }
    }
}

impl DlpackPayload {
    /// Hands the payload to C as a `DLManagedTensorVersioned *`, whose deleter releases it.
    ///
    /// Strides are always written. The flag `READ_ONLY` is set unless the access is
    /// [`Access::Exclusive`], and `IS_COPIED` as [`DlpackPayload::is_copied`] says.
    ///
    /// Many consumers write in spite of `READ_ONLY`: give an unknown one only an exclusive payload.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`] if a length does not fit in DLPack's 64 bits; the payload is
    /// released then.
    pub fn into_versioned(self) -> Result<*mut c_void, Error> {
        let mut flags = DlpackFlags::empty();
        flags.set(DlpackFlags::READ_ONLY, self.access != Access::Exclusive);
        flags.set(DlpackFlags::IS_COPIED, self.copied && self.access == Access::Exclusive);
        let mut tensor = self.into_managed::<DLManagedTensorVersioned>()?;
        // SAFETY: IS_COPIED is set only for a payload whose producer made the copy (it said so) and
        // that nothing else reaches; READ_ONLY is cleared only for exclusive memory.
        unsafe { tensor.set_flags_unchecked(flags) };
        // SAFETY: `into_managed` filled every field from a payload whose constructor demanded what
        // DLPack demands; the structure now owns the payload's owner.
        Ok(unsafe { tensor.finish() }.into_raw().cast())
    }

    /// Hands the payload to C as a legacy `DLManagedTensor *`, whose deleter releases it.
    ///
    /// # Errors
    /// [`Error::Shared`] unless the access is exclusive: the legacy form cannot say read-only.
    /// [`Error::SizeOverflow`]. The payload is released then.
    pub fn into_legacy(self) -> Result<*mut c_void, Error> {
        if self.access != Access::Exclusive {
            return Err(Error::Shared {
                operation: "a legacy DLPack export",
                message: "its form cannot say read-only; use the versioned form or a copy".into(),
            });
        }
        let tensor = self.into_managed::<DLManagedTensor>()?;
        // SAFETY: as in `into_versioned`.
        Ok(unsafe { tensor.finish() }.into_raw().cast())
    }

    fn into_managed<M: ManagedTensorBase>(self) -> Result<Initialized<M>, Error> {
        let overflow = || Error::SizeOverflow { shape: self.layout.shape().to_vec() };
        let layout = self.layout.canonical();
        let prepared = Dynamic::new(layout.shape(), layout.strides())
            .prepare_as::<M>()
            .map_err(|_| overflow())?;
        let (code, bits) = self.dtype.to_dlpack();
        let mut tensor = prepared.initialize(Box::new(Released(Some(self.owner))));
        let data = if self.layout.is_empty() { std::ptr::null_mut() } else { self.data };
        let byte_offset = if self.layout.is_empty() { 0 } else { self.byte_offset };
        tensor
            .set_data(data)
            .set_byte_offset(byte_offset)
            .set_dtype(DLDataType::scalar(DLDataTypeCode(code), bits))
            .set_device(DLDevice {
                device_type: DLDeviceType(self.device.device_type),
                device_id: self.device.device_id,
            });
        Ok(tensor)
    }

    /// Takes over a `DLManagedTensorVersioned *` and checks every field of it.
    ///
    /// `access` is what the caller knows; the flag `READ_ONLY` lowers [`Access::Exclusive`] to
    /// [`Access::Immutable`]. Without such knowledge it is [`Access::SharedMutable`], and whoever
    /// makes an array of the payload copies it.
    ///
    /// # Errors
    /// [`Error::InvalidPayload`] for a null pointer, another major version, a dtype, shape, strides
    /// or offset that break the rules. The tensor's deleter has been called then, exactly once
    /// (but for a null pointer).
    ///
    /// # Safety
    /// `tensor` is null or a tensor that the caller owns and gives up, valid by the rules of DLPack:
    /// its shape and strides are readable, its deleter may be called once from any thread and does
    /// not unwind, and its elements are valid memory until then, initialised once queued work has run
    /// (on a device that the host can read, it has run already). `access` is true: with `Exclusive` nobody else reaches the elements, with `Immutable`
    /// nobody writes them, with `SharedMutable` nobody writes them while
    /// [`HostArray::from_dlpack`](crate::HostArray::from_dlpack) copies them.
    pub unsafe fn from_versioned(
        tensor: *mut c_void,
        access: Access,
    ) -> Result<DlpackPayload, Error> {
        // SAFETY: the caller gives up a valid tensor or null.
        let managed = unsafe { Managed::from_raw(tensor.cast::<DLManagedTensorVersioned>()) };
        let managed = managed.map_err(|error| invalid("version", &error))?;
        DlpackPayload::from_managed(managed, access)
    }

    /// Takes over a legacy `DLManagedTensor *` and checks every field of it.
    ///
    /// # Errors
    /// As [`DlpackPayload::from_versioned`].
    ///
    /// # Safety
    /// As [`DlpackPayload::from_versioned`].
    pub unsafe fn from_legacy(tensor: *mut c_void, access: Access) -> Result<DlpackPayload, Error> {
        // SAFETY: the caller gives up a valid tensor or null.
        let managed = unsafe { Managed::from_raw(tensor.cast::<DLManagedTensor>()) };
        let managed = managed.map_err(|error| invalid("tensor", &error))?;
        DlpackPayload::from_managed(managed, access)
    }

    /// Reads a tensor that `from_raw` took ownership of: dropping `managed` releases it.
    fn from_managed<M: ManagedTensorBase + 'static>(
        managed: Managed<M>,
        access: Access,
    ) -> Result<DlpackPayload, Error> {
        let tensor = managed.validate().map_err(|error| invalid("tensor", &error))?;
        let dl_dtype = tensor.dtype();
        let dtype = DType::from_dlpack(dl_dtype.code.0, dl_dtype.bits, dl_dtype.lanes)?;
        let shape = tensor.shape().iter().map(|&length| usize::try_from(length));
        let shape: Vec<usize> =
            shape.collect::<Result<_, _>>().map_err(|error| invalid("shape", &error))?;
        let layout = match tensor.strides() {
            Some(strides) => {
                let strides: Vec<isize> = strides
                    .iter()
                    .map(|&stride| isize::try_from(stride))
                    .collect::<Result<_, _>>()
                    .map_err(|error| invalid("strides", &error))?;
                Layout::new(&shape, &strides)?
            }
            None => Layout::row_major(&shape)?,
        };
        let device = DlpackDevice {
            device_type: tensor.device().device_type.0,
            device_id: tensor.device().device_id,
        };
        let byte_offset = tensor.byte_offset();
        let data = tensor.data_ptr().cast_mut();
        check_offset(data, byte_offset, &layout, dtype)?;
        let flags = managed.flags();
        let access = match access {
            Access::Exclusive if flags.contains(DlpackFlags::READ_ONLY) => Access::Immutable,
            other => other,
        };
        let owner = Owner::new(managed);
        // SAFETY: the tensor's own description, whose truth the caller of `from_versioned` or
        // `from_legacy` vouched for; `owner` calls the deleter when its last handle goes.
        let payload =
            unsafe { DlpackPayload::new(owner, data, byte_offset, dtype, layout, device, access) }?;
        let copied = flags.contains(DlpackFlags::IS_COPIED);
        Ok(if copied { payload.mark_copied() } else { payload })
    }
}

/// Checks that the first element and all others have addresses.
fn check_offset(
    data: *const c_void,
    byte_offset: u64,
    layout: &Layout,
    dtype: DType,
) -> Result<(), Error> {
    if layout.is_empty() {
        return Ok(());
    }
    let span = layout.byte_span(dtype)?;
    let first =
        usize::try_from(byte_offset).ok().and_then(|offset| (data as usize).checked_add(offset));
    let inside = first.is_some_and(|first| {
        first.checked_add_signed(span.start).is_some()
            && first.checked_add_signed(span.end).is_some()
    });
    if inside {
        return Ok(());
    }
    Err(Error::InvalidPayload {
        field: "byte_offset",
        message: format!("{byte_offset} with {layout:?} leaves the address space"),
    })
}

fn invalid(field: &'static str, error: &dyn std::fmt::Display) -> Error {
    Error::InvalidPayload { field, message: error.to_string() }
}
