//! DLPack's capsules: taken over once, and marked as used.

use std::ffi::{CStr, c_void};

use arraybridge_core::dlpack::DlpackPayload;
use arraybridge_core::{Access, Error};
use dlpark::DlpackFlags;
use dlpark::ffi::DLManagedTensorVersioned;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::attached::Attached;
use crate::error::raised;

pub(crate) const VERSIONED: &CStr = c"dltensor_versioned";
pub(crate) const LEGACY: &CStr = c"dltensor";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";
const USED_LEGACY: &CStr = c"used_dltensor";

/// Takes over the tensor in a capsule, which is marked as used.
///
/// Where a copy was asked for, the tensor is nobody else's if the producer says that it is one: many
/// take the keyword and ignore it.
pub(crate) fn take(capsule: &Bound<'_, PyAny>, copy: bool) -> Result<DlpackPayload, Error> {
    let py = capsule.py();
    for (name, used) in [(VERSIONED, USED_VERSIONED), (LEGACY, USED_LEGACY)] {
        // SAFETY: a live object and a name; any object may be asked.
        if unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) } == 0 {
            continue;
        }
        // SAFETY: valid under this name.
        let tensor = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()) };
        // SAFETY: a valid capsule and a name that lives as long as the program. From here on the
        // capsule's destructor leaves the tensor alone.
        let marked = unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) };
        if marked != 0 {
            return Err(raised(py, "taking a DLPack capsule", PyErr::fetch(py)));
        }
        let copied = copy && name == VERSIONED && {
            let tensor = tensor.cast::<DLManagedTensorVersioned>();
            // SAFETY: the live tensor that the capsule had. Its head, flags included, is the same in
            // all versions.
            unsafe { (*tensor).flags }.contains(DlpackFlags::IS_COPIED)
        };
        let access = if copied { Access::Exclusive } else { Access::SharedMutable };
        return from_tensor(tensor, name == VERSIONED, access);
    }
    Err(Error::InvalidPayload {
        field: "capsule",
        message: "it holds no DLPack tensor, or one that was taken already".into(),
    })
}

/// Takes over a tensor whose producer is a Python library.
fn from_tensor(
    tensor: *mut c_void,
    versioned: bool,
    access: Access,
) -> Result<DlpackPayload, Error> {
    let payload = if versioned {
        // SAFETY: an unconsumed tensor of a producer that keeps DLPack's rules, which is what the
        // capsule's name says; this thread is attached, so that nobody else writes the elements
        // while they are copied here, unless the producer breaks Python's own rule. What it says to
        // be a copy for us alone is believed.
        unsafe { DlpackPayload::from_versioned(tensor, access) }
    } else {
        // SAFETY: as above.
        unsafe { DlpackPayload::from_legacy(tensor, access) }
    }?;
    released_attached(payload)
}

/// Takes over a versioned tensor that a producer handed out without a capsule.
pub(crate) fn from_pointer(tensor: *mut c_void) -> Result<DlpackPayload, Error> {
    from_tensor(tensor, true, Access::SharedMutable)
}

/// Lets the tensor's deleter run attached, on whichever thread: not every producer's takes care of
/// that itself.
fn released_attached(payload: DlpackPayload) -> Result<DlpackPayload, Error> {
    let (data, offset) = (payload.data(), payload.byte_offset());
    let (dtype, layout) = (payload.dtype(), payload.layout().clone());
    let (device, access, copied) = (payload.device(), payload.access(), payload.is_copied());
    let owner = arraybridge_core::Owner::new(Attached::new(payload.into_owner()));
    // SAFETY: the same description under an owner that holds the payload's.
    let payload =
        unsafe { DlpackPayload::new(owner, data, offset, dtype, layout, device, access) }?;
    Ok(if copied { payload.mark_copied() } else { payload })
}
