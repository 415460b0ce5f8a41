//! The C exchange API of DLPack 1.3: a table of functions on the producer's type.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use arraybridge_core::Error;
use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload};
use dlpark::ffi::{
    DLManagedTensorVersioned, DLPACK_MAJOR_VERSION, DLPackExchangeAPI, DLPackExchangeAPIHeader,
};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::{Seen, capsule};
use crate::Maker;
use crate::error::raised;
use crate::per_type::PerType;

const NAME: &std::ffi::CStr = c"dlpack_exchange_api";

/// The functions of a table that are used here. Producers keep it for the life of the process.
#[derive(Clone, Copy)]
pub(crate) struct Table {
    from_object:
        Option<unsafe extern "C" fn(*mut c_void, *mut *mut DLManagedTensorVersioned) -> c_int>,
    to_object:
        Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut *mut c_void) -> c_int>,
}

/// The tables of libraries' own types, and that those have none.
static TABLES: PerType<Option<Table>> = PerType::new();

/// Exports an object through its type's table, if it has one of a version that is understood.
///
/// Only main memory comes this way: the table's functions do not wait for queued work.
pub(super) fn export<'py>(object: &Bound<'py, PyAny>) -> Result<Option<Seen<'py>>, Error> {
    let py = object.py();
    let Some(function) = Table::of(&object.get_type())?.and_then(|table| table.from_object) else {
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
    Ok((payload.device() == DlpackDevice::CPU).then(|| Seen::of_export(payload)))
}

impl Table {
    /// Returns the table of a type, of this major version.
    pub(crate) fn of(kind: &Bound<'_, PyType>) -> Result<Option<Table>, Error> {
        if let Some(known) = TABLES.get(kind) {
            return Ok(known);
        }
        let found = find(kind)?;
        if Maker::owns(kind) {
            TABLES.keep(kind, found);
        }
        Ok(found)
    }

    /// Makes an object of the table's library over a tensor in main memory, which it takes over;
    /// `None` and the tensor is there still if the table has no such function.
    pub(crate) fn import<'py>(
        self,
        py: Python<'py>,
        payload: DlpackPayload,
    ) -> Result<Option<Bound<'py, PyAny>>, Error> {
        let Some(function) = self.to_object else { return Ok(None) };
        let tensor = payload.into_versioned()?;
        let mut made = std::ptr::null_mut();
        // SAFETY: an unconsumed tensor, which is given up, and a place for the result.
        let failed = unsafe { function(tensor.cast(), &mut made) } != 0;
        let made = if failed { std::ptr::null_mut() } else { made.cast() };
        // SAFETY: a new reference, or null with an exception set.
        let made = unsafe { Bound::from_owned_ptr_or_err(py, made) };
        made.map(Some).map_err(|error| raised(py, "giving a tensor to a Python library", error))
    }
}

fn find(kind: &Bound<'_, PyType>) -> Result<Option<Table>, Error> {
    let name = pyo3::intern!(kind.py(), "__dlpack_c_exchange_api__");
    let Some(capsule) = super::attribute(kind.as_any(), name)? else { return Ok(None) };
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
            // SAFETY: a table of this version.
            let table = unsafe { header.cast::<DLPackExchangeAPI>().read() };
            return Ok(Some(Table {
                from_object: table.managed_tensor_from_py_object_no_sync,
                to_object: table.managed_tensor_to_py_object_no_sync,
            }));
        }
        next = NonNull::new(header_read.prev_api);
    }
    Ok(None)
}
