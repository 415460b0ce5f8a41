//! NumPy arrays over a host array's memory.

use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use arraybridge_core::{Error, HostArray};
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::error::raised;
use crate::numpy::Numpy;

/// What keeps the memory under a NumPy array of ours: the array's `base`.
#[pyclass(frozen, name = "Memory", module = "arraybridge_rs")]
pub(crate) struct Memory {
    /// Locked for a moment and never while anything is dropped or called.
    array: Mutex<Option<HostArray>>,
}

impl Memory {
    fn new(array: HostArray) -> Memory {
        Memory { array: Mutex::new(Some(array)) }
    }

    /// Takes the host array out. Only for a memory that nobody asks any more.
    pub(crate) fn take(&self) -> Option<HostArray> {
        self.array.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns a second handle.
    pub(crate) fn array(&self) -> Option<HostArray> {
        self.array.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Makes a writable NumPy array over the memory of a host array, or over a copy if anything else
/// reaches that.
pub(crate) fn over<'py>(py: Python<'py>, mut array: HostArray) -> Result<Bound<'py, PyAny>, Error> {
    array.make_mut()?;
    over_claimed(py, array)
}

/// Makes a writable NumPy array over memory whose sole ownership was proven before: during a
/// conversion core holds a second handle, beside which none can be. The array's `base` keeps it.
pub(crate) fn over_claimed<'py>(
    py: Python<'py>,
    array: HostArray,
) -> Result<Bound<'py, PyAny>, Error> {
    let numpy = Numpy::get(py)?;
    let (dtype, data) = (array.dtype(), array.as_ptr().cast_mut().cast());
    // An axis that is never stepped along may have any stride here, and NumPy wants bytes.
    let layout = array.layout().canonical();
    let overflow = || Error::SizeOverflow { shape: layout.shape().to_vec() };
    let lengths = layout.shape().iter().map(|&length| isize::try_from(length).ok());
    let lengths: SmallVec<[isize; 4]> = lengths.collect::<Option<_>>().ok_or_else(overflow)?;
    let strides = layout.strides().iter().map(|step| step.checked_mul(dtype.size() as isize));
    let strides: SmallVec<[isize; 4]> = strides.collect::<Option<_>>().ok_or_else(overflow)?;
    // NumPy would allocate for null, which only an array without elements has.
    let data = NonNull::new(data).unwrap_or(NonNull::<u64>::dangling().cast());
    let memory = Bound::new(py, Memory::new(array));
    let memory = memory.map_err(|error| raised(py, "making a NumPy array", error))?;
    // SAFETY: the host array's own description, whose memory the `Memory` keeps; nobody else reaches
    // it, which was proven before.
    unsafe { numpy.array(data, dtype, &lengths, &strides, true, memory.into_any()) }
}
