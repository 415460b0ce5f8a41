//! `arraybridge_rs.Array`: an array of any library as a Python object.

mod content;
mod copying;
mod dlpack;
mod indexing;
mod methods;
mod numpy_rules;
mod operators;
mod protocols;
mod table;
mod values;
mod views;

use std::borrow::Cow;

use arraybridge_core::{
    AnyArray, ArrayLibrary, CopyPolicy, Description, Device, Error, HOST, Library,
};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use content::{Content, lost};

use crate::numpy::Numpy;
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
/// with is a copy, until Python code has let go of the memory again; then it goes back as it is. Who
/// reads `__array_interface__`, if only to see whether it is there, never lets go.
#[pyclass(frozen, name = "Array", module = "arraybridge_rs", weakref)]
pub struct Array {
    home: Home,
    /// What it is, for an array that is no Python object: those may change.
    described: Option<Description>,
    content: Content,
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
    /// The library's name as records have it.
    fn name(self) -> &'static str {
        self.maker.map_or(self.library.name(), Maker::label)
    }
}

impl Array {
    /// Takes an array of any library.
    ///
    /// # Errors
    /// The library's failure to describe the array.
    pub fn new(array: AnyArray) -> Result<Array, Error> {
        let seen = array.describe()?;
        let maker = array.as_array_of::<PyLibrary>().map(PyArray::maker);
        let home = Home { library: array.library(), device: seen.device, maker };
        let described = maker.is_none().then_some(seen);
        Ok(Array { home, described, content: Content::new(array) })
    }

    /// Describes the array.
    fn described(&self, py: Python<'_>) -> PyResult<Cow<'_, Description>> {
        if let Some(described) = &self.described {
            return Ok(Cow::Borrowed(described));
        }
        let array = self.content.python(py)?;
        PyLibrary.describe(&array).map(Cow::Owned).map_err(exception)
    }

    /// Runs `body`, detached, on the array in its own library: on a copy while Python code has its
    /// memory.
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        body: impl FnOnce(&AnyArray) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        if self.home.maker.is_some() {
            // Whatever the object's own code does with this array meanwhile, it may.
            let array = AnyArray::of::<PyLibrary>(self.content.python(py)?);
            return py.detach(move || body(&array)).map_err(exception);
        }
        let mut taken = self.content.take(py)?;
        let array = &mut taken.array;
        let done = py.detach(|| match self.home.regain(array)? {
            Some(copy) => body(&copy),
            None => body(array.as_ref().ok_or_else(lost)?),
        });
        done.map_err(exception)
    }

    /// Returns a NumPy array that shares the elements with Python code, of an array on the host: its
    /// shape and dtype are its own, so that nobody changes those of this one.
    fn shared<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (numpy, array) = (Numpy::get(py).map_err(exception)?, self.in_numpy(py)?);
        if self.home.maker.is_some() { numpy.view(&array) } else { numpy.twin(&array) }
    }

    /// Returns an object that keeps the elements for a consumer who is not handed the object: the NumPy
    /// array that this one holds while Python code has its memory, or a view of an object of NumPy's.
    fn kept<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.home.maker {
            // Which could let go of what it is a view of.
            Some(Maker::Numpy) => self.shared(py),
            _ => self.in_numpy(py),
        }
    }

    /// Returns the elements as NumPy's: the object itself if it is one, what a producer makes of it, or
    /// the array that this one holds while Python code has its memory.
    fn in_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if !self.home.device.is_host() {
            return Err(exception(Error::Unsupported {
                library: self.home.library.name(),
                operation: "reading an array that is not in main memory",
                remedy: "bring it there: `array.to(library, 'host')`",
            }));
        }
        match self.content.held(py) {
            Some((object, Maker::Numpy)) => return Ok(object),
            Some((object, _)) => return make::as_numpy(&object).map_err(exception),
            None if self.home.maker.is_some() => return Err(exception(lost())),
            None => {}
        }
        let mut taken = self.content.take(py)?;
        let array = &mut taken.array;
        if !array.as_ref().is_some_and(|array| array.library().is::<PyLibrary>()) {
            py.detach(|| park(array)).map_err(exception)?;
        }
        let parked = array.as_ref().and_then(AnyArray::as_array_of::<PyLibrary>);
        parked.map(|parked| parked.object(py)).ok_or_else(lost).map_err(exception)
    }

    /// Returns NumPy's view of the elements for a function that may write into it, of an array on the
    /// host: a read-only one where it is over a copy, in which what is written would be lost.
    fn view<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let shared = self.shared(py)?;
        if self.home.maker.is_none_or(|maker| maker == Maker::Numpy) {
            return Ok(shared);
        }
        let own = crate::read::address(&self.unwrap(py)?).map_err(exception)?;
        let seen = crate::read::address(&shared).map_err(exception)?;
        if own.is_none() || own != seen {
            let flags = shared.getattr(pyo3::intern!(py, "flags"))?;
            flags.setattr(pyo3::intern!(py, "writeable"), false)?;
        }
        Ok(shared)
    }
}

#[pymethods]
impl Array {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // While Python code has the memory of another array, what holds that here is a plain array of
        // NumPy's, which has no references of its own and is to be found by nobody.
        if self.home.maker.is_none() {
            return Ok(());
        }
        self.content.traverse(&visit)
    }

    fn __clear__(&self) {
        self.content.clear();
    }
}

/// Lets Python code have the elements.
fn park(slot: &mut Option<AnyArray>) -> Result<(), Error> {
    let array = slot.take().ok_or_else(lost)?;
    match array.convert_to(Library::of::<PyLibrary>(), HOST) {
        Ok(array) => {
            *slot = Some(array);
            Ok(())
        }
        Err(error) => {
            let (error, array) = error.into_parts();
            *slot = array;
            Err(error)
        }
    }
}

impl Home {
    /// Takes the elements back if Python code has let go of them, else returns a copy.
    fn regain(self, slot: &mut Option<AnyArray>) -> Result<Option<AnyArray>, Error> {
        let array = slot.take().ok_or_else(lost)?;
        if array.library() == self.library {
            *slot = Some(array);
            return Ok(None);
        }
        match array.convert_with(self.library, self.device, CopyPolicy::Never) {
            Ok(array) => {
                *slot = Some(array);
                Ok(None)
            }
            Err(error) => {
                let (error, back) = error.into_parts();
                let Some(back) = back else { return Err(error) };
                let copy = back.to(self.library, self.device);
                *slot = Some(back);
                copy.map(Some)
            }
        }
    }
}

/// Makes an array of this class of a result, in a library: without a copy if this is the only
/// reference to it.
fn made_in(py: Python<'_>, object: Bound<'_, PyAny>, home: Home) -> PyResult<Array> {
    let array = PyArray::from_object(&object).map_err(exception)?;
    drop(object);
    let made = match home.maker {
        Some(maker) if maker.is_target() => {
            array.into_maker(maker.name()).map(AnyArray::of::<PyLibrary>).map_err(Error::from)
        }
        // No arrays are made of the others' kinds.
        Some(_) => Ok(AnyArray::of::<PyLibrary>(array)),
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
