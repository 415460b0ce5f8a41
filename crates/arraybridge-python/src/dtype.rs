//! Dtypes in NumPy's terms.

use arraybridge_core::{DType, Error};
use pyo3::prelude::*;

use crate::error::raised;
use crate::library::NAME;

/// Returns the dtype of the array interface's kind and size; `None` for those of extension
/// packages, which are told apart by name.
pub(crate) fn of_kind(kind: char, size: usize) -> Option<DType> {
    let dtype = match (kind, size) {
        ('b', 1) => DType::Bool,
        ('i', 1) => DType::I8,
        ('i', 2) => DType::I16,
        ('i', 4) => DType::I32,
        ('i', 8) => DType::I64,
        ('u', 1) => DType::U8,
        ('u', 2) => DType::U16,
        ('u', 4) => DType::U32,
        ('u', 8) => DType::U64,
        ('f', 2) => DType::F16,
        ('f', 4) => DType::F32,
        ('f', 8) => DType::F64,
        ('c', 8) => DType::Complex64,
        ('c', 16) => DType::Complex128,
        _ => return None,
    };
    Some(dtype)
}

/// Returns whether NumPy has the dtype through the package `ml_dtypes` alone, or not at all.
pub(crate) fn is_extension(dtype: DType) -> bool {
    dtype.is_float8() || matches!(dtype, DType::BF16 | DType::Complex32)
}

/// Returns NumPy's dtype object.
pub(crate) fn object<'py>(py: Python<'py>, dtype: DType) -> Result<Bound<'py, PyAny>, Error> {
    let unsupported =
        || Error::DtypeUnsupported { library: NAME, operation: "a NumPy array", dtype };
    if dtype == DType::Complex32 {
        return Err(unsupported());
    }
    let scalar = if is_extension(dtype) {
        // The package may be missing, or too old to have it.
        let module = py.import("ml_dtypes").map_err(|_| unsupported())?;
        module.getattr(dtype.name()).map_err(|_| unsupported())?
    } else {
        pyo3::types::PyString::new(py, dtype.name()).into_any()
    };
    let numpy = py.import("numpy").map_err(|error| raised(py, "importing NumPy", error))?;
    numpy.call_method1("dtype", (scalar,)).map_err(|error| raised(py, "making a dtype", error))
}

/// Reads a type text of the array interface.
pub(crate) fn from_type_text(text: &str) -> Result<DType, Error> {
    let refuse = |problem: &str| Error::InvalidPayload {
        field: "typestr",
        message: format!("`{text}` {problem}"),
    };
    let mut rest = text.chars();
    let (Some(order), Some(kind)) = (rest.next(), rest.next()) else {
        return Err(refuse("is no type"));
    };
    let size: usize = rest.as_str().parse().map_err(|_| refuse("has no size"))?;
    let foreign = if cfg!(target_endian = "big") { '<' } else { '>' };
    if order == foreign && size > 1 {
        return Err(refuse("is in the byte order of another machine; `astype` changes it"));
    }
    of_kind(kind, size).ok_or_else(|| refuse("has no dtype here"))
}
