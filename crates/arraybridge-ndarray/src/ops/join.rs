//! Putting arrays into a larger one.

use arraybridge_core::{Access, AxisSlice, Error, HostArray};

use crate::NdArray;

/// Copies every array to its place in one new array.
pub(super) fn stack(arrays: &[&NdArray]) -> Result<NdArray, Error> {
    let first = arrays.first().ok_or_else(|| missing("stack"))?.host();
    let mut shape = vec![arrays.len()];
    shape.extend_from_slice(first.shape());
    let mut result = HostArray::scratch(first.dtype(), &shape)?;
    // Places are lengths of slices, so they fit in isize.
    for (place, array) in (0isize..).zip(arrays) {
        result.assign(&[AxisSlice::from(place..place + 1)], array.host())?;
    }
    Ok(NdArray::from_host(result))
}

/// Writes in place where nobody else holds the memory, else into one copy; the array leaves its
/// slot last.
pub(super) fn assign(
    data: &mut Option<NdArray>,
    index: AxisSlice,
    values: &NdArray,
) -> Result<NdArray, Error> {
    let target = data.as_mut().ok_or_else(|| missing("assign"))?.host_mut();
    if target.claim() == Access::Exclusive {
        target.assign(&[index], values.host())?;
        return data.take().ok_or_else(|| missing("assign"));
    }
    let mut copy = target.gather()?;
    copy.assign(&[index], values.host())?;
    *data = None;
    Ok(NdArray::from_host(copy))
}

fn missing(operation: &'static str) -> Error {
    Error::InvalidArgument { operation, message: "no array was given".into() }
}
