//! NumPy's rules for other arrays: `__array_ufunc__`, `__array_function__`, `__array_wrap__`.
//!
//! What the array's own library computes by the same rules runs there. Everything else runs in NumPy,
//! on a view of the elements, and the result goes back to the library; arrays that are not in main
//! memory have no view, and the answer is `NotImplemented`.

use arraybridge_core::AnyArray;
use arraybridge_core::{DTypeKind, Error};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use super::views::{viewed_arguments, wrapped};
use super::{Array, Home};
use crate::{Maker, make};

/// Axes as NumPy has them: one, several, or all.
enum Axes {
    All,
    Some(Vec<isize>),
}

/// What the libraries compute themselves, with NumPy's values and dtypes.
#[derive(Clone, Copy, PartialEq)]
enum Own {
    Max,
    Min,
    Sum,
    Mean,
    LogicalAnd,
}

#[pymethods]
impl Array {
    #[pyo3(signature = (ufunc, method, *inputs, **keywords))]
    fn __array_ufunc__<'py>(
        slf: &Bound<'py, Self>,
        ufunc: &Bound<'py, PyAny>,
        method: &str,
        inputs: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let not_implemented = || Ok(py.NotImplemented());
        let out = outputs(keywords)?;
        let all = inputs.iter().chain(out.iter().flat_map(|out| out.iter()));
        if !all.map(|input| takes(py, &input)).collect::<PyResult<Vec<_>>>()?.contains(&false) {
            if let Some(made) = own_ufunc(py, ufunc, method, inputs, keywords)? {
                return Ok(Bound::new(py, made)?.into_any().unbind());
            }
            let home = home_of(inputs, slf);
            if !all_in_main_memory(inputs)? {
                return not_implemented();
            }
            let (inputs, keywords) = match viewed_arguments(inputs, keywords)? {
                Some(viewed) => viewed,
                None => return not_implemented(),
            };
            let made = ufunc.call_method(method, inputs, keywords.as_ref())?;
            if let Some(out) = out {
                // The results are in the arrays that were given for them.
                return Ok(if out.len() == 1 {
                    out.get_item(0)?.unbind()
                } else {
                    out.into_any().unbind()
                });
            }
            return wrapped(py, made, home);
        }
        not_implemented()
    }

    fn __array_function__<'py>(
        slf: &Bound<'py, Self>,
        function: &Bound<'py, PyAny>,
        types: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: &Bound<'py, PyDict>,
    ) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let ndarray = make::numpy(py).map_err(crate::exception)?.getattr("ndarray")?;
        for kind in types.try_iter()? {
            let kind = kind?.cast_into::<pyo3::types::PyType>()?;
            if !(kind.is_subclass_of::<Array>()? || kind.is_subclass(&ndarray)?) {
                return Ok(py.NotImplemented());
            }
        }
        let home = home_of(arguments, slf);
        if let Some(made) = own_function(py, function, arguments, keywords)? {
            return Ok(Bound::new(py, made)?.into_any().unbind());
        }
        if !all_in_main_memory(arguments)? {
            return Ok(py.NotImplemented());
        }
        let Some((arguments, keywords)) = viewed_arguments(arguments, Some(keywords))? else {
            return Ok(py.NotImplemented());
        };
        let made = function.call(arguments, keywords.as_ref())?;
        wrapped(py, made, home)
    }

    /// Brings a NumPy function's result to the type that went in.
    #[pyo3(signature = (array, context = None, return_scalar = false))]
    fn __array_wrap__<'py>(
        &self,
        py: Python<'py>,
        array: &Bound<'py, PyAny>,
        context: Option<&Bound<'py, PyAny>>,
        return_scalar: bool,
    ) -> PyResult<Py<PyAny>> {
        let _ = context;
        if return_scalar {
            return Ok(array.get_item(PyTuple::empty(py))?.unbind());
        }
        wrapped(py, array.clone(), self.home)
    }
}

