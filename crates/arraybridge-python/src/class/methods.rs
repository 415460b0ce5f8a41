//! What an array is, and where it goes.

use arraybridge_core::{AnyArray, CopyPolicy, Device, Error, Library, library, plan};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::Array;
use crate::{Maker, PyArray, PyLibrary, dtype, exception, make};

/// A target by name: a library, or one of Python's.
pub(crate) enum Target {
    Library(Library),
    Python(Maker),
}

impl Target {
    pub(crate) fn named(name: &str) -> PyResult<Target> {
        let python = name.strip_prefix("python:").and_then(Maker::named);
        match python.filter(|maker| maker.is_target()) {
            Some(maker) => Ok(Target::Python(maker)),
            None => library(name).map(Target::Library).map_err(exception),
        }
    }

    pub(crate) fn library(&self) -> Library {
        match self {
            Target::Library(library) => *library,
            Target::Python(_) => Library::of::<PyLibrary>(),
        }
    }

    /// Converts an array, or makes one of it by reference.
    pub(crate) fn place(
        &self,
        array: AnyArray,
        device: Device,
        policy: CopyPolicy,
    ) -> Result<AnyArray, Error> {
        let made = array.convert_with(self.library(), device, policy)?;
        match self {
            Target::Library(_) => Ok(made),
            Target::Python(maker) => {
                let array = made.into_array_of::<PyLibrary>()?.into_maker(maker.name())?;
                Ok(AnyArray::of::<PyLibrary>(array))
            }
        }
    }
}

#[pymethods]
impl Array {
    /// Wraps an array object as it is: one of the library `python`, without a copy.
    #[new]
    fn wrap(object: &Bound<'_, PyAny>) -> PyResult<Array> {
        let array = PyArray::from_object(object).map_err(exception)?;
        Array::new(AnyArray::of::<PyLibrary>(array)).map_err(exception)
    }

    /// The length of each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.described(py)?.layout.shape())
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.described(py)?.layout.rank())
    }

    /// The number of elements.
    #[getter]
    fn size(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.described(py)?.layout.len())
    }

    /// The size of all elements in bytes.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.described(py)?.nbytes())
    }

    /// The element type, as NumPy's.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dtype::object(py, self.described(py)?.dtype).map_err(exception)
    }

    /// Where the array is: `host`, `accelerator:N` or `device:NAME`.
    #[getter]
    fn device(&self) -> String {
        self.home.device.to_string()
    }

    /// The name of the array's library; `python:torch` for an object of PyTorch.
    #[getter]
    fn library(&self) -> &'static str {
        self.home.name()
    }

    /// The Python object, for an array of the library `python`; else an error.
    pub(super) fn unwrap<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.home.maker.is_some() {
            return Ok(self.content.python(py)?.into_object(py));
        }
        Err(PyTypeError::new_err(format!(
            "this is an array of {}; `to('python')` makes a Python object of it",
            self.home.name()
        )))
    }

    /// Gives the elements to a Python library by its name, such as `torch`: over the same memory,
    /// where the array is in main memory and the library takes it.
    fn give<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let maker = Maker::named(name).filter(|maker| maker.is_target());
        let maker = maker.ok_or_else(|| exception(make::unknown(name)))?;
        if self.home.maker == Some(maker) {
            return self.unwrap(py);
        }
        make::with(maker, &self.shared(py)?).map_err(exception)
    }

    /// Makes an array of another library, on a device. This one stays as it is: memory is shared
    /// where neither library ever writes it, and else copied.
    ///
    /// `copy=False` refuses to copy elements. No write to one ever shows in the other, with or without
    /// `copy=True`: what is shared is copied before Python code can write it.
    #[pyo3(signature = (library, device = "host", *, copy = None))]
    pub(crate) fn to(
        &self,
        py: Python<'_>,
        library: &str,
        device: &str,
        copy: Option<bool>,
    ) -> PyResult<Array> {
        let target = Target::named(library)?;
        let device: Device = device.parse().map_err(exception)?;
        let made = self.with(py, move |array| {
            if copy == Some(false) {
                let second = array.to_with(target.library(), device, CopyPolicy::Never)?;
                return target.place(second, device, CopyPolicy::Never);
            }
            target.place(array.to(target.library(), device)?, device, CopyPolicy::Allow)
        })?;
        Array::new(made).map_err(exception)
    }

    /// Says what a conversion would do.
    #[pyo3(signature = (library, device = "host"))]
    fn plan(&self, library: &str, device: &str) -> PyResult<String> {
        let home = self.home;
        let target = Target::named(library)?.library();
        let device: Device = device.parse().map_err(exception)?;
        let plan = plan(home.library.name(), home.device, target.name(), device);
        plan.map(|plan| plan.to_string()).map_err(exception)
    }

    pub(super) fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let seen = self.described(py)?;
        let first = seen.layout.shape().first().copied();
        first.ok_or_else(|| PyTypeError::new_err("an array without axes has no length"))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (home, seen) = (self.home, self.described(py)?);
        let shape = PyTuple::new(py, seen.layout.shape())?.repr()?;
        Ok(format!(
            "<arraybridge_rs.Array {} {} of {} on {}>",
            seen.dtype,
            shape,
            home.name(),
            home.device
        ))
    }
}
