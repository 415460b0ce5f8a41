//! The class's side of DLPack's C exchange API, version 1.3.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload};
use arraybridge_core::{Access, AnyArray, DType, Error, HostArray};
use dlpark::ffi::{
    DLDeviceType, DLManagedTensorVersioned, DLPackExchangeAPI, DLPackExchangeAPIHeader,
    DLPackVersion, DLTensor,
};
use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;

use super::Array;
use crate::{Maker, PyArray, PyLibrary, exception, interpreter, make};

/// A table that lives as long as the process.
struct Table(DLPackExchangeAPI);

// SAFETY: functions and a null pointer, never written.
unsafe impl Sync for Table {}

static TABLE: Table = Table(DLPackExchangeAPI {
    header: DLPackExchangeAPIHeader {
        version: DLPackVersion { major: 1, minor: 3 },
        prev_api: std::ptr::null_mut(),
    },
    managed_tensor_allocator: Some(allocate),
    managed_tensor_from_py_object_no_sync: Some(from_object),
    managed_tensor_to_py_object_no_sync: Some(to_object),
    dltensor_from_py_object_no_sync: None,
    current_work_stream: Some(work_stream),
});

/// Returns the table's capsule.
pub(crate) fn capsule(py: Python<'_>) -> PyResult<Py<PyAny>> {
    let table = (&raw const TABLE.0).cast_mut().cast();
    // SAFETY: a pointer that is not null, to what lives as long as the process, and such a name.
    let made = unsafe { ffi::PyCapsule_New(table, c"dlpack_exchange_api".as_ptr(), None) };
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, made) }.map(Bound::unbind)
}

/// Runs `body`, answers 0, and sets an exception for C where it fails.
fn answer(body: impl FnOnce(Python<'_>) -> PyResult<()>) -> c_int {
    let run = || Python::try_attach(|py| body(py).map_err(|error| error.restore(py)));
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Some(Ok(()))) => 0,
        Ok(_) => -1,
        Err(_) => {
            Python::try_attach(|py| PyRuntimeError::new_err("a panic").restore(py));
            -1
        }
    }
}

/// # Safety
/// As DLPack has it: called with a prototype whose shape is readable, a place for the tensor, and an
/// optional function for errors.
unsafe extern "C" fn allocate(
    prototype: *mut DLTensor,
    out: *mut *mut DLManagedTensorVersioned,
    context: *mut c_void,
    report: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char)>,
) -> c_int {
    let make = || -> Result<*mut c_void, Error> {
        // SAFETY: the caller's prototype.
        let asked = unsafe { prototype.read() };
        let rank = usize::try_from(asked.ndim);
        let rank = rank.map_err(|_| refuse("ndim", "the number of axes is negative"))?;
        let lengths = if rank == 0 {
            &[]
        } else if asked.shape.is_null() {
            return Err(refuse("shape", "it has axes and no lengths"));
        } else {
            // SAFETY: the prototype has as many lengths as axes.
            unsafe { std::slice::from_raw_parts(asked.shape, rank) }
        };
        let shape: Option<Vec<usize>> =
            lengths.iter().map(|&length| usize::try_from(length).ok()).collect();
        let shape = shape.ok_or_else(|| refuse("shape", "a length is negative"))?;
        if asked.device.device_type.0 != DlpackDevice::CPU.device_type {
            return Err(refuse("device", "only main memory is allocated here"));
        }
        let dtype = DType::from_dlpack(asked.dtype.code.0, asked.dtype.bits, asked.dtype.lanes)?;
        HostArray::zeros(dtype, &shape)?.into_dlpack()?.into_versioned()
    };
    let fail = |kind: &CStr, text: &str| {
        let text = CString::new(text).unwrap_or_default();
        if let Some(report) = report {
            // SAFETY: the caller's function and context, with texts that live during the call.
            unsafe { report(context, kind.as_ptr(), text.as_ptr()) };
        }
        -1
    };
    match catch_unwind(AssertUnwindSafe(make)) {
        Ok(Ok(tensor)) => {
            // SAFETY: the caller's place.
            unsafe { out.write(tensor.cast()) };
            0
        }
        Ok(Err(error)) => {
            let kind = if error.is_out_of_memory() { c"MemoryError" } else { c"BufferError" };
            fail(kind, &error.to_string())
        }
        Err(_) => fail(c"RuntimeError", "a panic"),
    }
}

fn refuse(field: &'static str, message: &str) -> Error {
    Error::InvalidPayload { field, message: message.into() }
}

/// # Safety
/// As DLPack has it: called attached, with an object of this class and a place for the tensor.
unsafe extern "C" fn from_object(
    object: *mut c_void,
    out: *mut *mut DLManagedTensorVersioned,
) -> c_int {
    answer(|py| {
        // SAFETY: the caller's object, which it keeps during the call.
        let object = unsafe { Bound::from_borrowed_ptr(py, object.cast()) };
        let array = object.cast::<Array>().map_err(|_| PyTypeError::new_err("not an Array"))?;
        if !array.get().home.device.is_host() {
            return Err(PyBufferError::new_err("the array is not in main memory; use __dlpack__"));
        }
        let tensor = array.get().tensor(py, false)?.into_versioned().map_err(exception)?;
        // SAFETY: the caller's place.
        unsafe { out.write(tensor.cast()) };
        Ok(())
    })
}

/// # Safety
/// As DLPack has it: called attached, with a tensor that is given up and a place for the object.
unsafe extern "C" fn to_object(
    tensor: *mut DLManagedTensorVersioned,
    out: *mut *mut c_void,
) -> c_int {
    answer(|py| {
        // SAFETY: the tensor is given up by the caller. Others may write it, which the access says.
        let payload =
            unsafe { DlpackPayload::from_versioned(tensor.cast(), Access::SharedMutable) };
        let payload = payload.map_err(exception)?;
        interpreter::require().map_err(exception)?;
        if payload.device() != DlpackDevice::CPU {
            return Err(PyBufferError::new_err("only main memory is taken here"));
        }
        let host = HostArray::from_dlpack(payload).map_err(exception)?;
        let object = make::memory::over(py, host).map_err(exception)?;
        let array = AnyArray::of::<PyLibrary>(PyArray::new(object, Maker::Numpy));
        let array = Bound::new(py, Array::new(array).map_err(exception)?)?;
        // SAFETY: the caller's place, which takes over the reference.
        unsafe { out.write(array.into_ptr().cast()) };
        Ok(())
    })
}

/// # Safety
/// As DLPack has it: called with a place for the stream.
unsafe extern "C" fn work_stream(_: DLDeviceType, _: i32, out: *mut *mut c_void) -> c_int {
    // SAFETY: the caller's place.
    unsafe { out.write(std::ptr::null_mut()) };
    0
}
