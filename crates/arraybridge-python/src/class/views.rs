//! What NumPy computes with in the place of arrays, and what becomes of its results.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::{Array, Home, made_in};
use crate::make;
use crate::read::look;

/// Replaces the arrays of this class in an index.
pub(super) fn viewed_index<'py>(index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    Ok(viewed(index, 0)?.unwrap_or_else(|| index.clone()))
}

/// How deep sequences are looked into: NumPy has no arrays of more axes, and the stack has an end.
const DEEPEST: usize = 64;

/// Replaces arrays of this class by NumPy's views of them, also inside of sequences and
/// dictionaries; `None` where there are none.
fn viewed<'py>(operand: &Bound<'py, PyAny>, depth: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = operand.py();
    if let Ok(array) = operand.cast::<Array>() {
        return array.get().view(py).map(Some);
    }
    if depth == DEEPEST {
        return Ok(None);
    }
    if let Ok(list) = operand.cast::<PyList>() {
        let items = viewed_items(list.iter(), depth + 1)?;
        return items.map(|items| Ok(PyList::new(py, items)?.into_any())).transpose();
    }
    if let Ok(tuple) = operand.cast::<PyTuple>() {
        let items = viewed_items(tuple.iter(), depth + 1)?;
        return items.map(|items| Ok(PyTuple::new(py, items)?.into_any())).transpose();
    }
    if let Ok(dictionary) = operand.cast::<PyDict>() {
        return Ok(viewed_dict(dictionary, depth + 1)?.map(Bound::into_any));
    }
    Ok(None)
}

/// What a function of NumPy is called with.
pub(super) type Arguments<'py> = (Bound<'py, PyTuple>, Option<Bound<'py, PyDict>>);

/// Replaces the arrays among a call's arguments; `None` where there are none, because NumPy would
/// ask here again, for ever.
pub(super) fn viewed_arguments<'py>(
    operands: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Arguments<'py>>> {
    let views = viewed_items(operands.iter(), 0)?;
    let views = views.map(|views| PyTuple::new(operands.py(), views)).transpose()?;
    let named = keywords.map(|keywords| viewed_dict(keywords, 0)).transpose()?.flatten();
    if views.is_none() && named.is_none() {
        return Ok(None);
    }
    let operands = views.unwrap_or_else(|| operands.clone());
    Ok(Some((operands, named.or_else(|| keywords.cloned()))))
}

fn viewed_items<'py>(
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    depth: usize,
) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    let mut replaced = false;
    let mut seen = Vec::new();
    for item in items {
        let view = viewed(&item, depth)?;
        replaced |= view.is_some();
        seen.push(view.unwrap_or(item));
    }
    Ok(replaced.then_some(seen))
}

fn viewed_dict<'py>(
    keywords: &Bound<'py, PyDict>,
    depth: usize,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let mut replaced = None;
    for (name, value) in keywords.iter() {
        if let Some(view) = viewed(&value, depth)? {
            let copy = match replaced {
                Some(copy) => copy,
                None => keywords.copy()?,
            };
            copy.set_item(name, view)?;
            replaced = Some(copy);
        }
    }
    Ok(replaced)
}

/// Brings NumPy's result to a library: its arrays, and its numbers as arrays without axes; several in
/// a tuple or list. Its subclasses, which mean more than their elements, stay what they are.
pub(super) fn wrapped(py: Python<'_>, made: Bound<'_, PyAny>, home: Home) -> PyResult<Py<PyAny>> {
    wrapped_at(py, made, home, 0)
}

fn wrapped_at(
    py: Python<'_>,
    made: Bound<'_, PyAny>,
    home: Home,
    depth: usize,
) -> PyResult<Py<PyAny>> {
    if depth == DEEPEST {
        return Ok(made.unbind());
    }
    let array = make::numpy(py).map_err(crate::exception)?.getattr(pyo3::intern!(py, "ndarray"))?;
    if made.get_type().is(&array) || make::is_scalar(&made).map_err(crate::exception)? {
        // What has no dtype here stays NumPy's.
        if look(&made).is_err() {
            return Ok(made.unbind());
        }
        let array = made_in(py, made, home)?;
        return Ok(Bound::new(py, array)?.into_any().unbind());
    }
    if let Ok(tuple) = made.cast::<PyTuple>() {
        let items: Vec<_> = tuple
            .iter()
            .map(|item| wrapped_at(py, item, home, depth + 1))
            .collect::<PyResult<_>>()?;
        let items = PyTuple::new(py, items)?;
        // Several results have names, in a class of their own.
        return match made.get_type().getattr_opt(pyo3::intern!(py, "_make"))? {
            Some(named) => Ok(named.call1((items,))?.unbind()),
            None => Ok(items.into_any().unbind()),
        };
    }
    if let Ok(list) = made.cast::<PyList>() {
        let items: Vec<_> = list
            .iter()
            .map(|item| wrapped_at(py, item, home, depth + 1))
            .collect::<PyResult<_>>()?;
        return Ok(PyList::new(py, items)?.into_any().unbind());
    }
    Ok(made.unbind())
}
