//! Reading an object's elements where they are, while this thread is attached.

use std::fmt;
use std::marker::PhantomData;

use arraybridge_core::{Access, DType, Element, Error, HostArray, Layout};
use pyo3::prelude::*;

use crate::library::NAME;
use crate::read::{self, Seen, look};
use crate::{PyArray, interpreter};

/// An object's elements in main memory, read one by one where they are.
///
/// Python code may write them between two reads, so there is no slice of them: each is read anew,
/// and handed out by value. It lives as long as this thread is attached, and does not leave it.
///
/// Native code that Python code started may write while it lets others run; who starts that has to
/// order it with this, as with every other reader in Python. Nor may the memory be freed under its
/// readers, as `numpy.ndarray.resize` does with `refcheck=False`, and `numpy.ndarray.__setstate__` and a
/// tensor's `resize_` do: views in Python would hang likewise.
pub struct Cells<'py, T> {
    seen: Seen<'py>,
    /// A second reference beside that of what was seen: `resize` takes an array with two of them for one
    /// that its caller alone holds.
    _object: Bound<'py, PyAny>,
    _elements: PhantomData<*const T>,
}

impl<'py, T: Element> Cells<'py, T> {
    /// Reads the elements of any array object: what [`PyArray::from_object`] and [`PyArray::cells`]
    /// do, without a handle between.
    ///
    /// ```
    /// use arraybridge_python::pyo3::prelude::*;
    /// use arraybridge_python::{Cells, exception};
    ///
    /// #[pyfunction]
    /// fn first(array: &Bound<'_, PyAny>) -> PyResult<Option<f32>> {
    ///     let cells = Cells::<f32>::of(array).map_err(exception)?;
    ///     Ok(cells.get(&vec![0; cells.shape().len()]))
    /// }
    /// ```
    ///
    /// # Errors
    /// As of those two.
    pub fn of(object: &Bound<'py, PyAny>) -> Result<Cells<'py, T>, Error> {
        interpreter::require()?;
        match read::of_array(object)? {
            Some(seen) => Cells::checked(object, seen),
            None => PyArray::from_object(object)?.cells(object.py()),
        }
    }

    /// Checks that the elements can be read as `T` where they are.
    fn checked(object: &Bound<'py, PyAny>, seen: Seen<'py>) -> Result<Cells<'py, T>, Error> {
        let found = seen.dtype();
        let fits = found == T::DTYPE || (found == DType::Bool && T::DTYPE == DType::U8);
        if !fits || T::DTYPE == DType::Bool {
            return Err(Error::DtypeMismatch { expected: T::DTYPE, found });
        }
        require_host(&seen)?;
        if !seen.address().is_multiple_of(align_of::<T>()) && !seen.layout().is_empty() {
            return Err(Error::LayoutUnsupported {
                operation: "reading elements where they are",
                message: format!("address {:#x} is under-aligned; copy it", seen.address()),
            });
        }
        Ok(Cells { seen, _object: object.clone(), _elements: PhantomData })
    }

    /// Returns the layout.
    pub fn layout(&self) -> &Layout {
        self.seen.layout()
    }

    /// Returns the length of each axis.
    pub fn shape(&self) -> &[usize] {
        self.seen.layout().shape()
    }

    /// Reads the element at an index; `None` outside of the shape.
    pub fn get(&self, index: &[usize]) -> Option<T> {
        let layout = self.seen.layout();
        let inside = index.len() == layout.rank()
            && index.iter().zip(layout.shape()).all(|(at, length)| at < length);
        if !inside {
            return None;
        }
        let steps = index.iter().zip(layout.strides());
        let offset: isize = steps.map(|(&at, &step)| at as isize * step).sum();
        let first = self.seen.address() as *const T;
        // SAFETY: the elements that were seen are readable as long as that lives, the index is one of them,
        // `checked` found dtype and alignment right, and every bit pattern is a valid T (bool is
        // refused). No reference is made, and Python code runs on this thread alone.
        Some(unsafe { first.wrapping_offset(offset).read_volatile() })
    }
}

impl<T> fmt::Debug for Cells<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cells").field("layout", self.seen.layout()).finish_non_exhaustive()
    }
}

impl PyArray {
    /// Reads the elements of an object in main memory where they are, without a copy.
    ///
    /// ```
    /// # use arraybridge_core::ArrayLibrary;
    /// use arraybridge_python::pyo3::prelude::*;
    /// use arraybridge_python::{PyArray, PyLibrary};
    ///
    /// # if PyLibrary.availability().is_available() {
    /// Python::attach(|py| -> Result<(), arraybridge_core::Error> {
    ///     let object = py.eval(c"__import__('numpy').arange(6.0).reshape(2, 3)", None, None).unwrap();
    ///     let array = PyArray::from_object(&object)?;
    ///     let cells = array.cells::<f64>(py)?;
    ///     assert_eq!((cells.shape(), cells.get(&[1, 2])), (&[2, 3][..], Some(5.0)));
    ///     Ok(())
    /// })?;
    /// # }
    /// # Ok::<(), arraybridge_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DtypeMismatch`] (elements of `bool` are read as `u8`, because Python code may store
    /// other bytes than 0 and 1), [`Error::LayoutUnsupported`] for an under-aligned address,
    /// [`Error::Unsupported`] for memory that the host cannot read.
    pub fn cells<'py, T: Element>(&self, py: Python<'py>) -> Result<Cells<'py, T>, Error> {
        interpreter::require()?;
        let object = self.bound(py)?;
        Cells::checked(object, look(object)?)
    }

    /// Shares an object's main memory with Rust, whatever Python code holds it too.
    ///
    /// This is the way around the rule that such memory is copied: nothing is proven here.
    ///
    /// # Errors
    /// [`Error::InvalidPayload`], [`Error::Unsupported`] for memory that the host cannot read; what
    /// the object raises.
    ///
    /// # Safety
    /// Until the last handle on the result is dropped, nobody reaches the memory in other ways than
    /// `access` says: with [`Access::Immutable`] no Python code, and no native code that it started,
    /// writes the elements; with [`Access::Exclusive`] none reads them either. Nor does anybody free
    /// or move them (`numpy.ndarray.resize` and `__setstate__`, a tensor's `resize_`).
    pub unsafe fn share_unchecked(&self, access: Access) -> Result<HostArray, Error> {
        interpreter::attach(|py| {
            let seen = look(self.bound(py)?)?;
            require_host(&seen)?;
            let (address, dtype) = (seen.address(), seen.dtype());
            let (owner, layout) = seen.into_owner();
            // SAFETY: the producer's description of memory that the owner keeps; how it is reached
            // the caller vouches for.
            unsafe { HostArray::from_raw(owner, address as *mut u8, dtype, layout, access) }
        })
    }
}

fn require_host(seen: &Seen<'_>) -> Result<(), Error> {
    if seen.device().is_host_readable() {
        return Ok(());
    }
    Err(Error::Unsupported {
        library: NAME,
        operation: "reading an accelerator's elements where they are",
        remedy: "convert the array to the host",
    })
}
