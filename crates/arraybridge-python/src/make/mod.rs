//! Making Python objects: NumPy arrays over our memory, and from those the arrays of the others.

pub(crate) mod capsule;
pub(crate) mod memory;
mod named;

use arraybridge_core::Error;
use pyo3::prelude::*;

use crate::error::raised;

pub(crate) use named::{unknown, with};

/// Returns NumPy's array of an object: `__array__` or a nested sequence, whatever it has.
pub(crate) fn as_numpy<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Error> {
    let failed = |error| raised(object.py(), "`numpy.asarray`", error);
    numpy(object.py())?.call_method1("asarray", (object,)).map_err(failed)
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

pub(crate) fn numpy(py: Python<'_>) -> Result<Bound<'_, PyModule>, Error> {
    py.import("numpy").map_err(|error| raised(py, "importing NumPy", error))
}
