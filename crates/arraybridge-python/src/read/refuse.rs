//! Arrays whose values are not what their memory holds.

use arraybridge_core::Error;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::attribute;
use crate::Maker;
use crate::error::raised;

/// Refuses an array whose memory is not the whole of it: reading it would change values, or lose
/// what belongs to them.
///
/// PyTorch's conjugate and negative views are lazy, and neither DLPack's C exchange API nor (for the
/// negative ones) `__dlpack__` looks at that; a tensor that requires a gradient would leave its graph
/// unseen. Masked arrays of NumPy tell their elements and not their mask.
pub(super) fn more_than_its_memory(object: &Bound<'_, PyAny>) -> Result<(), Error> {
    match Maker::of(object) {
        Maker::Torch => tensor(object),
        Maker::Numpy => masked(object),
        // The array that a lazy one's chunks are like.
        Maker::Dask => match attribute(object, pyo3::intern!(object.py(), "_meta"))? {
            Some(chunk) => masked(&chunk),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

fn tensor(tensor: &Bound<'_, PyAny>) -> Result<(), Error> {
    let py = tensor.py();
    let failed = |error| raised(py, "asking a tensor what it is", error);
    let asks = |name: &Bound<'_, PyString>| -> Result<bool, Error> {
        match attribute(tensor, name)? {
            Some(method) => method.call0().and_then(|told| told.is_truthy()).map_err(failed),
            None => Ok(false),
        }
    };
    if let Some(required) = attribute(tensor, pyo3::intern!(py, "requires_grad"))?
        && required.is_truthy().map_err(failed)?
    {
        return Err(refuse("gradient", "the tensor requires one; `tensor.detach()` does not"));
    }
    if asks(pyo3::intern!(py, "is_conj"))? {
        return Err(refuse(
            "conjugation",
            "the tensor is a conjugate view that is not computed yet; `tensor.resolve_conj()` is",
        ));
    }
    if asks(pyo3::intern!(py, "is_neg"))? {
        return Err(refuse(
            "sign",
            "the tensor is a negative view that is not computed yet; `tensor.resolve_neg()` is",
        ));
    }
    Ok(())
}

fn masked(array: &Bound<'_, PyAny>) -> Result<(), Error> {
    if attribute(array, pyo3::intern!(array.py(), "mask"))?.is_some() {
        return Err(refuse(
            "mask",
            "masked arrays have no form here; `filled()` makes one that has",
        ));
    }
    Ok(())
}

fn refuse(field: &'static str, message: &str) -> Error {
    Error::InvalidPayload { field, message: message.into() }
}
