//! Whether a handle on an object is the only way to its memory.

use std::ffi::c_void;

use arraybridge_core::dlpack::DlpackPayload;
use arraybridge_core::{DType, Decline, DeclineReason, Error, HostArray, HostView, Obstacle};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::error::raised;
use crate::make::memory::Memory;
use crate::make::numpy;
use crate::read::{Wish, look};
use crate::{Maker, PyArray};

/// An array whose memory nothing but its handle reaches.
pub(super) struct Claimed {
    pub(super) payload: DlpackPayload,
}

fn shared(note: &'static str) -> Obstacle {
    Decline::new(DeclineReason::Shared).note(note).into()
}

/// Proves that an array's handle is the only way to its memory, or declines.
///
/// That is so for a `numpy.ndarray` (no subclass, which may have attributes) with one reference and
/// no weak one, whose memory is NumPy's own, or one [`Memory`] that nothing else refers to, or that
/// of another such array which nothing but this view refers to. NumPy's arrays take no part in
/// garbage collection, so nothing finds them but through a reference; every view, buffer and capsule
/// of one holds a reference to it. This thread is attached all the time, so no reference comes into
/// being meanwhile.
pub(super) fn claim(py: Python<'_>, array: &PyArray) -> Result<Claimed, Obstacle> {
    let Some(object) = array.bound(py) else { return Err(shared("the array is gone")) };
    if array.maker() != Maker::Numpy || !is_plain(object)? {
        return Err(shared("only a numpy.ndarray can be proven to be nobody else's"));
    }
    if references(object) != 1 {
        return Err(shared("Python code holds the array too"));
    }
    let mut seen = object.clone();
    loop {
        if has_weak_references(&seen)? {
            return Err(shared("Python code has a weak reference to the array"));
        }
        let failed = |error| raised(py, "asking whose memory an array has", error);
        let base = seen.getattr(pyo3::intern!(py, "base")).map_err(failed)?;
        if base.is_none() {
            let flags = seen.getattr(pyo3::intern!(py, "flags")).map_err(failed)?;
            let owns = flags.getattr(pyo3::intern!(py, "owndata")).map_err(failed)?;
            if owns.extract().map_err(failed)? {
                break;
            }
            return Err(shared("the array is a view of memory that others hold"));
        }
        let known = base.cast::<Memory>().is_ok();
        // One reference is the array's over it and one this walk's.
        if references(&base) != 2 || !(known || is_plain(&base)?) {
            return Err(shared("the array is a view of memory that others hold"));
        }
        if known {
            break;
        }
        seen = base;
    }
    drop(seen);
    let payload = look(object, Wish::default())?;
    if payload.dtype() == DType::Bool {
        check_bools(&payload)?;
    }
    Ok(Claimed { payload })
}

/// Refuses bytes of bool other than 0 and 1, which Python code may have stored through another
/// dtype, while the array is where it was: what is taken out later would be lost with the error.
fn check_bools(seen: &DlpackPayload) -> Result<(), Error> {
    let (first, layout) = (seen.address() as *const u8, seen.layout().clone());
    // SAFETY: the memory of the payload, which outlives the view; nobody else reaches it, which
    // `claim` proved, so nobody writes it.
    unsafe { HostView::new(first, DType::Bool, layout, None) }.map(drop)
}

fn has_weak_references(object: &Bound<'_, PyAny>) -> Result<bool, Obstacle> {
    let py = object.py();
    let count = py.import(pyo3::intern!(py, "_weakref")).and_then(|module| {
        module.call_method1(pyo3::intern!(py, "getweakrefcount"), (object,))?.extract::<usize>()
    });
    Ok(count.map_err(|error| raised(py, "counting weak references", error))? != 0)
}

/// Returns whether an object is exactly a `numpy.ndarray`.
fn is_plain(object: &Bound<'_, PyAny>) -> Result<bool, Obstacle> {
    let kind = numpy(object.py())?.getattr(pyo3::intern!(object.py(), "ndarray"));
    let kind = kind.map_err(|error| raised(object.py(), "finding numpy.ndarray", error))?;
    Ok(kind.cast::<PyType>().is_ok_and(|kind| object.is_exact_instance(kind)))
}

fn references(object: &Bound<'_, PyAny>) -> isize {
    // SAFETY: a live object, on an attached thread.
    unsafe { ffi::Py_REFCNT(object.as_ptr()) }
}

/// Takes the host array out of a NumPy array that was claimed, if it lies over one of ours just as
/// it was made.
pub(super) fn unwrap(py: Python<'_>, array: &PyArray, claimed: &Claimed) -> Option<HostArray> {
    let base = array.bound(py)?.getattr(pyo3::intern!(py, "base")).ok()?;
    let memory = base.cast::<Memory>().ok()?.get();
    let kept = memory.array()?;
    let payload = &claimed.payload;
    let same = (kept.as_ptr().cast::<c_void>() == payload.data().cast_const())
        && payload.byte_offset() == 0
        && kept.dtype() == payload.dtype()
        && kept.layout().canonical() == payload.layout().canonical();
    drop(kept);
    if same { memory.take() } else { None }
}
