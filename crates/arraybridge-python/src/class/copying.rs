//! Copies by Python's own means: the module `copy`, and pickles.

use arraybridge_core::AnyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Array;
use crate::exception;

#[pymethods]
impl Array {
    fn __copy__(&self, py: Python<'_>) -> PyResult<Array> {
        Array::new(self.with(py, AnyArray::duplicate)?).map_err(exception)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyDict>) -> PyResult<Array> {
        self.__copy__(py)
    }

    /// An object of a Python library is pickled by that library; of other arrays it is the elements
    /// that are, and they go to the same library on the same device.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (py, kind) = (slf.py(), slf.get_type());
        let home = slf.get().home;
        if home.maker.is_some() {
            let arguments = (slf.get().unwrap(py)?,).into_pyobject(py)?;
            return Ok((kind.into_any(), arguments.into_any()));
        }
        let elements = kind.call1((slf.get().numpy(py)?,))?;
        let arguments = (elements, home.name(), home.device.to_string()).into_pyobject(py)?;
        Ok((kind.getattr(pyo3::intern!(py, "to"))?, arguments.into_any()))
    }
}
