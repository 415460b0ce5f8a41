//! Arrays of any library, given to Python code.

use arraybridge_core::{AnyArray, ConversionError, CopyPolicy, Library};
use pyo3::prelude::*;

use crate::{Maker, PyArray, PyLibrary, make, outside};

/// Gives an array of any library to Python code as an array of a named Python library (`numpy`,
/// `torch`, `jax`, `tensorflow`, `cupy`), on the device where it is.
///
/// It crosses without a copy where nobody else holds its memory and the Python library takes it.
///
/// ```no_run
/// use arraybridge_core::AnyArray;
/// use arraybridge_python::{pyo3, to_python};
/// use pyo3::prelude::*;
///
/// #[pyfunction]
/// fn make<'py>(py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
/// #   let array: AnyArray = unimplemented!();
///     // let array: AnyArray = ...
///     to_python(py, array, "torch").map_err(arraybridge_python::exception)
/// }
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`](arraybridge_core::Error::InvalidArgument) for another name; what the
/// conversion and the Python library raise. The array comes back, if no Python library took it.
pub fn to_python<'py>(
    py: Python<'py>,
    array: AnyArray,
    name: &str,
) -> Result<Bound<'py, PyAny>, ConversionError<AnyArray>> {
    if Maker::named(name).is_none_or(|maker| !maker.is_target()) {
        return Err(ConversionError::new(make::unknown(name), Some(array)));
    }
    let device = match array.device() {
        Ok(device) => device,
        Err(error) => return Err(ConversionError::new(error, Some(array))),
    };
    // Detached: the library may wait for threads of its own that release Python's objects.
    let made = py.detach(|| array.convert_to(Library::of::<PyLibrary>(), device))?;
    let array: PyArray = made.into_array_of::<PyLibrary>()?;
    let named = array.into_maker(name);
    let array =
        named.map_err(|error| error.map_array(|array| Some(AnyArray::of::<PyLibrary>(array))))?;
    Ok(array.into_object(py))
}

/// Which form of DLPack's structure a capsule holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CapsuleForm {
    /// `dltensor_versioned`, of DLPack 1.0 and later.
    Versioned,
    /// `dltensor`, for consumers of DLPack before 1.0.
    Legacy,
}

/// Turns an array of any library into a DLPack capsule, which releases it if nobody consumes it.
///
/// Its consumer may write, so memory that others hold is copied, which the capsule's flags say.
///
/// # Errors
/// [`Error::WouldCopy`](arraybridge_core::Error::WouldCopy) where that was refused; the failures of
/// the conversion. The array comes back where it can.
pub fn to_capsule(
    py: Python<'_>,
    array: AnyArray,
    form: CapsuleForm,
    policy: CopyPolicy,
) -> Result<Bound<'_, PyAny>, ConversionError<AnyArray>> {
    let payload = py.detach(|| outside::payload(array, policy, None))?;
    let made = match form {
        CapsuleForm::Versioned => make::capsule::versioned(py, payload),
        CapsuleForm::Legacy => make::capsule::legacy(py, payload),
    };
    made.map_err(|error| ConversionError::new(error, None))
}
