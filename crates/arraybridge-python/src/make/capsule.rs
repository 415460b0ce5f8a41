//! Tensors of ours as DLPack capsules.

use std::ffi::{CStr, c_void};
use std::sync::{Mutex, PoisonError};

use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload};
use arraybridge_core::{Access, Error, Owner};
use dlpark::ffi::{DLManagedTensor, DLManagedTensorVersioned};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::attached::Attached;
use crate::error::raised;
use crate::read::{LEGACY, Seen, VERSIONED};

/// Describes an object in main memory, as `seen` has it, for a consumer in Python.
pub(crate) fn content(
    object: &Bound<'_, PyAny>,
    seen: &Seen<'_>,
    writable: bool,
) -> Result<DlpackPayload, Error> {
    let (data, dtype) = (seen.address() as *mut c_void, seen.dtype());
    let layout = seen.layout().clone();
    // Exclusive says in a capsule that the consumer may write, and nothing else.
    let access = if writable { Access::Exclusive } else { Access::Immutable };
    let owner = Owner::new(Attached::new(object.clone().unbind()));
    // SAFETY: the memory of an array that the owner holds. It is Python's: Rust code reaches it by
    // copies that it makes attached, and Python code by rules of its own, to which the consumer
    // belongs. The payload goes to that consumer and nowhere else.
    unsafe { DlpackPayload::new(owner, data, 0, dtype, layout, DlpackDevice::CPU, access) }
}

/// Makes a capsule of a versioned tensor. Dropped without having been consumed, it releases the
/// tensor.
pub(crate) fn versioned(py: Python<'_>, payload: DlpackPayload) -> Result<Bound<'_, PyAny>, Error> {
    let tensor = payload.into_versioned()?;
    // SAFETY: an unconsumed versioned tensor, which the capsule takes over.
    unsafe { wrap(py, tensor, VERSIONED, release_versioned) }
}

/// Makes a capsule of a legacy tensor, for consumers of DLPack before 1.0.
pub(crate) fn legacy(py: Python<'_>, payload: DlpackPayload) -> Result<Bound<'_, PyAny>, Error> {
    let tensor = payload.into_legacy()?;
    // SAFETY: an unconsumed legacy tensor, which the capsule takes over.
    unsafe { wrap(py, tensor, LEGACY, release_legacy) }
}

/// Makes a capsule, or releases the tensor if there is none to be had.
///
/// # Safety
/// `tensor` is one that `release`, called with a capsule of it under `name`, releases.
unsafe fn wrap<'py>(
    py: Python<'py>,
    tensor: *mut c_void,
    name: &'static CStr,
    release: unsafe extern "C" fn(*mut ffi::PyObject),
) -> Result<Bound<'py, PyAny>, Error> {
    // SAFETY: a pointer that is not null and a name that lives as long as the program.
    let made = unsafe { ffi::PyCapsule_New(tensor, name.as_ptr(), Some(release)) };
    // SAFETY: a new reference, or null with an exception set.
    let made = unsafe { Bound::from_owned_ptr_or_err(py, made) };
    made.map_err(|error| {
        if name == VERSIONED {
            // SAFETY: the caller's tensor, which no capsule has.
            unsafe { delete_versioned(tensor) };
        } else {
            // SAFETY: the caller's tensor, which no capsule has.
            unsafe { delete_legacy(tensor) };
        }
        raised(py, "making a DLPack capsule", error)
    })
}

unsafe extern "C" fn release_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: called by Python with the capsule that it destroys.
    if let Some(tensor) = unsafe { unconsumed(capsule, VERSIONED) } {
        // SAFETY: nobody took it out of its capsule.
        unsafe { delete_versioned(tensor) };
    }
}

unsafe extern "C" fn release_legacy(capsule: *mut ffi::PyObject) {
    // SAFETY: called by Python with the capsule that it destroys.
    if let Some(tensor) = unsafe { unconsumed(capsule, LEGACY) } {
        // SAFETY: nobody took it out of its capsule.
        unsafe { delete_legacy(tensor) };
    }
}

/// Returns the tensor of a capsule whose name still says that nobody took it.
///
/// # Safety
/// `capsule` is a capsule, on an attached thread.
unsafe fn unconsumed(capsule: *mut ffi::PyObject, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: as the caller says.
    if unsafe { ffi::PyCapsule_IsValid(capsule, name.as_ptr()) } == 0 {
        return None;
    }
    // SAFETY: valid under this name.
    Some(unsafe { ffi::PyCapsule_GetPointer(capsule, name.as_ptr()) })
}

/// # Safety
/// `tensor` is an unconsumed versioned tensor.
unsafe fn delete_versioned(tensor: *mut c_void) {
    let tensor = tensor.cast::<DLManagedTensorVersioned>();
    // SAFETY: a live tensor.
    if let Some(deleter) = unsafe { (*tensor).deleter } {
        // SAFETY: called once, for a tensor that nobody consumed.
        unsafe { deleter(tensor) };
    }
}

/// # Safety
/// `tensor` is an unconsumed legacy tensor.
unsafe fn delete_legacy(tensor: *mut c_void) {
    let tensor = tensor.cast::<DLManagedTensor>();
    // SAFETY: a live tensor.
    if let Some(deleter) = unsafe { (*tensor).deleter } {
        // SAFETY: called once, for a tensor that nobody consumed.
        unsafe { deleter(tensor) };
    }
}

/// An object whose `__dlpack__` hands out one capsule, once: for consumers that take objects alone.
#[pyclass(frozen, name = "Carrier", module = "arraybridge_rs")]
pub(crate) struct Carrier {
    capsule: Mutex<Option<Py<PyAny>>>,
    device: DlpackDevice,
}

impl Carrier {
    pub(crate) fn new(capsule: Bound<'_, PyAny>, device: DlpackDevice) -> Carrier {
        Carrier { capsule: Mutex::new(Some(capsule.unbind())), device }
    }
}

#[pymethods]
impl Carrier {
    #[pyo3(signature = (**_keywords))]
    fn __dlpack__(&self, _keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Py<PyAny>> {
        let taken = self.capsule.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.ok_or_else(|| PyBufferError::new_err("this tensor was consumed already"))
    }

    fn __dlpack_device__(&self) -> (u32, i32) {
        (self.device.device_type, self.device.device_id)
    }
}
