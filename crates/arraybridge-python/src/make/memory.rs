//! NumPy arrays over a host array's memory.

use std::sync::{Mutex, PoisonError};

use arraybridge_core::{Error, HostArray};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::numpy;
use crate::dtype;
use crate::error::raised;

/// What keeps the memory under a NumPy array of ours: the array's `base`.
#[pyclass(frozen, name = "Memory", module = "arraybridge_rs")]
pub(crate) struct Memory {
    /// Locked for a moment and never while anything is dropped or called.
    array: Mutex<Option<HostArray>>,
    writable: bool,
}

impl Memory {
    pub(crate) fn new(array: HostArray, writable: bool) -> Memory {
        Memory { array: Mutex::new(Some(array)), writable }
    }

    /// Takes the host array out. Only for a memory that nobody asks any more.
    pub(crate) fn take(&self) -> Option<HostArray> {
        self.array.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns a second handle.
    pub(crate) fn array(&self) -> Option<HostArray> {
        self.array.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[pymethods]
impl Memory {
    /// As a dictionary and not as a C structure: NumPy keeps a tuple under arrays that are made of
    /// that, which the garbage collector lists, so that anybody would find the memory.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let array = self.array().ok_or_else(|| {
            pyo3::exceptions::PyBufferError::new_err("the memory has been taken back")
        })?;
        describe(py, &array, self.writable)
    }
}

/// Describes a host array in the terms of the array interface, version 3.
pub(crate) fn describe<'py>(
    py: Python<'py>,
    array: &HostArray,
    writable: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let size = array.dtype().size() as isize;
    // An axis that is never stepped along may have any stride here, and NumPy wants bytes.
    let layout = array.layout().canonical();
    let strides: Option<Vec<isize>> =
        layout.strides().iter().map(|step| step.checked_mul(size)).collect();
    let strides = strides.ok_or_else(|| {
        pyo3::exceptions::PyBufferError::new_err("a stride in bytes leaves the address space")
    })?;
    let told = PyDict::new(py);
    told.set_item(pyo3::intern!(py, "version"), 3)?;
    told.set_item(pyo3::intern!(py, "shape"), PyTuple::new(py, layout.shape())?)?;
    told.set_item(pyo3::intern!(py, "typestr"), dtype::type_text(array.dtype()))?;
    told.set_item(pyo3::intern!(py, "strides"), PyTuple::new(py, strides)?)?;
    told.set_item(pyo3::intern!(py, "data"), (array.address(), !writable))?;
    Ok(told)
}

/// Makes a writable NumPy array over the memory of a host array, or over a copy if anything else
/// reaches that.
pub(crate) fn over<'py>(py: Python<'py>, mut array: HostArray) -> Result<Bound<'py, PyAny>, Error> {
    array.make_mut()?;
    view(py, array, true)
}

/// Makes a writable NumPy array over memory whose sole ownership was proven before: during a
/// conversion core holds a second handle, beside which none can be.
pub(crate) fn over_claimed<'py>(
    py: Python<'py>,
    array: HostArray,
) -> Result<Bound<'py, PyAny>, Error> {
    view(py, array, true)
}

/// Makes a NumPy array over a host array's memory, which the array's `base` keeps.
pub(crate) fn view<'py>(
    py: Python<'py>,
    array: HostArray,
    writable: bool,
) -> Result<Bound<'py, PyAny>, Error> {
    let failed = |error| raised(py, "making a NumPy array", error);
    let dtype = array.dtype();
    let scalar = dtype::is_extension(dtype).then(|| dtype::object(py, dtype)).transpose()?;
    let memory = Bound::new(py, Memory::new(array, writable)).map_err(failed)?;
    let made = numpy(py)?.call_method1("asarray", (memory,)).map_err(failed)?;
    match scalar {
        Some(scalar) => made.call_method1("view", (scalar,)).map_err(failed),
        None => Ok(made),
    }
}
