//! `arraybridge_rs.Array`: an array of any library as a Python object.

mod dlpack;
mod methods;
mod numpy_rules;
mod operators;
mod protocols;
mod table;

use std::sync::{Mutex, MutexGuard, PoisonError};

use arraybridge_core::{AnyArray, CopyPolicy, Device, Error, HOST, Library};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use crate::{Maker, PyArray, PyLibrary, exception, make};

#[cfg(feature = "extension-module")]
pub(crate) use methods::Target;
use table::capsule as exchange_table;

/// An array of any library, as a Python object.
///
/// # Whose memory it is
/// As long as no Python code has asked for its memory, it is Rust's. Asked (by `numpy.asarray`, a
/// buffer, DLPack), the elements of an array on the host become Python's: a NumPy array over the same
/// memory if nothing in Rust reaches it any more, else over a copy. From then on what Rust computes
/// with is a copy, until Python code has let go of the memory again; then it goes back as it is.
#[pyclass(frozen, name = "Array", module = "arraybridge_rs", weakref)]
pub struct Array {
    /// Waited for detached, so that whoever holds it may attach.
    content: Mutex<Content>,
}

/// An array and where it belongs.
struct Content {
    /// `None` after an error that lost the array.
    array: Option<AnyArray>,
    home: Home,
    /// Whether the address was told to somebody who holds this object alone, so that the memory is
    /// Python's for as long as that lives.
    exposed: bool,
}

/// The library and device that an array is of, also while Python code has its memory.
#[derive(Clone, Copy)]
struct Home {
    library: Library,
    device: Device,
    /// The Python library whose object it is, if it is one.
    maker: Option<Maker>,
}

impl Home {
    fn of(array: &AnyArray) -> Result<Home, Error> {
        let maker = array.as_array_of::<PyLibrary>().map(PyArray::maker);
        Ok(Home { library: array.library(), device: array.device()?, maker })
    }

    /// The library's name as records have it.
    fn name(self) -> &'static str {
        self.maker.map_or(self.library.name(), Maker::label)
    }
}

impl Array {
    /// Takes an array of any library.
    ///
    /// # Errors
    /// The library's failure to tell the array's device.
    pub fn new(array: AnyArray) -> Result<Array, Error> {
        let home = Home::of(&array)?;
        Ok(Array { content: Mutex::new(Content { array: Some(array), home, exposed: false }) })
    }

    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Content> {
        self.content.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    fn home(&self, py: Python<'_>) -> Home {
        self.lock(py).home
    }

    /// Runs `body`, detached, on the array in its own library: on a copy while Python code has its
    /// memory.
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        body: impl FnOnce(&AnyArray) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        let mut content = self.lock(py);
        let content: &mut Content = &mut content;
        let done = py.detach(|| match content.at_home()? {
            Some(copy) => body(&copy),
            None => body(content.array.as_ref().ok_or_else(lost)?),
        });
        done.map_err(exception)
    }

    /// Returns the NumPy array that shares the elements with Python code, of an array on the host.
    fn shared<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut content = self.lock(py);
        let content: &mut Content = &mut content;
        if !content.home.device.is_host() {
            return Err(exception(Error::Unsupported {
                library: content.home.library.name(),
                operation: "reading an array that is not in main memory",
                remedy: "bring it there: `array.to(library, 'host')`",
            }));
        }
        py.detach(|| content.park()).map_err(exception)?;
        let array = content.array.as_ref().and_then(AnyArray::as_array_of::<PyLibrary>);
        let array = array.ok_or_else(lost).map_err(exception)?;
        let object = array.object(py);
        match array.maker() {
            Maker::Numpy => Ok(object),
            _ => make::as_numpy(&object).map_err(exception),
        }
    }
}

impl Content {
    /// Lets Python code have the elements.
    fn park(&mut self) -> Result<(), Error> {
        let array = self.array.take().ok_or_else(lost)?;
        match array.convert_to(Library::of::<PyLibrary>(), HOST) {
            Ok(array) => {
                self.array = Some(array);
                Ok(())
            }
            Err(error) => {
                let (error, array) = error.into_parts();
                self.array = array;
                Err(error)
            }
        }
    }

    /// Takes the elements back if Python code has let go of them, else returns a copy.
    fn at_home(&mut self) -> Result<Option<AnyArray>, Error> {
        let Home { library, device, maker } = self.home;
        let array = self.array.take().ok_or_else(lost)?;
        if maker.is_some() || array.library() == library {
            self.array = Some(array);
            return Ok(None);
        }
        if self.exposed {
            let copy = array.to(library, device);
            self.array = Some(array);
            return copy.map(Some);
        }
        match array.convert_with(library, device, CopyPolicy::Never) {
            Ok(array) => {
                self.array = Some(array);
                Ok(None)
            }
            Err(error) => {
                let back = error.into_array().ok_or_else(lost)?;
                let copy = back.to(library, device);
                self.array = Some(back);
                copy.map(Some)
            }
        }
    }
}

fn lost() -> Error {
    Error::already_taken("using an array that a failed conversion lost")
}

/// Makes an array of this class of a result, in a library: without a copy if this is the only
/// reference to it.
fn made_in(py: Python<'_>, object: Bound<'_, PyAny>, home: Home) -> PyResult<Array> {
    let array = PyArray::from_object(&object).map_err(exception)?;
    drop(object);
    let made = match home.maker {
        Some(Maker::Numpy | Maker::Pandas | Maker::Dask | Maker::Other) => {
            Ok(AnyArray::of::<PyLibrary>(array))
        }
        Some(maker) => {
            array.into_maker(maker.name()).map(AnyArray::of::<PyLibrary>).map_err(Error::from)
        }
        None => py.detach(|| {
            let array = AnyArray::of::<PyLibrary>(array);
            array.convert_to(home.library, home.device).map_err(Error::from)
        }),
    };
    made.and_then(Array::new).map_err(exception)
}

impl std::fmt::Debug for Array {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // What it holds may be in use by a thread that waits for this one.
        f.debug_struct("Array").finish_non_exhaustive()
    }
}
