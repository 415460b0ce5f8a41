//! NumPy's and Python's protocols for memory: the array interface, `__array__`, buffers.

use std::ffi::c_int;

use arraybridge_core::Error;
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

use super::Array;
use crate::dtype;

#[pymethods]
impl Array {
    /// The array interface, version 3, of an array in main memory.
    #[getter]
    fn __array_interface__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.get();
        if !this.home.device.is_host() {
            return Err(PyAttributeError::new_err(
                "the array is not in main memory; `to(library, 'host')` brings it there",
            ));
        }
        if dtype::is_extension(this.described(py)?.dtype) {
            // The interface would tell opaque bytes, and NumPy reads it before `__array__`.
            return Err(PyAttributeError::new_err(
                "the array interface has no such dtype; `__array__` and `__dlpack__` have",
            ));
        }
        let name = pyo3::intern!(py, "__array_interface__");
        if this.home.maker.is_some() {
            // Whose memory stays where it is for as long as the object lives, which this one holds.
            return this.unwrap(py)?.getattr(name);
        }
        let array = this.shared(py)?;
        let told = array.getattr(name)?;
        // Who reads it holds this object and not the NumPy array.
        this.content.expose(array);
        Ok(told)
    }

    /// CUDA's array interface, of an array of a Python library that has it.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let none =
            || PyAttributeError::new_err("the array is none of a Python library on a CUDA device");
        let home = self.home;
        if home.maker.is_none() || home.device.is_host() {
            return Err(none());
        }
        self.unwrap(py)?.getattr(pyo3::intern!(py, "__cuda_array_interface__"))
    }

    /// NumPy's array of the elements: over the same memory unless another dtype or a copy is asked
    /// for. An array elsewhere than in main memory is copied, unless `copy` is false.
    #[pyo3(signature = (dtype = None, copy = None))]
    pub(super) fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let home = self.home;
        let refused = || {
            PyValueError::new_err(format!(
                "a copy was refused, and the array cannot be had without one (it is one of {} on {})",
                home.name(),
                home.device
            ))
        };
        let on_host = home.device.is_host();
        if !on_host && copy == Some(false) {
            return Err(refused());
        }
        let array = if on_host {
            self.shared(py)?
        } else {
            let host = self.with(py, |array| {
                let mut host = array.to_host()?;
                // What comes from a library that never writes may be its own memory.
                host.make_mut()?;
                Ok(host)
            })?;
            crate::make::memory::over(py, host).map_err(crate::exception)?
        };
        let same = match dtype {
            Some(wanted) if !wanted.is_none() => {
                let wanted = crate::make::numpy(py).map_err(crate::exception)?;
                let wanted = wanted.call_method1("dtype", (dtype,))?;
                let same = array.getattr(pyo3::intern!(py, "dtype"))?.eq(&wanted)?;
                if !same {
                    if copy == Some(false) {
                        return Err(refused());
                    }
                    return array.call_method1(pyo3::intern!(py, "astype"), (wanted,));
                }
                same
            }
            _ => true,
        };
        if copy == Some(true) && on_host && same {
            return array.call_method0(pyo3::intern!(py, "copy"));
        }
        Ok(array)
    }

    /// The buffer protocol, of an array in main memory.
    ///
    /// # Safety
    /// Called by Python, with a view to fill or null.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let py = slf.py();
        let array = slf
            .get()
            .shared(py)
            .map_err(|error| PyBufferError::new_err(error.value(py).to_string()))?;
        // NumPy's array fills the view and stays its owner, so that it is released there.
        // SAFETY: a live object, and the view that Python gave to be filled.
        match unsafe { ffi::PyObject_GetBuffer(array.as_ptr(), view, flags) } {
            0 => Ok(()),
            _ => Err(PyErr::take(py).unwrap_or_else(|| {
                PyBufferError::new_err(Error::already_taken("a buffer").to_string())
            })),
        }
    }
}
