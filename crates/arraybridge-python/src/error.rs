//! Python exceptions as errors.

use arraybridge_core::{BoxError, Error, HOST, causes};
use pyo3::exceptions::{
    PyBufferError, PyMemoryError, PyNotImplementedError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::types::PyTypeMethods;
use pyo3::{PyErr, Python};

use crate::library::NAME;

/// An exception that Python code raised: its type's name and its text.
#[derive(Debug, thiserror::Error)]
#[error("{kind}: {text}")]
pub struct PythonError {
    kind: String,
    text: String,
    exception: PyErr,
}

impl PythonError {
    /// Returns the name of the exception's type, such as `TypeError`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns the exception itself, to raise it again.
    pub fn exception(&self) -> &PyErr {
        &self.exception
    }
}

/// Wraps an exception; one that says that memory ran out becomes core's own error of that.
pub(crate) fn raised(py: Python<'_>, operation: &'static str, exception: PyErr) -> Error {
    if exception.is_instance_of::<PyMemoryError>(py) {
        return Error::OutOfMemory {
            library: NAME,
            device: HOST,
            requested: None,
            available: None,
        };
    }
    let kind = exception.get_type(py).name().map(|name| name.to_string()).unwrap_or_default();
    let text = exception.value(py).to_string();
    Error::Foreign {
        library: NAME,
        operation,
        source: BoxError::from(PythonError { kind, text, exception }),
    }
}

/// Returns the exception that Python code expects for an error, with its text.
///
/// `MemoryError`, `TypeError` for what is no array, dtypes and libraries, `BufferError` for memory that cannot be
/// shared, `ValueError` for arguments, shapes, devices and names, `NotImplementedError`, and
/// otherwise `RuntimeError`. An exception that Python code raised is raised again itself.
pub fn exception(error: impl Into<Error>) -> PyErr {
    let error = error.into();
    if let Error::Foreign { source, .. } = &error
        && let Some(python) = source.downcast_ref::<PythonError>()
        && let Some(again) = Python::try_attach(|py| python.exception.clone_ref(py))
    {
        return again;
    }
    if error.is_out_of_memory() {
        return PyMemoryError::new_err(text(&error));
    }
    let new = match &error {
        // What is no array.
        Error::InvalidPayload { field: "object", .. }
        | Error::DtypeUnsupported { .. }
        | Error::DtypeMismatch { .. }
        | Error::WrongLibrary { .. } => PyTypeError::new_err::<String>,
        Error::WouldCopy { .. } | Error::Shared { .. } | Error::InvalidPayload { .. } => {
            PyBufferError::new_err::<String>
        }
        Error::Unsupported { .. } => PyNotImplementedError::new_err::<String>,
        Error::Foreign { .. } | Error::LibraryUnavailable { .. } | Error::Function { .. } => {
            PyRuntimeError::new_err::<String>
        }
        _ => PyValueError::new_err::<String>,
    };
    new(text(&error))
}

/// Joins an error's text with those of its causes.
fn text(error: &Error) -> String {
    let texts: Vec<String> = causes(error).map(|cause| cause.to_string()).collect();
    texts.join(": ")
}
