//! The C exchange API of DLPack 1.3: a table of functions on the producer's type.

use std::ptr::NonNull;

use arraybridge_core::Error;
use arraybridge_core::dlpack::DlpackPayload;
use dlpark::ffi::{DLPACK_MAJOR_VERSION, DLPackExchangeAPI, DLPackExchangeAPIHeader};
use pyo3::ffi;
use pyo3::prelude::*;

use super::capsule;

const NAME: &std::ffi::CStr = c"dlpack_exchange_api";

/// Exports an object through its type's table, if it has one of a version that is understood.
///
/// Only main memory comes this way: the table's functions do not wait for queued work.
pub(super) fn export(object: &Bound<'_, PyAny>) -> Result<Option<DlpackPayload>, Error> {
    let py = object.py();
    let Some(table) = table(object)? else { return Ok(None) };
    // SAFETY: producers keep their table for the life of the process.
    let Some(function) = (unsafe { table.as_ref() }).managed_tensor_from_py_object_no_sync else {
        return Ok(None);
    };
    let mut tensor = std::ptr::null_mut();
    // SAFETY: an object of the type that the table was found on, and a place for the result.
    let failed = unsafe { function(object.as_ptr().cast(), &mut tensor) } != 0;
    if failed || tensor.is_null() {
        // `__dlpack__` says better why not, and to whom: for a sparse tensor PyTorch's table has
        // but a trace of its C++.
        drop(PyErr::take(py));
        return Ok(None);
    }
    let payload = capsule::from_pointer(tensor.cast())?;
    // Work may be queued elsewhere; `__dlpack__` orders it.
    Ok((payload.device() == arraybridge_core::dlpack::DlpackDevice::CPU).then_some(payload))
}

/// Returns the table of an object's type, of this major version.
fn table(object: &Bound<'_, PyAny>) -> Result<Option<NonNull<DLPackExchangeAPI>>, Error> {
    let (py, kind) = (object.py(), object.get_type());
    let Some(capsule) =
        super::attribute(kind.as_any(), pyo3::intern!(py, "__dlpack_c_exchange_api__"))?
    else {
        return Ok(None);
    };
    // SAFETY: a live object and a name; any object may be asked.
    if unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), NAME.as_ptr()) } == 0 {
        return Ok(None);
    }
    // SAFETY: valid under this name.
    let found = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), NAME.as_ptr()) };
    let mut next = NonNull::new(found.cast::<DLPackExchangeAPIHeader>());
    while let Some(header) = next {
        // SAFETY: a table begins with its header, whatever its version; the chain ends with null.
        let header_read = unsafe { header.read() };
        if header_read.version.major == DLPACK_MAJOR_VERSION {
            return Ok(Some(header.cast()));
        }
        next = NonNull::new(header_read.prev_api);
    }
    Ok(None)
}
