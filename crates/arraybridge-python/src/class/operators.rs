//! Python's operators, as NumPy's ufuncs of the same meaning.

use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::Array;
use crate::{exception, make};

type Slf<'a, 'py> = &'a Bound<'py, Array>;
type Other<'a, 'py> = &'a Bound<'py, PyAny>;
type Made<'py> = PyResult<Bound<'py, PyAny>>;

#[pymethods]
impl Array {
    fn __add__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("add", slf, other, Order::Forwards)
    }

    fn __radd__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("add", slf, other, Order::Reflected)
    }

    fn __iadd__(slf: Slf<'_, '_>, other: Other<'_, '_>) -> PyResult<()> {
        in_place("add", slf, other)
    }

    fn __sub__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("subtract", slf, other, Order::Forwards)
    }

    fn __rsub__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("subtract", slf, other, Order::Reflected)
    }

    fn __isub__(slf: Slf<'_, '_>, other: Other<'_, '_>) -> PyResult<()> {
        in_place("subtract", slf, other)
    }

    fn __mul__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("multiply", slf, other, Order::Forwards)
    }

    fn __rmul__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("multiply", slf, other, Order::Reflected)
    }

    fn __imul__(slf: Slf<'_, '_>, other: Other<'_, '_>) -> PyResult<()> {
        in_place("multiply", slf, other)
    }

    fn __matmul__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("matmul", slf, other, Order::Forwards)
    }

    fn __rmatmul__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("matmul", slf, other, Order::Reflected)
    }

    fn __imatmul__(slf: Slf<'_, '_>, other: Other<'_, '_>) -> PyResult<()> {
        in_place("matmul", slf, other)
    }

    fn __truediv__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("true_divide", slf, other, Order::Forwards)
    }

    fn __rtruediv__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("true_divide", slf, other, Order::Reflected)
    }

    fn __itruediv__(slf: Slf<'_, '_>, other: Other<'_, '_>) -> PyResult<()> {
        in_place("true_divide", slf, other)
    }

    fn __floordiv__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("floor_divide", slf, other, Order::Forwards)
    }

    fn __rfloordiv__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("floor_divide", slf, other, Order::Reflected)
    }

    fn __ifloordiv__(slf: Slf<'_, '_>, other: Other<'_, '_>) -> PyResult<()> {
        in_place("floor_divide", slf, other)
    }

    fn __mod__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("remainder", slf, other, Order::Forwards)
    }

    fn __rmod__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("remainder", slf, other, Order::Reflected)
    }

    fn __imod__(slf: Slf<'_, '_>, other: Other<'_, '_>) -> PyResult<()> {
        in_place("remainder", slf, other)
    }

    fn __lshift__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("left_shift", slf, other, Order::Forwards)
    }

    fn __rlshift__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("left_shift", slf, other, Order::Reflected)
    }

    fn __ilshift__(slf: Slf<'_, '_>, other: Other<'_, '_>) -> PyResult<()> {
        in_place("left_shift", slf, other)
    }

    fn __rshift__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("right_shift", slf, other, Order::Forwards)
    }

    fn __rrshift__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("right_shift", slf, other, Order::Reflected)
    }

    fn __irshift__(slf: Slf<'_, '_>, other: Other<'_, '_>) -> PyResult<()> {
        in_place("right_shift", slf, other)
    }

    fn __and__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("bitwise_and", slf, other, Order::Forwards)
    }

    fn __rand__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("bitwise_and", slf, other, Order::Reflected)
    }

    fn __iand__(slf: Slf<'_, '_>, other: Other<'_, '_>) -> PyResult<()> {
        in_place("bitwise_and", slf, other)
    }

    fn __xor__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("bitwise_xor", slf, other, Order::Forwards)
    }

    fn __rxor__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("bitwise_xor", slf, other, Order::Reflected)
    }

    fn __ixor__(slf: Slf<'_, '_>, other: Other<'_, '_>) -> PyResult<()> {
        in_place("bitwise_xor", slf, other)
    }

    fn __or__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("bitwise_or", slf, other, Order::Forwards)
    }

    fn __ror__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("bitwise_or", slf, other, Order::Reflected)
    }

    fn __ior__(slf: Slf<'_, '_>, other: Other<'_, '_>) -> PyResult<()> {
        in_place("bitwise_or", slf, other)
    }

    fn __pow__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>, modulo: Other<'_, 'py>) -> Made<'py> {
        power(slf, other, modulo, Order::Forwards)
    }

    fn __rpow__<'py>(
        slf: Slf<'_, 'py>,
        other: Other<'_, 'py>,
        modulo: Other<'_, 'py>,
    ) -> Made<'py> {
        power(slf, other, modulo, Order::Reflected)
    }

    fn __ipow__(slf: Slf<'_, '_>, other: Other<'_, '_>, _modulo: Other<'_, '_>) -> PyResult<()> {
        in_place("power", slf, other)
    }

    fn __divmod__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("divmod", slf, other, Order::Forwards)
    }

    fn __rdivmod__<'py>(slf: Slf<'_, 'py>, other: Other<'_, 'py>) -> Made<'py> {
        operate("divmod", slf, other, Order::Reflected)
    }

    fn __neg__<'py>(slf: Slf<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "negative")?.call1((slf,))
    }

    fn __pos__<'py>(slf: Slf<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "positive")?.call1((slf,))
    }

    fn __abs__<'py>(slf: Slf<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "absolute")?.call1((slf,))
    }

    fn __invert__<'py>(slf: Slf<'_, 'py>) -> Made<'py> {
        ufunc(slf.py(), "invert")?.call1((slf,))
    }

    pub(super) fn __richcmp__<'py>(
        slf: Slf<'_, 'py>,
        other: Other<'_, 'py>,
        by: CompareOp,
    ) -> Made<'py> {
        let name = match by {
            CompareOp::Lt => "less",
            CompareOp::Le => "less_equal",
            CompareOp::Eq => "equal",
            CompareOp::Ne => "not_equal",
            CompareOp::Gt => "greater",
            CompareOp::Ge => "greater_equal",
        };
        let made = operate(name, slf, other, Order::Forwards);
        let equality = matches!(by, CompareOp::Eq | CompareOp::Ne);
        match made {
            // What has no common dtype is unequal, which NumPy's arrays say and its ufuncs do not.
            Err(error)
                if equality
                    && error.is_instance_of::<PyTypeError>(slf.py())
                    && slf.get().home.device.is_host() =>
            {
                let made = slf.get().shared(slf.py())?.rich_compare(other, by)?;
                slf.call_method1("__array_wrap__", (made,))
            }
            made => made,
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Order {
    Forwards,
    Reflected,
}

fn power<'py>(
    slf: Slf<'_, 'py>,
    other: Other<'_, 'py>,
    modulo: Other<'_, 'py>,
    order: Order,
) -> Made<'py> {
    if modulo.is_none() {
        return operate("power", slf, other, order);
    }
    Ok(slf.py().NotImplemented().into_bound(slf.py()))
}

