//! What a plain cast means, for every library.

use crate::{DType, DTypeKind, Error};

/// Returns an error if there is no cast between two dtypes: complex into real numbers would drop
/// the imaginary part.
///
/// # Errors
/// [`Error::DtypeUnsupported`].
pub fn check(from: DType, to: DType) -> Result<(), Error> {
    let real = !matches!(to.kind(), DTypeKind::Complex | DTypeKind::Bool);
    if from.kind() == DTypeKind::Complex && real {
        return Err(Error::DtypeUnsupported {
            library: "arraybridge",
            operation: "casting complex numbers into it",
            dtype: to,
        });
    }
    Ok(())
}
