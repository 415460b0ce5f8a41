//! A thread's state in the interpreter, kept for as long as the thread runs.

use std::ptr::NonNull;

use pyo3::{Python, ffi};

use crate::interpreter;

thread_local! {
    static KEPT: Option<Kept> = Kept::take();
}

/// Gives this thread a state of its own in the interpreter, unless it has one.
///
/// Without that, a thread that Rust started would get a new state each time it attaches, which is
/// slow, and unsafe with Python libraries that remember the first one: those built with pybind11
/// (TensorFlow among them) use it again after it was freed.
pub(crate) fn keep() {
    // A thread whose variables are being destroyed attaches as it can.
    let _ = KEPT.try_with(|_| ());
}

/// Runs `body` attached, or returns `None` where the interpreter lets nobody attach.
///
/// PyO3 counts who attached through it, and takes this thread for attached below any of its own
/// frames. But a library that is called there may detach by itself (JAX does where it frees an array)
/// and then release what came from here, so that the interpreter itself is asked.
pub(crate) fn try_attach<R>(body: impl FnOnce(Python<'_>) -> R) -> Option<R> {
    // SAFETY: may be called at any time.
    let there = unsafe { ffi::Py_IsInitialized() } != 0;
    let _ensured = there.then(Ensured::new);
    Python::try_attach(body)
}

/// This thread's being attached, whatever PyO3 takes it for.
struct Ensured(ffi::PyGILState_STATE);

impl Ensured {
    fn new() -> Ensured {
        // SAFETY: the interpreter is there, which the caller has asked.
        Ensured(unsafe { ffi::PyGILState_Ensure() })
    }
}

impl Drop for Ensured {
    fn drop(&mut self) {
        // SAFETY: matches the call in `new`, on the same thread, since nothing leaves
        // `try_attach`.
        unsafe { ffi::PyGILState_Release(self.0) };
    }
}

struct Kept {
    before: ffi::PyGILState_STATE,
    state: NonNull<ffi::PyThreadState>,
}

impl Kept {
    fn take() -> Option<Kept> {
        // SAFETY: may be called on any thread once the interpreter is there, which the caller of
        // `keep` made sure of.
        let there = unsafe { ffi::PyGILState_GetThisThreadState() };
        if !there.is_null() || interpreter::is_leaving() {
            // Python's own thread, or one that somebody attached already.
            return None;
        }
        // SAFETY: the interpreter is there, and this thread is not attached.
        let before = unsafe { ffi::PyGILState_Ensure() };
        // SAFETY: attached by the line above; this detaches and leaves the state with the thread.
        let state = unsafe { ffi::PyEval_SaveThread() };
        Some(Kept { before, state: NonNull::new(state)? })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: may be called at any time.
        let there = unsafe { ffi::Py_IsInitialized() } != 0;
        if !there || interpreter::is_leaving() {
            // The interpreter frees the states of all threads when it ends.
            return;
        }
        // SAFETY: the state of this thread, which is not attached while its variables are destroyed.
        unsafe { ffi::PyEval_RestoreThread(self.state.as_ptr()) };
        // SAFETY: matches the call in `take`; the last one, so that the state is freed.
        unsafe { ffi::PyGILState_Release(self.before) };
    }
}
