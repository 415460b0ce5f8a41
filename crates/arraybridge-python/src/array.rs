//! The library's array: a handle on a Python object.

use std::fmt;

use arraybridge_core::{ConversionError, Error};
use pyo3::prelude::*;

use crate::attached::Attached;
use crate::maker::Maker;
use crate::{interpreter, make, read};

/// An array that a Python library made, held as the Python object that it is.
///
/// Python code may hold the same object and write its memory at any time, so safe Rust never sees
/// that memory as a slice: conversions copy it, unless it is proven that this handle is the only
/// one (see [`PyLibrary`](crate::PyLibrary)). The object is released when the handle is dropped, on
/// whichever thread that is.
pub struct PyArray {
    object: Attached<Py<PyAny>>,
    maker: Maker,
}

impl PyArray {
    /// Takes a handle on any array object: what speaks DLPack or the array interface, and nested
    /// sequences and NumPy's scalars, of which NumPy makes an array.
    ///
    /// # Errors
    /// [`Error::InvalidPayload`] for an object that is no array, or whose elements have no dtype
    /// here; exceptions that its own code raises.
    pub fn from_object(object: &Bound<'_, PyAny>) -> Result<PyArray, Error> {
        let maker = Maker::of(object);
        let taken = match maker {
            // A scalar has no memory of its own to share: it makes an array for each reader.
            Maker::Other if make::is_scalar(object)? => make::as_numpy(object)?,
            // Not all that the other libraries make are arrays.
            Maker::Numpy => return Ok(PyArray::new(object.clone(), maker)),
            _ if !read::speaks(object)? => make::from_sequence(object)?,
            _ => return Ok(PyArray::new(object.clone(), maker)),
        };
        Ok(PyArray::new(taken, Maker::Numpy))
    }

    pub(crate) fn new(object: Bound<'_, PyAny>, maker: Maker) -> PyArray {
        PyArray { object: Attached::new(object.unbind()), maker }
    }

    /// Returns the library that made the object.
    pub fn maker(&self) -> Maker {
        self.maker
    }

    /// Returns the object.
    pub fn object<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        // `None` only while it is dropped, when nobody can ask.
        self.object.get().map_or_else(|| py.None().into_bound(py), |object| object.bind(py).clone())
    }

    /// Returns the object, giving up the handle.
    pub fn into_object(self, py: Python<'_>) -> Bound<'_, PyAny> {
        self.object.take().map_or_else(|| py.None().into_bound(py), |object| object.into_bound(py))
    }

    /// The object as a plain reference, which does not count as another holder.
    pub(crate) fn bound<'a, 'py>(
        &'a self,
        py: Python<'py>,
    ) -> Result<&'a Bound<'py, PyAny>, Error> {
        let object = self.object.get().map(|object| object.bind(py));
        // `None` only while it is dropped, when nobody can ask.
        object.ok_or_else(|| Error::already_taken("using a Python array"))
    }

    /// The handle itself; `None` only while it is dropped.
    pub(crate) fn handle(&self) -> Option<&Py<PyAny>> {
        self.object.get()
    }

    /// Turns the array into one of another Python library, by its name (`torch`, `numpy`, `jax`,
    /// `tensorflow`, `cupy`): over the same memory where both libraries can.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a name that is not known; what the library raises. The array
    /// comes back.
    pub fn into_maker(self, name: &str) -> Result<PyArray, ConversionError<PyArray>> {
        let Some(maker) = Maker::named(name) else {
            return Err(ConversionError::new(make::unknown(name), Some(self)));
        };
        if maker == self.maker {
            return Ok(self);
        }
        let made = interpreter::attach(|py| {
            let object = self.object(py);
            make::with(maker, &object).map(|made| PyArray::new(made, maker))
        });
        made.map_err(|error| ConversionError::new(error, Some(self)))
    }
}

impl fmt::Debug for PyArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PyArray").field("maker", &self.maker).finish_non_exhaustive()
    }
}
