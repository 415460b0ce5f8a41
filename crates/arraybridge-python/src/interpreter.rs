//! The interpreter: started where nobody has, checked once, left alone when it ends.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};

use arraybridge_core::{Availability, Error};
use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use crate::library::NAME;
use crate::make::capsule::Carrier;
use crate::make::memory::Memory;
use crate::numpy::Numpy;
use crate::{Array, error, thread_state};

/// Whether the interpreter is in its exit functions or past them.
static LEAVING: AtomicBool = AtomicBool::new(false);

/// The thread that runs them, which stays attached.
static LEAVER: OnceLock<ThreadId> = OnceLock::new();

/// What was found when the interpreter was first needed.
static CHECKED: OnceLock<Result<(), Unusable>> = OnceLock::new();

/// Why there are no Python arrays.
#[derive(Clone, Debug)]
enum Unusable {
    Absent(String),
    Broken(String),
}

/// Returns whether this thread must not attach any more, because the interpreter is ending.
pub(crate) fn is_leaving() -> bool {
    LEAVING.load(Ordering::Acquire) && LEAVER.get() != Some(&thread::current().id())
}

/// Runs `body` attached to the interpreter, which is started if nobody has.
pub(crate) fn attach<R>(body: impl FnOnce(Python<'_>) -> Result<R, Error>) -> Result<R, Error> {
    require()?;
    thread_state::keep();
    thread_state::try_attach(body).ok_or_else(gone)?
}

/// Fails where the interpreter is not one that is supported: what is done attached without
/// [`attach`] asks for this.
pub(crate) fn require() -> Result<(), Error> {
    // What nearly every call finds.
    if matches!(CHECKED.get(), Some(Ok(()))) && !LEAVING.load(Ordering::Acquire) {
        return Ok(());
    }
    if is_leaving() {
        return Err(gone());
    }
    check().map_err(|unusable| Error::LibraryUnavailable {
        library: NAME,
        cause: match unusable {
            Unusable::Absent(text) | Unusable::Broken(text) => text.clone(),
        },
    })
}

fn gone() -> Error {
    Error::LibraryUnavailable { library: NAME, cause: "the Python interpreter has ended".into() }
}

/// Returns whether the interpreter has been used here and has not ended. Starts nothing.
pub(crate) fn is_running() -> bool {
    matches!(CHECKED.get(), Some(Ok(()))) && !is_leaving()
}

/// Gives this thread a state of its own in the interpreter, where that has been used here.
pub(crate) fn keep_state() {
    if is_running() {
        thread_state::keep();
    }
}

/// Tells whether there is an interpreter with NumPy, starting it if nobody has.
pub(crate) fn availability() -> Availability {
    match check() {
        Ok(()) => Availability::Available,
        Err(Unusable::Absent(remedy)) => Availability::Absent { remedy: remedy.clone() },
        Err(Unusable::Broken(cause)) => Availability::Broken { cause: cause.clone() },
    }
}

fn check() -> Result<(), &'static Unusable> {
    if let Some(checked) = CHECKED.get() {
        if checked.is_ok() && !is_leaving() {
            thread_state::keep();
        }
        return checked.as_ref().map(|_| ());
    }
    start();
    thread_state::keep();
    // Nothing is held here while the interpreter is waited for: several threads may inspect it.
    let found = Python::try_attach(inspect);
    let found = found.unwrap_or_else(|| {
        Err(Unusable::Broken("the Python interpreter does not let threads attach".into()))
    });
    CHECKED.get_or_init(|| found).as_ref().map(|_| ())
}

/// Starts the interpreter unless somebody has: as an extension module there always is one.
#[cfg(not(feature = "extension-module"))]
fn start() {
    static STARTED: OnceLock<()> = OnceLock::new();
    let start = || {
        STARTED.get_or_init(|| {
            // SAFETY: may be called at any time.
            if unsafe { pyo3::ffi::Py_IsInitialized() } == 0 {
                Python::initialize();
                // Packages that are not found are missed, with the remedy, where they are needed.
                Python::try_attach(|py| crate::environment::add(py).ok());
            }
        });
    };
    // Whoever waits for the thread that starts it must not keep that thread from attaching.
    if Python::try_attach(|py| py.detach(start)).is_none() {
        start();
    }
}

#[cfg(feature = "extension-module")]
fn start() {}

/// Checks that this interpreter is one that is supported and has NumPy.
fn inspect(py: Python<'_>) -> Result<(), Unusable> {
    let broken = |exception: PyErr| {
        Unusable::Broken(error::raised(py, "starting Python", exception).to_string())
    };
    let threads = py.import("sysconfig").and_then(|module| {
        module.call_method1("get_config_var", ("Py_GIL_DISABLED",))?.is_truthy()
    });
    if threads.map_err(broken)? {
        return Err(Unusable::Broken(
            "this is a free-threaded build of Python, which is not supported: claims of sole \
             ownership need the lock that it leaves out; use the standard build"
                .into(),
        ));
    }
    if !in_main_interpreter() {
        return Err(Unusable::Broken(
            "this is a subinterpreter, which is not supported; use the main interpreter".into(),
        ));
    }
    // Made while no array can be reached: making one runs the garbage collector, under a lock of
    // PyO3's.
    let _ = (py.get_type::<Array>(), py.get_type::<Memory>(), py.get_type::<Carrier>());
    let leave = |_: &Bound<'_, pyo3::types::PyTuple>,
                 _: Option<&Bound<'_, pyo3::types::PyDict>>| {
        let _ = LEAVER.set(thread::current().id());
        LEAVING.store(true, Ordering::Release);
    };
    let leave = PyCFunction::new_closure(py, None, None, leave).map_err(broken)?;
    py.import("atexit")
        .and_then(|atexit| atexit.call_method1("register", (leave,)))
        .map_err(broken)?;
    match py.import("numpy") {
        Ok(_) => Numpy::get(py).map(drop).map_err(|error| Unusable::Broken(error.to_string())),
        Err(exception)
            if exception.is_instance_of::<pyo3::exceptions::PyModuleNotFoundError>(py) =>
        {
            Err(Unusable::Absent(remedy(py)))
        }
        Err(exception) => Err(broken(exception)),
    }
}

/// Returns what brings NumPy.
#[cfg(not(feature = "extension-module"))]
fn remedy(py: Python<'_>) -> String {
    crate::environment::remedy(py)
}

#[cfg(feature = "extension-module")]
fn remedy(_: Python<'_>) -> String {
    "NumPy is not installed; `pip install numpy` brings it".into()
}

pub(crate) fn in_main_interpreter() -> bool {
    // SAFETY: called attached, so that there is a current interpreter.
    let current = unsafe { pyo3::ffi::PyInterpreterState_Get() };
    // SAFETY: the current interpreter's own state.
    unsafe { pyo3::ffi::PyInterpreterState_GetID(current) == 0 }
}
