//! What an `Array` holds, lent to one thread at a time.
//!
//! The lock is held for moments in which nothing is called or dropped, always attached: so no Python
//! code runs under it, and no other thread is inside of one when a process forks. While an operation
//! works with the array, the array is out of the lock, and whoever wants it waits, but for the thread
//! that has it: code that Python runs inside of the operation (a `__del__`, a producer's
//! `__dlpack__`) gets an error instead of waiting for itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use arraybridge_core::{AnyArray, Error};
use pyo3::exceptions::PyRuntimeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCFunction, PyDict, PyTuple};

use crate::once::once;
use crate::{Maker, PyArray, PyLibrary, exception};

/// An array that one thread at a time works with.
pub(super) struct Content(Mutex<Inside>);

struct Inside {
    state: State,
    /// The NumPy array whose address somebody was told who holds the `Array` alone. As long as it is
    /// here, there is no proof that nobody else reaches the memory.
    exposed: Option<Py<PyAny>>,
}

enum State {
    Free(AnyArray),
    InUse(Use),
    /// An error lost it.
    Lost,
}

/// Who works with the array.
struct Use {
    by: ThreadId,
    /// In which process.
    forks: u64,
    over: Option<Arc<Over>>,
}

/// Tells waiting threads that a use is over.
#[derive(Default)]
struct Over {
    is: Mutex<bool>,
    told: Condvar,
}

/// How long a thread waits before it looks whether the user wants to interrupt it.
const PATIENCE: Duration = Duration::from_millis(100);

impl Content {
    pub(super) fn new(array: AnyArray) -> Content {
        Content(Mutex::new(Inside { state: State::Free(array), exposed: None }))
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the array for an operation, waiting for others that work with it.
    pub(super) fn take(&self, py: Python<'_>) -> PyResult<Taken<'_>> {
        let (by, forks) = (thread::current().id(), forks(py));
        loop {
            let over = {
                let mut inside = self.lock();
                match std::mem::replace(&mut inside.state, State::Lost) {
                    State::Free(array) => {
                        inside.state = State::InUse(Use { by, forks, over: None });
                        return Ok(Taken { array: Some(array), from: self });
                    }
                    State::Lost => return Err(exception(lost())),
                    State::InUse(mut using) => {
                        let own = using.by == by;
                        let gone = using.forks != forks;
                        let over = Arc::clone(using.over.get_or_insert_default());
                        inside.state = State::InUse(using);
                        match (own, gone) {
                            (true, _) => return Err(reentered()),
                            (_, true) => return Err(forked()),
                            _ => over,
                        }
                    }
                }
            };
            py.detach(|| over.wait());
            py.check_signals()?;
        }
    }

    /// Returns the Python object that is held, and its maker: that of an array that is one, or NumPy's
    /// while Python code has the memory of another. `None` while a thread works with the array.
    pub(super) fn held<'py>(&self, py: Python<'py>) -> Option<(Bound<'py, PyAny>, Maker)> {
        let inside = self.lock();
        let State::Free(array) = &inside.state else { return None };
        array.as_array_of::<PyLibrary>().map(|array| (array.object(py), array.maker()))
    }

    /// Returns a second handle on the Python object of an array that is one.
    pub(super) fn python(&self, py: Python<'_>) -> PyResult<PyArray> {
        let (object, maker) = self.held(py).ok_or_else(|| exception(lost()))?;
        Ok(PyArray::new(object, maker))
    }

    /// Shows the garbage collector the Python object of an array that is one.
    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(inside) = self.0.try_lock() else { return Ok(()) };
        let State::Free(array) = &inside.state else { return Ok(()) };
        let array = array.as_array_of::<PyLibrary>();
        array.and_then(PyArray::handle).map_or(Ok(()), |object| visit.call(object))
    }

    /// Lets go of the array, because nothing reaches this any more.
    pub(super) fn clear(&self) {
        let before = std::mem::replace(&mut self.lock().state, State::Lost);
        drop(before);
    }

    /// Keeps a NumPy array whose address was told for as long as this lives.
    pub(super) fn expose(&self, array: Bound<'_, PyAny>) {
        let before = self.lock().exposed.replace(array.unbind());
        drop(before);
    }
}

impl Over {
    fn wait(&self) {
        let is = self.is.lock().unwrap_or_else(PoisonError::into_inner);
        // Woken or not, the waiting thread looks again.
        drop(self.told.wait_timeout_while(is, PATIENCE, |over| !*over));
    }

    fn tell(&self) {
        *self.is.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.told.notify_all();
    }
}

/// An array that this thread works with; it goes back where it was taken.
pub(super) struct Taken<'a> {
    /// `None` after an error that lost it.
    pub(super) array: Option<AnyArray>,
    from: &'a Content,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let state = self.array.take().map_or(State::Lost, State::Free);
        let before = std::mem::replace(&mut self.from.lock().state, state);
        if let State::InUse(Use { over: Some(over), forks, .. }) = before
            && forks == FORKS.load(Ordering::Relaxed)
        {
            // In a child that was forked meanwhile there is nobody to tell.
            over.tell();
        }
    }
}

pub(super) fn lost() -> Error {
    Error::already_taken("using an array that a failed conversion lost")
}

fn reentered() -> PyErr {
    PyRuntimeError::new_err(
        "this array is in use by this thread: code that Python runs inside of one of its operations \
         (`__del__`, `__dlpack__`, `__array__`) cannot start another one",
    )
}

fn forked() -> PyErr {
    PyRuntimeError::new_err(
        "this array was in use by another thread when the process forked, and is lost in the child; \
         make it there, or start the process by `spawn`",
    )
}

/// How many forks lie between this process and the first one.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Returns how many forks lie between this process and the first one, which is counted from here on.
fn forks(py: Python<'_>) -> u64 {
    static WATCHED: PyOnceLock<bool> = PyOnceLock::new();
    let watch = || -> PyResult<()> {
        let count = |_: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
            FORKS.fetch_add(1, Ordering::Relaxed);
        };
        let arguments = PyDict::new(py);
        arguments.set_item("after_in_child", PyCFunction::new_closure(py, None, None, count)?)?;
        py.import("os")?.getattr("register_at_fork")?.call((), Some(&arguments))?;
        Ok(())
    };
    // Where there is no such function, nothing forks.
    let _ = once(py, &WATCHED, || Ok(watch().is_ok()));
    FORKS.load(Ordering::Relaxed)
}
