//! The array interfaces: NumPy's as a C structure and as a dictionary, and CUDA's.

use std::ffi::{c_char, c_int, c_void};

use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload};
use arraybridge_core::{Access, DType, Error, Layout, Owner};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use smallvec::SmallVec;

use super::{Seen, attribute};
use crate::attached::Attached;
use crate::dtype;
use crate::error::raised;
use crate::numpy::Numpy;

/// `PyArrayInterface` of NumPy's array interface, version 3.
#[repr(C)]
struct ArrayStruct {
    /// 2, as a sanity check.
    two: c_int,
    nd: c_int,
    typekind: c_char,
    itemsize: c_int,
    flags: c_int,
    shape: *mut isize,
    strides: *mut isize,
    data: *mut c_void,
    descr: *mut ffi::PyObject,
}

/// The most axes that NumPy has ever allowed.
const MOST_AXES: usize = 64;

/// Axes that are read without allocation.
const AXES: usize = 4;

/// The bytes are in the machine's order.
const NOT_SWAPPED: c_int = 0x200;

/// Looks into an object that is exactly a NumPy array; `None` for any other, and for dtypes that are
/// told apart by name.
pub(crate) fn of_array<'py>(object: &Bound<'py, PyAny>) -> Result<Option<Seen<'py>>, Error> {
    let Some(array) = Numpy::get(object.py())?.fields(object.as_borrowed()) else {
        return Ok(None);
    };
    let Some(dtype) = array.dtype() else { return Ok(None) };
    // By far the most arrays, and quicker to see than by their strides.
    let strides = if array.is_row_major() { None } else { Some(array.strides()) };
    let layout = layout(array.lengths(), strides, dtype)?;
    let keeper = (object.clone(), None);
    Seen::of_object(keeper, array.data(), dtype, layout, DlpackDevice::CPU).map(Some)
}

/// Describes an object by `__array_struct__`; `None` if it has none.
pub(super) fn of_struct<'py>(object: &Bound<'py, PyAny>) -> Result<Option<Seen<'py>>, Error> {
    let py = object.py();
    let Some(capsule) = attribute(object, pyo3::intern!(py, "__array_struct__"))? else {
        return Ok(None);
    };
    // SAFETY: a live object; the interface's capsules have no name.
    if unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), std::ptr::null()) } == 0 {
        return Err(refuse("__array_struct__", "it is not a capsule without a name"));
    }
    // SAFETY: valid, without a name.
    let found = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), std::ptr::null()) };
    if found.is_null() {
        return Err(refuse("__array_struct__", "its capsule is empty"));
    }
    // SAFETY: such capsules hold this structure, which lives as long as the capsule.
    let told = unsafe { found.cast::<ArrayStruct>().read() };
    let (Ok(rank), Ok(size)) = (usize::try_from(told.nd), usize::try_from(told.itemsize)) else {
        return Err(refuse("__array_struct__", "a number of axes or bytes is negative"));
    };
    if told.two != 2 {
        return Err(refuse("__array_struct__", "it does not begin with 2"));
    }
    if rank > MOST_AXES {
        return Err(refuse("__array_struct__", "it has more axes than NumPy knows"));
    }
    if rank > 0 && told.shape.is_null() {
        return Err(refuse("__array_struct__", "it has axes and no lengths"));
    }
    let dtype = match dtype::of_kind(told.typekind as u8 as char, size) {
        Some(dtype) => dtype,
        None => named_dtype(object, size)?,
    };
    if told.flags & NOT_SWAPPED == 0 && size > 1 {
        return Err(refuse(
            "dtype",
            "it is in the byte order of another machine; `astype` changes it",
        ));
    }
    let lengths = if rank == 0 {
        &[]
    } else {
        // SAFETY: the structure has as many lengths as axes, as long as the capsule lives.
        unsafe { std::slice::from_raw_parts(told.shape, rank) }
    };
    let steps = if rank == 0 || told.strides.is_null() {
        // NumPy takes arrays without strides for row-major ones.
        None
    } else {
        // SAFETY: as above.
        Some(unsafe { std::slice::from_raw_parts(told.strides, rank) })
    };
    let layout = layout(lengths, steps, dtype)?;
    // What makes its structure for each reader (NumPy's scalars) has the memory in the capsule.
    let keeper = (object.clone(), Some(capsule));
    Seen::of_object(keeper, told.data, dtype, layout, DlpackDevice::CPU).map(Some)
}

/// Returns the dtype of an extension package by the name of its `dtype`.
fn named_dtype(object: &Bound<'_, PyAny>, size: usize) -> Result<DType, Error> {
    let failed = |error| raised(object.py(), "reading a dtype", error);
    let Some(dtype) = attribute(object, pyo3::intern!(object.py(), "dtype"))? else {
        return Err(refuse("dtype", "its elements are opaque bytes"));
    };
    let name: String = dtype.getattr("name").and_then(|name| name.extract()).map_err(failed)?;
    name.parse::<DType>()
        .ok()
        .filter(|dtype| dtype.size() == size)
        .ok_or_else(|| refuse("dtype", &format!("`{name}` has no dtype here")))
}

