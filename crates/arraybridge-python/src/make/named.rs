//! Arrays of a named Python library, made of another one's.

use arraybridge_core::Error;
use arraybridge_core::dlpack::DlpackDevice;
use pyo3::exceptions::PyModuleNotFoundError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use super::{as_numpy, capsule};
use crate::dtype;
use crate::error::raised;
use crate::library::NAME;
use crate::maker::Maker;
use crate::numpy::Numpy;
use crate::once::once;
use crate::read::{Table, look, runs_backwards};

/// The error for a name that is no maker of arrays.
pub(crate) fn unknown(name: &str) -> Error {
    Error::InvalidArgument {
        operation: "giving an array to Python",
        message: format!(
            "`{name}` is no Python library that arrays can be given to; there is: {}",
            Maker::targets().map(Maker::name).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// Makes an array of a Python library of an object: over its memory where both libraries can.
pub(crate) fn with<'py>(
    maker: Maker,
    object: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyAny>, Error> {
    let py = object.py();
    let call = |module: &str, function: &str, object: &Bound<'py, PyAny>| {
        let mut target = py.import(module)?.into_any();
        for part in function.split('.') {
            target = target.getattr(part)?;
        }
        target.call1((object,))
    };
    let made = match maker {
        Maker::Numpy => return as_numpy(object),
        Maker::Torch => {
            if let Some(made) = by_table(object)? {
                return Ok(made);
            }
            let given = acceptable(object, maker)?;
            let tensor = call("torch", "from_dlpack", &given);
            // PyTorch writes what it takes, whatever flags say, so it keeps no memory of objects that
            // may be read-only.
            let writable = [Maker::Numpy, Maker::Torch, Maker::Cupy].contains(&Maker::of(object));
            let own = writable || !given.is(object);
            if own { tensor } else { tensor.and_then(|tensor| tensor.call_method0("clone")) }
        }
        Maker::Jax => call("jax.numpy", "from_dlpack", &acceptable(object, maker)?),
        Maker::Tensorflow => call("tensorflow", "convert_to_tensor", object),
        Maker::Cupy => call("cupy", "asarray", object),
        _ => return Err(unknown(maker.name())),
    };
    made.map_err(|error| {
        // Not one of the modules that it needs itself.
        let missing = error.value(py).getattr("name").and_then(|name| name.extract::<String>());
        if error.is_instance_of::<PyModuleNotFoundError>(py)
            && missing.is_ok_and(|missing| missing == maker.name())
        {
            return Error::Unsupported {
                library: NAME,
                operation: "making an array of a Python library that is not installed",
                remedy: "install it into the environment that the interpreter uses",
            };
        }
        raised(py, "giving an array to a Python library", error)
    })
}

/// Returns an object over the same memory that a consumer of DLPack takes, or over a copy where it
/// takes no memory such as this, or would write what its owner never changes.
fn acceptable<'py>(object: &Bound<'py, PyAny>, maker: Maker) -> Result<Bound<'py, PyAny>, Error> {
    let py = object.py();
    let object = &match (Maker::of(object), maker) {
        (Maker::Numpy, _) => as_numpy(object)?,
        // NumPy's view of them is read-only.
        (Maker::Jax | Maker::Tensorflow, Maker::Torch) if is_on_host(object)? => as_numpy(object)?,
        _ => return Ok(object.clone()),
    };
    let failed = |error| raised(py, "reading a NumPy array's flags", error);
    let flags = object.getattr(pyo3::intern!(py, "flags")).map_err(failed)?;
    let flag = |name| flags.getattr(name).and_then(|flag| flag.extract::<bool>()).map_err(failed);
    let seen = look(object)?;
    let takes = match maker {
        // PyTorch would write read-only memory, and ends the process at a negative stride.
        Maker::Torch => flag(pyo3::intern!(py, "writeable"))? && !runs_backwards(seen.layout()),
        // JAX knows gaps between elements as little as it does repeated ones.
        _ => flag(pyo3::intern!(py, "forc"))?,
    };
    let (object, seen) = match takes {
        true => (object.clone(), seen),
        false => {
            let copy = object.call_method0(pyo3::intern!(py, "copy")).map_err(failed)?;
            let seen = look(&copy)?;
            (copy, seen)
        }
    };
    if !dtype::is_extension(seen.dtype()) {
        return Ok(object);
    }
    // NumPy's DLPack does not name these dtypes.
    let content = capsule::content(&object, &seen, true)?;
    let capsule = match maker {
        Maker::Torch => capsule::versioned(py, content)?,
        _ => capsule::legacy(py, content)?,
    };
    let carrier = Bound::new(py, capsule::Carrier::new(capsule, DlpackDevice::CPU));
    carrier.map(Bound::into_any).map_err(|error| raised(py, "carrying a NumPy array", error))
}

fn is_on_host(object: &Bound<'_, PyAny>) -> Result<bool, Error> {
    Ok(look(object)?.device().is_host_readable())
}

/// Gives a NumPy array to PyTorch by the table of functions on its type: in a tenth of the time that
/// `torch.from_dlpack` takes. `None` for what that has to judge: read-only arrays, dtypes that are
/// told apart by name, reversed axes, a PyTorch without the table.
fn by_table<'py>(object: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>, Error> {
    static TENSOR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = object.py();
    let Some(array) = Numpy::get(py)?.fields(object.as_borrowed()) else { return Ok(None) };
    if array.dtype().is_none() || !array.is_writable() {
        return Ok(None);
    }
    let seen = look(object)?;
    if runs_backwards(seen.layout()) {
        return Ok(None);
    }
    let find = || Ok(py.import("torch")?.getattr("Tensor")?.cast_into::<PyType>()?.unbind());
    let Ok(tensor) = once(py, &TENSOR, find) else { return Ok(None) };
    match Table::of(tensor.bind(py))? {
        Some(table) => table.import(py, capsule::content(object, &seen, true)?),
        None => Ok(None),
    }
}