/// Calls a ufunc, which comes back by `__array_ufunc__`, unless the other operand is to be asked.
fn operate<'py>(name: &str, slf: Slf<'_, 'py>, other: Other<'_, 'py>, order: Order) -> Made<'py> {
    if defers(other)? {
        return Ok(slf.py().NotImplemented().into_bound(slf.py()));
    }
    let ufunc = ufunc(slf.py(), name)?;
    match order {
        Order::Forwards => ufunc.call1((slf, other)),
        Order::Reflected => ufunc.call1((other, slf)),
    }
}

/// Calls a ufunc that writes its result into the array.
fn in_place(name: &str, slf: Slf<'_, '_>, other: Other<'_, '_>) -> PyResult<()> {
    ufunc(slf.py(), name)?.call1((slf, other, slf)).map(drop)
}

/// Returns whether an operator is left to the other operand, by the rule of NumPy's own arrays: if
/// its `__array_ufunc__` is `None`, or it has none and an `__array_priority__` above theirs.
fn defers(other: Other<'_, '_>) -> PyResult<bool> {
    let (py, kind) = (other.py(), other.get_type());
    if other.is_exact_instance_of::<Array>() {
        return Ok(false);
    }
    if let Some(rules) = kind.getattr_opt(pyo3::intern!(py, "__array_ufunc__"))? {
        return Ok(rules.is_none());
    }
    match other.getattr_opt(pyo3::intern!(py, "__array_priority__"))? {
        Some(priority) => Ok(priority.extract::<f64>().is_ok_and(|priority| priority > 0.0)),
        None => Ok(false),
    }
}

fn ufunc<'py>(py: Python<'py>, name: &str) -> Made<'py> {
    make::numpy(py).map_err(exception)?.getattr(name)
}
