//! NumPy arrays over a host array's memory.

use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use arraybridge_core::{DType, Error, HostArray, Layout};
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
    let layout = array.layout();
    let lengths: SmallVec<[usize; 4]> = SmallVec::from_slice(layout.shape());
    let compact = layout.is_row_major() && !layout.is_empty();
    let strides = if compact { None } else { Some(byte_strides(layout, dtype)?) };
    // NumPy would allocate for null, which only an array without elements has.
    let data = NonNull::new(data).unwrap_or(NonNull::<u64>::dangling().cast());
    let memory = Bound::new(py, Memory::new(array));
    let memory = memory.map_err(|error| raised(py, "making a NumPy array", error))?;
    // SAFETY: the host array's own description, whose memory the `Memory` keeps; nobody else reaches
    // it, which was proven before.
    unsafe { numpy.array(data, dtype, &lengths, strides.as_deref(), memory.into_any()) }
}

/// Returns the strides in bytes, for which an axis that is never stepped along may have any here.
fn byte_strides(layout: &Layout, dtype: DType) -> Result<SmallVec<[isize; 4]>, Error> {
    let layout = layout.canonical();
    let strides = layout.strides().iter().map(|step| step.checked_mul(dtype.size() as isize));
    strides
        .collect::<Option<_>>()
        .ok_or_else(|| Error::SizeOverflow { shape: layout.shape().into() })
}
