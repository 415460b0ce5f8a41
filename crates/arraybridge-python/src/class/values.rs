//! The elements as Python's values: numbers of arrays that have one element, and iteration.

use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyFloat, PyInt, PyRange, PyString};

use super::Array;
use crate::{exception, make};

type Slf<'a, 'py> = &'a Bound<'py, Array>;
type Made<'py> = PyResult<Bound<'py, PyAny>>;

#[pymethods]
impl Array {
    fn __contains__<'py>(slf: Slf<'_, 'py>, item: &Bound<'py, PyAny>) -> PyResult<bool> {
        let equal = Self::__richcmp__(slf, item, CompareOp::Eq)?;
        let any = make::numpy(slf.py()).map_err(exception)?.getattr("any")?;
        any.call1((equal,))?.is_truthy()
    }

    /// Gives out the sub-arrays at the indices of the first axis.
    fn __iter__<'py>(slf: Slf<'_, 'py>) -> Made<'py> {
        let range = slf.py().get_type::<PyRange>().call1((length(slf)?,))?;
        planes(slf, &range)
    }

    fn __reversed__<'py>(slf: Slf<'_, 'py>) -> Made<'py> {
        let range = slf.py().get_type::<PyRange>().call1((length(slf)? - 1, -1, -1))?;
        planes(slf, &range)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.numpy(py)?.is_truthy()
    }

    fn __float__<'py>(&self, py: Python<'py>) -> Made<'py> {
        py.get_type::<PyFloat>().call1((self.numpy(py)?,))
    }

    fn __int__<'py>(&self, py: Python<'py>) -> Made<'py> {
        py.get_type::<PyInt>().call1((self.numpy(py)?,))
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> Made<'py> {
        py.get_type::<PyComplex>().call1((self.numpy(py)?,))
    }

    fn __index__<'py>(&self, py: Python<'py>) -> Made<'py> {
        self.numpy(py)?.call_method0("__index__")
    }

    fn __format__<'py>(slf: Slf<'_, 'py>, form: &Bound<'py, PyString>) -> Made<'py> {
        let py = slf.py();
        if slf.get().described(py)?.layout.rank() == 0 {
            return slf.get().numpy(py)?.call_method1("__format__", (form,));
        }
        if form.is_empty()? {
            return Ok(slf.str()?.into_any());
        }
        Err(PyTypeError::new_err("an array with axes has no format but the empty one"))
    }

    /// Returns the one element of an array that has one, as a Python number.
    fn item<'py>(&self, py: Python<'py>) -> Made<'py> {
        self.numpy(py)?.call_method0("item")
    }
}

fn length(slf: Slf<'_, '_>) -> PyResult<isize> {
    let seen = slf.get().described(slf.py())?;
    match seen.layout.shape() {
        [length, ..] => Ok(isize::try_from(*length)?),
        [] => Err(PyTypeError::new_err("an array without axes cannot be iterated over")),
    }
}

fn planes<'py>(slf: Slf<'_, 'py>, indices: &Bound<'py, PyAny>) -> Made<'py> {
    let plane = slf.getattr(pyo3::intern!(slf.py(), "__getitem__"))?;
    slf.py().import("builtins")?.call_method1("map", (plane, indices))
}

impl Array {
    /// Returns the elements in main memory: NumPy's view of them, or a copy from elsewhere.
    pub(super) fn numpy<'py>(&self, py: Python<'py>) -> Made<'py> {
        self.__array__(py, None, None)
    }
}
