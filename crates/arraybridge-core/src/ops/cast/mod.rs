//! What a plain cast means, for every library, and the cast of arrays in main memory.
//!
//! - float to integer truncates toward zero and saturates; NaN becomes 0;
//! - integer to narrower integer keeps the low bits (wraps);
//! - anything to a float rounds once, to nearest, ties to even; what is too large becomes infinity
//!   (NaN in a format without one, see the 8-bit floats);
//! - anything to bool is "not zero", so NaN is true; bool to a number is 0 or 1;
//! - real to complex has a zero imaginary part; complex to real is an error, because it would drop
//!   the imaginary part.

mod carrier;
mod number;
mod reader;
mod round;
mod saturate;

use crate::{DType, DTypeKind, Error, HostArray, with_element};

pub use number::Castable;
pub use reader::Reader;

pub(crate) use carrier::Carried;
use carrier::{CHUNK, Room};

/// Returns an error if there is no cast between two dtypes: complex into real numbers would drop
/// the imaginary part.
///
/// # Errors
/// [`Error::DtypeUnsupported`].
pub fn check(from: DType, to: DType) -> Result<(), Error> {
    let real = !matches!(to.kind(), DTypeKind::Complex | DTypeKind::Bool);
    if from.kind() == DTypeKind::Complex && real { Err(drops_imaginary(to)) } else { Ok(()) }
}

fn drops_imaginary(to: DType) -> Error {
    Error::DtypeUnsupported {
        library: "arraybridge",
        operation: "casting complex numbers into it",
        dtype: to,
    }
}

/// Casts one element.
///
/// ```
/// use arraybridge_core::ops::cast;
///
/// assert_eq!(cast::element::<f32, u8>(-3.7)?, 0);
/// assert_eq!(cast::element::<i32, u8>(-3)?, 253);
/// # Ok::<(), arraybridge_core::Error>(())
/// ```
///
/// # Errors
/// As [`check`].
pub fn element<S: Castable, T: Castable>(value: S) -> Result<T, Error> {
    let mut result = [T::default()];
    slice(&[value], &mut result)?;
    Ok(result[0])
}

/// Casts the elements of a slice into another of the same length.
///
/// # Errors
/// As [`check`]; [`Error::ShapeMismatch`].
pub fn slice<S: Castable, T: Castable>(source: &[S], target: &mut [T]) -> Result<(), Error> {
    if source.len() != target.len() {
        return Err(Error::ShapeMismatch {
            operation: "casting a slice",
            expected: vec![target.len()],
            found: vec![source.len()],
        });
    }
    let mut room = Room::default();
    for (source, target) in source.chunks(CHUNK).zip(target.chunks_mut(CHUNK)) {
        T::store(S::load(source, &mut room), target)?;
    }
    Ok(())
}

/// Casts an array in main memory into a row-major array; to its own dtype it is the same array,
/// sharing its memory.
///
/// ```
/// use arraybridge_core::{DType, HostArray, ops::cast};
///
/// let array = HostArray::from_slice(&[0.9f32, -1.5, f32::NAN, 300.0], &[4])?;
/// let bytes = cast::cast(&array, DType::U8)?;
/// assert_eq!(bytes.as_slice::<u8>()?, [0, 0, 0, 255]);
/// # Ok::<(), arraybridge_core::Error>(())
/// ```
///
/// # Errors
/// As [`check`]; [`Error::OutOfMemory`].
pub fn cast(array: &HostArray, dtype: DType) -> Result<HostArray, Error> {
    check(array.dtype(), dtype)?;
    if array.dtype() == dtype {
        return Ok(array.clone());
    }
    let source = array.to_contiguous()?;
    let mut target = HostArray::scratch(dtype, array.shape())?;
    let mut reader = Reader::new(&source)?;
    with_element!(dtype, T => reader.read(0, target.as_slice_mut::<T>()?))?;
    Ok(target)
}
