//! Whether a handle on an object is the only way to its memory.

use arraybridge_core::{DType, Decline, DeclineReason, Error, HostArray, HostView, Obstacle};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::PyArray;
use crate::make::memory::Memory;
use crate::numpy::Numpy;
use crate::read::{Seen, look};

fn shared(note: &'static str) -> Obstacle {
    Decline::new(DeclineReason::Shared).note(note).into()
}

/// Proves that an array's handle is the only way to its memory, or declines.
///
/// That is so for a `numpy.ndarray` (no subclass, which may have attributes) with one reference and
/// no weak one, whose memory is NumPy's own, or one [`Memory`] that nothing else refers to, or that
/// of another such array which nothing but this view refers to. NumPy's arrays take no part in
/// garbage collection, so nothing finds them but through a reference; every view, buffer and capsule
/// of one holds a reference to it. The proof reads memory and runs no Python code, which could make a
/// reference of a weak one between two of its parts, so it holds at one moment; and from then on there
/// is nobody to make one.
pub(super) fn claim<'py>(py: Python<'py>, array: &PyArray) -> Result<Seen<'py>, Obstacle> {
    let object = array.bound(py)?;
    let numpy = Numpy::get(py)?;
    let Some(mut fields) = numpy.fields(object.as_borrowed()) else {
        return Err(shared("only a numpy.ndarray can be proven to be nobody else's"));
    };
    if references(object) != 1 {
        return Err(shared("Python code holds the array too"));
    }
    loop {
        if fields.has_weak_references() {
            return Err(shared("Python code has a weak reference to the array"));
        }
        let Some(base) = fields.base(py) else {
            if fields.owns_data() {
                break;
            }
            return Err(shared("the array is a view of memory that others hold"));
        };
        // The one is the array's over it.
        if references(&base) != 1 {
            return Err(shared("the array is a view of memory that others hold"));
        }
        if base.cast::<Memory>().is_ok() {
            break;
        }
        fields = match numpy.fields(base) {
            Some(fields) => fields,
            None => return Err(shared("the array is a view of memory that others hold")),
        };
    }
    let seen = look(object)?;
    if seen.dtype() == DType::Bool {
        check_bools(&seen)?;
    }
    Ok(seen)
}

/// Refuses bytes of bool other than 0 and 1, which Python code may have stored through another
/// dtype, while the array is where it was: what is taken out later would be lost with the error.
fn check_bools(seen: &Seen<'_>) -> Result<(), Error> {
    let (first, layout) = (seen.address() as *const u8, seen.layout().clone());
    // SAFETY: the memory that was seen and is kept longer than the view; nobody else reaches it,
    // which `claim` proved, so nobody writes it.
    unsafe { HostView::new(first, DType::Bool, layout, None) }.map(drop)
}

fn references(object: &Bound<'_, PyAny>) -> isize {
    // SAFETY: a live object, on an attached thread.
    unsafe { ffi::Py_REFCNT(object.as_ptr()) }
}

/// Takes the host array out of a NumPy array that was claimed, if it lies over one of ours just as
/// it was made.
pub(super) fn unwrap(array: &PyArray, claimed: &Seen<'_>, py: Python<'_>) -> Option<HostArray> {
    let base = Numpy::get(py).ok()?.fields(array.bound(py).ok()?.as_borrowed())?.base(py)?;
    let memory = base.cast::<Memory>().ok()?.get();
    let kept = memory.array()?;
    let same = kept.as_ptr() as usize == claimed.address()
        && kept.dtype() == claimed.dtype()
        && kept.layout().canonical() == claimed.layout().canonical();
    drop(kept);
    if same { memory.take() } else { None }
}