/// Returns the arrays given as `out`.
fn outputs<'py>(keywords: Option<&Bound<'py, PyDict>>) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let Some(out) = keywords.and_then(|keywords| keywords.get_item("out").transpose()) else {
        return Ok(None);
    };
    Ok(Some(out?.cast_into::<PyTuple>()?))
}

/// Returns whether an operand is one that is worked with here: this class, NumPy's arrays, numbers
/// and sequences. A class with rules of its own is left to those; a subclass of NumPy's arrays that has
/// some is asked when the ufunc is called again.
fn takes(py: Python<'_>, operand: &Bound<'_, PyAny>) -> PyResult<bool> {
    if operand.is_instance_of::<Array>() || Maker::of(operand) == Maker::Numpy {
        return Ok(true);
    }
    let rules = operand.getattr_opt(pyo3::intern!(py, "__array_ufunc__"))?;
    Ok(rules.is_none())
}

/// Returns where results go: the home of the first operand of this class.
fn home_of(operands: &Bound<'_, PyTuple>, slf: &Bound<'_, Array>) -> Home {
    let first = operands.iter().find_map(|operand| operand.cast_into::<Array>().ok());
    first.map_or_else(|| slf.get().home, |array| array.get().home)
}

fn all_in_main_memory(operands: &Bound<'_, PyTuple>) -> PyResult<bool> {
    for operand in operands.iter() {
        if let Ok(array) = operand.cast::<Array>()
            && !array.get().home.device.is_host()
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns NumPy's name of a function, if it is NumPy's: another's may have the same.
fn name_in_numpy(function: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = function.py();
    let Some(name) = function.getattr_opt(pyo3::intern!(py, "__name__"))? else { return Ok(None) };
    let Ok(text) = name.extract::<String>() else { return Ok(None) };
    let named = make::numpy(py).map_err(crate::exception)?.getattr_opt(name.cast::<PyString>()?)?;
    Ok(named.is_some_and(|named| named.is(function)).then_some(text))
}

/// Runs a ufunc in the array's own library, if that has it.
fn own_ufunc(
    py: Python<'_>,
    ufunc: &Bound<'_, PyAny>,
    method: &str,
    inputs: &Bound<'_, PyTuple>,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<Option<Array>> {
    let Some(name) = name_in_numpy(ufunc)? else { return Ok(None) };
    let operation = match (&name[..], method) {
        ("maximum", "reduce") => Own::Max,
        ("minimum", "reduce") => Own::Min,
        ("add", "reduce") => Own::Sum,
        ("logical_and", "__call__") => Own::LogicalAnd,
        _ => return Ok(None),
    };
    if operation == Own::LogicalAnd {
        return match keywords.is_none_or(|keywords| keywords.is_empty()) {
            true => own_logical_and(py, inputs),
            false => Ok(None),
        };
    }
    let Some(first) = only_array(inputs)? else { return Ok(None) };
    match axes(keywords, Axes::Some(vec![0]))? {
        Some(axes) => own_reduction(py, operation, &first, axes),
        None => Ok(None),
    }
}

/// Runs a NumPy function in the array's own library, if that has it.
fn own_function(
    py: Python<'_>,
    function: &Bound<'_, PyAny>,
    arguments: &Bound<'_, PyTuple>,
    keywords: &Bound<'_, PyDict>,
) -> PyResult<Option<Array>> {
    let Some(name) = name_in_numpy(function)? else { return Ok(None) };
    let operation = match &name[..] {
        "max" | "amax" => Own::Max,
        "min" | "amin" => Own::Min,
        "sum" => Own::Sum,
        "mean" => Own::Mean,
        _ => return Ok(None),
    };
    let Some(first) = only_array(arguments)? else { return Ok(None) };
    match axes(Some(keywords), Axes::All)? {
        Some(axes) => own_reduction(py, operation, &first, axes),
        None => Ok(None),
    }
}

fn only_array<'py>(inputs: &Bound<'py, PyTuple>) -> PyResult<Option<Bound<'py, Array>>> {
    if inputs.len() != 1 {
        return Ok(None);
    }
    Ok(inputs.get_item(0)?.cast_into::<Array>().ok())
}