/// Describes an object by `__array_interface__` or `__cuda_array_interface__`; `None` if it has
/// neither.
pub(super) fn of_object<'py>(object: &Bound<'py, PyAny>) -> Result<Option<Seen<'py>>, Error> {
    let py = object.py();
    if let Some(told) = attribute(object, pyo3::intern!(py, "__array_interface__"))? {
        return of_dictionary(object, &told, DlpackDevice::CPU).map(Some);
    }
    if let Some(told) = attribute(object, pyo3::intern!(py, "__cuda_array_interface__"))? {
        // The interface does not name the device; what has it and nothing else is on the first.
        return of_dictionary(object, &told, DlpackDevice::cuda(0)).map(Some);
    }
    Ok(None)
}

fn of_dictionary<'py>(
    object: &Bound<'py, PyAny>,
    told: &Bound<'py, PyAny>,
    device: DlpackDevice,
) -> Result<Seen<'py>, Error> {
    let py = object.py();
    let failed = |error| raised(py, "reading an array interface", error);
    let told = told.cast::<PyDict>().map_err(|error| failed(error.into()))?;
    let field = |name: &str| told.get_item(name).map_err(failed);
    let required = |name: &'static str| {
        field(name)?.ok_or_else(|| refuse("array interface", &format!("`{name}` is missing")))
    };
    let text: String = required("typestr")?.extract().map_err(failed)?;
    let dtype = dtype::from_type_text(&text)?;
    let shape: Vec<isize> = required("shape")?.extract().map_err(failed)?;
    let strides: Option<Vec<isize>> = match field("strides")? {
        Some(strides) => strides.extract().map_err(failed)?,
        None => None,
    };
    if field("mask")?.is_some_and(|mask| !mask.is_none()) {
        return Err(refuse("mask", "masked arrays have no form here; fill them first"));
    }
    let layout = layout(&shape, strides.as_deref(), dtype)?;
    let offset: isize = match field("offset")? {
        Some(offset) => offset.extract().map_err(failed)?,
        None => 0,
    };
    match field("data")? {
        Some(data) if !data.is_none() => {
            // Whether it is read-only does not matter: nothing is written through this.
            let (address, _read_only): (usize, Bound<'_, PyAny>) = data
                .extract()
                .map_err(|_| refuse("data", "only an address is understood, with a flag"))?;
            let keeper = (object.clone(), Some(told.clone().into_any()));
            Seen::of_object(keeper, address as *mut c_void, dtype, layout, device)
        }
        _ => of_buffer(object, offset, dtype, layout).map(Seen::of_export),
    }
}

/// An interface without an address speaks of the object's own buffer, whose size is checked.
fn of_buffer(
    object: &Bound<'_, PyAny>,
    offset: isize,
    dtype: DType,
    layout: Layout,
) -> Result<DlpackPayload, Error> {
    let failed = |error| raised(object.py(), "reading an object's buffer", error);
    let buffer = pyo3::buffer::PyUntypedBuffer::get(object).map_err(failed)?;
    let span = layout.byte_span(dtype)?;
    let length = isize::try_from(buffer.len_bytes()).unwrap_or(isize::MAX);
    let inside = |edge: isize| edge.checked_add(offset).is_some_and(|at| at >= 0 && at <= length);
    if !(buffer.is_c_contiguous() && inside(span.start) && inside(span.end)) {
        return Err(refuse("data", "the interface leaves the object's buffer"));
    }
    let first = buffer.buf_ptr().cast::<u8>().wrapping_offset(offset).cast();
    let owner = Owner::new(Attached::new(buffer));
    // SAFETY: the buffer keeps its memory until it is released, and the layout stays inside.
    unsafe {
        DlpackPayload::new(owner, first, 0, dtype, layout, DlpackDevice::CPU, Access::SharedMutable)
    }
}

/// Makes a layout of lengths and of strides in bytes.
fn layout(shape: &[isize], strides: Option<&[isize]>, dtype: DType) -> Result<Layout, Error> {
    if shape.iter().any(|length| *length < 0) {
        return Err(refuse("shape", "a length is negative"));
    }
    let Some(strides) = strides else {
        let lengths: SmallVec<[usize; AXES]> =
            shape.iter().map(|&length| length as usize).collect();
        return Layout::row_major(&lengths);
    };
    if strides.len() != shape.len() {
        return Err(refuse("strides", "there are not as many as axes"));
    }
    // Sizes are powers of two, and this is read for every array: shifting is faster than dividing.
    debug_assert!(dtype.size().is_power_of_two());
    let shift = dtype.size().trailing_zeros();
    let fits = |bytes: isize| (bytes >> shift) << shift == bytes;
    let axes = shape.iter().zip(strides);
    // Strides of axes that are never stepped along carry no meaning, whatever they are.
    let misfit = |(&length, &bytes): (&isize, &isize)| !fits(bytes) && length != 1;
    if axes.clone().any(misfit) && !shape.contains(&0) {
        return Err(refuse(
            "strides",
            "they are no multiples of the element's size; `numpy.ascontiguousarray` copies it",
        ));
    }
    let step = |bytes: isize| if fits(bytes) { bytes >> shift } else { 0 };
    Layout::from_axes(axes.map(|(&length, &bytes)| (length as usize, step(bytes))))
}

fn refuse(field: &'static str, message: &str) -> Error {
    Error::InvalidPayload { field, message: message.into() }
}
