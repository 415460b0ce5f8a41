//! Making Python objects: NumPy arrays over our memory, and from those the arrays of the others.

pub(crate) mod capsule;
pub(crate) mod memory;
mod named;

use arraybridge_core::Error;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::depth::Level;
use crate::error::raised;
use crate::numpy::Numpy;
use crate::once::once;
use crate::read::{self, look};
use crate::{Maker, dtype};

pub(crate) use named::{unknown, with};

/// Returns NumPy's array of an object, by whatever it has: NumPy's own protocols, DLPack, or items.
pub(crate) fn as_numpy<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Error> {
    let py = object.py();
    let _level = Level::enter(py)?;
    let failed = |error| raised(py, "making a NumPy array of an object", error);
    // NumPy takes what speaks DLPack alone for a single opaque object.
    if read::speaks_dlpack_alone(object)? {
        return numpy(py)?.call_method1("from_dlpack", (object,)).map_err(failed);
    }
    match Numpy::get(py)?.asarray(object) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            of_unnamed_dtype(object)?.ok_or_else(|| failed(error))
        }
        made => made.map_err(failed),
    }
}

/// Returns NumPy's array over a tensor of PyTorch whose dtype NumPy has from an extension package,
/// of which PyTorch does not know; `None` for everything else.
fn of_unnamed_dtype<'py>(object: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>, Error> {
    let py = object.py();
    if Maker::of(object) != Maker::Torch {
        return Ok(None);
    }
    let dtype = look(object)?.dtype();
    if !dtype::is_extension(dtype) {
        return Ok(None);
    }
    let scalar = dtype::object(py, dtype)?;
    // As whole numbers of the same size it crosses, and stays the same memory.
    let bits = if dtype.size() == 1 { "uint8" } else { "int16" };
    let failed = |error| raised(py, "reading a tensor's bits", error);
    let bits = py.import("torch").and_then(|torch| torch.getattr(bits)).map_err(failed)?;
    let bits = object.call_method1("view", (bits,)).map_err(failed)?;
    let array = numpy(py)?.call_method1("asarray", (bits,)).map_err(failed)?;
    array.call_method1("view", (scalar,)).map(Some).map_err(failed)
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
