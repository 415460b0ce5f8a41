//! Arrays of a named Python library, made of another one's.

use arraybridge_core::Error;
use pyo3::prelude::*;

use super::as_numpy;
use crate::error::raised;
use crate::library::NAME;
use crate::maker::Maker;

/// The error for a name that is no maker of arrays.
pub(crate) fn unknown(name: &str) -> Error {
    Error::InvalidArgument {
        operation: "giving an array to Python",
        message: format!(
            "`{name}` is no Python library that arrays can be given to; there is: numpy, torch, \
             jax, tensorflow, cupy"
        ),
    }
}

/// Makes an array of a Python library of an object: over its memory where both libraries can.
pub(crate) fn with<'py>(
    maker: Maker,
    object: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyAny>, Error> {
    let py = object.py();
    let call = |module: &str, function: &str| {
        let mut target = py.import(module)?.into_any();
        for part in function.split('.') {
            target = target.getattr(part)?;
        }
        target.call1((object,))
    };
    let made = match maker {
        Maker::Numpy => return as_numpy(object),
        // PyTorch reads NumPy arrays itself, also read-only ones (with a warning) and without
        // DLPack's detour.
        Maker::Torch => call("torch", "from_dlpack"),
        Maker::Jax => call("jax.numpy", "from_dlpack"),
        Maker::Tensorflow => call("tensorflow", "convert_to_tensor"),
        Maker::Cupy => call("cupy", "asarray"),
        _ => return Err(unknown(maker.name())),
    };
    made.map_err(|error| {
        if error.is_instance_of::<pyo3::exceptions::PyModuleNotFoundError>(py) {
            return Error::Unsupported {
                library: NAME,
                operation: "making an array of a Python library that is not installed",
                remedy: "install it into the environment that the interpreter uses",
            };
        }
        raised(py, "giving an array to a Python library", error)
    })
}
