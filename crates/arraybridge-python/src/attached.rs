//! Values that have to be dropped attached to the interpreter.

use crate::{interpreter, thread_state};

/// A value whose drop runs Python code: a reference to an object, a tensor that a Python library
/// releases.
///
/// It is dropped at once, on any thread, attached to the interpreter. A thread that holds a lock
/// which another one waits for while attached would wait for ever, so none of this crate's locks
/// is held where such a value may be dropped. When the interpreter is gone or on its way out, the
/// value is leaked, knowingly: what it would free goes with the process.
#[derive(Debug)]
pub(crate) struct Attached<T: Send>(Option<T>);

impl<T: Send> Attached<T> {
    pub(crate) fn new(value: T) -> Attached<T> {
        Attached(Some(value))
    }

    /// Borrows the value; `None` only for one that is being dropped.
    pub(crate) fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// Takes the value out, to be dropped by the caller.
    pub(crate) fn take(mut self) -> Option<T> {
        self.0.take()
    }
}

impl<T: Send> Drop for Attached<T> {
    fn drop(&mut self) {
        let Some(value) = self.0.take() else { return };
        let mut value = Some(value);
        if !interpreter::is_leaving() {
            // This may be what a thread that Rust started has to do with Python first.
            interpreter::keep_state();
            thread_state::try_attach(|_| drop(value.take()));
        }
        std::mem::forget(value);
    }
}
