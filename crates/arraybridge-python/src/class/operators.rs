//! Python's operators, as NumPy's ufuncs of the same meaning.

use pyo3::basic::CompareOp;
use pyo3::prelude::*;

use super::Array;
use crate::make;

type This<'a, 'py> = &'a Bound<'py, Array>;
type Other<'a, 'py> = &'a Bound<'py, PyAny>;
type Made<'py> = PyResult<Bound<'py, PyAny>>;

#[pymethods]
impl Array {
    fn __add__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "add", (slf, other))
    }

    fn __radd__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "add", (other, slf))
    }

    fn __sub__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "subtract", (slf, other))
    }

    fn __rsub__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "subtract", (other, slf))
    }

    fn __mul__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "multiply", (slf, other))
    }

    fn __rmul__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "multiply", (other, slf))
    }

    fn __truediv__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "true_divide", (slf, other))
    }

    fn __rtruediv__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "true_divide", (other, slf))
    }

    fn __floordiv__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "floor_divide", (slf, other))
    }

    fn __rfloordiv__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "floor_divide", (other, slf))
    }

    fn __mod__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "remainder", (slf, other))
    }

    fn __rmod__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "remainder", (other, slf))
    }

    fn __matmul__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "matmul", (slf, other))
    }

    fn __rmatmul__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "matmul", (other, slf))
    }

    fn __and__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "bitwise_and", (slf, other))
    }

    fn __rand__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "bitwise_and", (other, slf))
    }

    fn __or__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "bitwise_or", (slf, other))
    }

    fn __ror__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "bitwise_or", (other, slf))
    }

    fn __xor__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "bitwise_xor", (slf, other))
    }

    fn __rxor__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "bitwise_xor", (other, slf))
    }

    fn __lshift__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "left_shift", (slf, other))
    }

    fn __rlshift__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "left_shift", (other, slf))
    }

    fn __rshift__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "right_shift", (slf, other))
    }

    fn __rrshift__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "right_shift", (other, slf))
    }

    fn __pow__<'py>(
        slf: This<'_, 'py>,
        other: Other<'_, 'py>,
        _modulo: Option<Other<'_, 'py>>,
    ) -> Made<'py> {
        ufunc(slf.py(), "power", (slf, other))
    }

    fn __neg__<'py>(slf: This<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "negative", (slf,))
    }

    fn __abs__<'py>(slf: This<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "absolute", (slf,))
    }

    fn __invert__<'py>(slf: This<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "invert", (slf,))
    }

    fn __richcmp__<'py>(slf: This<'_, 'py>, other: Other<'_, 'py>, by: CompareOp) -> Made<'py> {
        let name = match by {
            CompareOp::Lt => "less",
            CompareOp::Le => "less_equal",
            CompareOp::Eq => "equal",
            CompareOp::Ne => "not_equal",
            CompareOp::Gt => "greater",
            CompareOp::Ge => "greater_equal",
        };
        ufunc(slf.py(), name, (slf, other))
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.shared(py)?.is_truthy()
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        self.item(py)?.call_method0("__float__")?.extract()
    }

    fn __int__<'py>(&self, py: Python<'py>) -> Made<'py> {
        self.item(py)?.call_method0("__int__")
    }

    /// The one element of an array that has one, as a Python number.
    fn item<'py>(&self, py: Python<'py>) -> Made<'py> {
        self.shared(py)?.call_method0(pyo3::intern!(py, "item"))
    }
}

/// Calls one of NumPy's ufuncs, which comes back by `__array_ufunc__`.
fn ufunc<'py>(
    py: Python<'py>,
    name: &str,
    operands: impl pyo3::call::PyCallArgs<'py>,
) -> Made<'py> {
    make::numpy(py).map_err(crate::exception)?.getattr(name)?.call1(operands)
}
