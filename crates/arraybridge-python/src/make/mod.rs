//! Making Python objects: NumPy arrays over our memory, and from those the arrays of the others.

pub(crate) mod capsule;
pub(crate) mod memory;
mod named;

use arraybridge_core::Error;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::depth::Level;
use crate::error::raised;
use crate::once::once;
use crate::read;

pub(crate) use named::{unknown, with};

/// Returns NumPy's array of an object, by whatever it has: NumPy's own protocols, DLPack, or items.
pub(crate) fn as_numpy<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Error> {
    let _level = Level::enter(object.py())?;
    // NumPy takes what speaks DLPack alone for a single opaque object.
    let function = if read::speaks_dlpack_alone(object)? { "from_dlpack" } else { "asarray" };
    let failed = |error| raised(object.py(), "making a NumPy array of an object", error);
    numpy(object.py())?.call_method1(function, (object,)).map_err(failed)
}

/// Makes a NumPy array of a sequence; anything else is no array.
pub(crate) fn from_sequence<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Error> {
    use pyo3::types::{PyList, PyTuple};
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return as_numpy(object);
    }
    Err(Error::InvalidPayload {
        field: "object",
        message: format!(
            "{} speaks neither DLPack nor the array interface, and is no nested sequence",
            object.get_type()
        ),
    })
}

/// Returns whether an object is one of NumPy's arrays, subclasses included.
pub(crate) fn is_ndarray(object: &Bound<'_, PyAny>) -> Result<bool, Error> {
    static NDARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    is_instance(object, &NDARRAY, "ndarray")
}

/// Returns whether an object is one of NumPy's scalars.
pub(crate) fn is_scalar(object: &Bound<'_, PyAny>) -> Result<bool, Error> {
    static GENERIC: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    is_instance(object, &GENERIC, "generic")
}

fn is_instance(
    object: &Bound<'_, PyAny>,
    place: &PyOnceLock<Py<PyType>>,
    name: &str,
) -> Result<bool, Error> {
    let py = object.py();
    let find = || Ok(py.import("numpy")?.getattr(name)?.cast_into::<PyType>()?.unbind());
    let found = once(py, place, find).and_then(|kind| object.is_instance(kind.bind(py)));
    found.map_err(|error| raised(py, "importing NumPy", error))
}

pub(crate) fn numpy(py: Python<'_>) -> Result<Bound<'_, PyModule>, Error> {
    py.import("numpy").map_err(|error| raised(py, "importing NumPy", error))
}