/// Reads the axes to reduce; `None` where anything else is asked for that changes the result.
fn axes(keywords: Option<&Bound<'_, PyDict>>, unsaid: Axes) -> PyResult<Option<Axes>> {
    let Some(keywords) = keywords else { return Ok(Some(unsaid)) };
    let mut axes = unsaid;
    for (name, value) in keywords.iter() {
        match name.extract::<String>()?.as_str() {
            "axis" if value.is_none() => axes = Axes::All,
            "axis" => match (value.extract::<isize>(), value.extract::<Vec<isize>>()) {
                (Ok(axis), _) => axes = Axes::Some(vec![axis]),
                (_, Ok(several)) => axes = Axes::Some(several),
                _ => return Ok(None),
            },
            "keepdims" if !value.is_truthy()? => {}
            "out" | "dtype" if value.is_none() => {}
            _ => return Ok(None),
        }
    }
    Ok(Some(axes))
}

fn own_reduction(
    py: Python<'_>,
    operation: Own,
    array: &Bound<'_, Array>,
    axes: Axes,
) -> PyResult<Option<Array>> {
    let array = array.get();
    if array.home.maker.is_some() {
        return Ok(None);
    }
    let seen = array.described(py)?;
    // NumPy's dtypes for these are others than ours.
    let differs = match operation {
        Own::Sum => seen.dtype.kind() == DTypeKind::Bool || seen.dtype.is_float8(),
        Own::Mean => !seen.dtype.is_float() || seen.dtype.is_float8(),
        _ => false,
    };
    if differs {
        return Ok(None);
    }
    let axes = match axes {
        Axes::Some(axes) => axes,
        Axes::All => (0..seen.layout.rank()).map(|axis| axis as isize).collect(),
    };
    let made = array.with(py, |array| {
        let made = match operation {
            Own::Max => array.max(&axes[..]),
            Own::Min => array.min(&axes[..]),
            Own::Sum => array.sum(&axes[..]),
            _ => array.mean(&axes[..]),
        };
        or_else_numpy(made)
    })?;
    made.map(|made| Array::new(made).map_err(crate::exception)).transpose()
}

fn own_logical_and(py: Python<'_>, inputs: &Bound<'_, PyTuple>) -> PyResult<Option<Array>> {
    if inputs.len() != 2 {
        return Ok(None);
    }
    let (left, right) = (inputs.get_item(0)?, inputs.get_item(1)?);
    let (Ok(left), Ok(right)) = (left.cast::<Array>(), right.cast::<Array>()) else {
        return Ok(None);
    };
    let (home, other) = (left.get().home, right.get().home);
    let same = home.library == other.library && home.device == other.device;
    if !same || home.maker.is_some() {
        return Ok(None);
    }
    // One at a time, so that none is waited for while another is held.
    let second = right.get().with(py, AnyArray::duplicate)?;
    let made = left.get().with(py, move |left| or_else_numpy(left.logical_and(&second)))?;
    made.map(|made| Array::new(made).map_err(crate::exception)).transpose()
}

/// An operation that a library does not have is left to NumPy, and so are arguments that NumPy has
/// its own words for.
fn or_else_numpy(made: Result<AnyArray, Error>) -> Result<Option<AnyArray>, Error> {
    match made {
        Ok(made) => Ok(Some(made)),
        Err(
            Error::Unsupported { .. }
            | Error::DtypeUnsupported { .. }
            | Error::InvalidArgument { .. }
            | Error::AxisOutOfRange { .. }
            | Error::ShapeMismatch { .. },
        ) => Ok(None),
        Err(error) => Err(error),
    }
}
