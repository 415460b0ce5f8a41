//! NumPy's C ABI: what an array object has in it, and the functions that make one.
//!
//! Attributes and protocols say the same, in many times the time that an exchange takes.

use std::ffi::{c_char, c_int, c_long, c_uint, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;

use arraybridge_core::{DType, Error};
use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyType};

use crate::dtype;
use crate::error::raised;
use crate::once::once;

/// The head of NumPy's array object, which is the same in versions 1 and 2 of its ABI.
#[repr(C)]
#[derive(Clone, Copy)]
struct ArrayObject {
    head: [usize; HEAD],
    data: *mut c_void,
    rank: c_int,
    lengths: *const isize,
    /// In bytes.
    strides: *const isize,
    base: *mut ffi::PyObject,
    descr: *const Descr,
    flags: c_int,
    weak_references: *mut ffi::PyObject,
}

/// The head of NumPy's dtype object, likewise.
#[repr(C)]
#[derive(Clone, Copy)]
struct Descr {
    head: [usize; HEAD],
    scalar: *mut ffi::PyTypeObject,
    kind: c_char,
    code: c_char,
    byte_order: c_char,
    flags: c_char,
    number: c_int,
}

/// The words of an object's head: references and type.
const HEAD: usize = size_of::<ffi::PyObject>() / size_of::<usize>();

const C_CONTIGUOUS: c_int = 0x1;
const OWNS_DATA: c_int = 0x4;
const WRITEABLE: c_int = 0x400;

type AbiVersion = unsafe extern "C" fn() -> c_uint;
type DescrFromType = unsafe extern "C" fn(c_int) -> *mut ffi::PyObject;
type NewFromDescr = unsafe extern "C" fn(
    *mut ffi::PyTypeObject,
    *mut ffi::PyObject,
    c_int,
    *const isize,
    *const isize,
    *mut c_void,
    c_int,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;
type View = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *mut ffi::PyObject,
    *mut ffi::PyTypeObject,
) -> *mut ffi::PyObject;
type SetBase = unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> c_int;

/// What is used of NumPy, found once.
pub(crate) struct Numpy {
    array: Py<PyType>,
    asarray: Py<PyAny>,
    descr_from_type: DescrFromType,
    new_from_descr: NewFromDescr,
    set_base: SetBase,
    view: View,
}

static NUMPY: PyOnceLock<Numpy> = PyOnceLock::new();

impl Numpy {
    /// Returns NumPy, which is imported if nobody has.
    pub(crate) fn get(py: Python<'_>) -> Result<&'static Numpy, Error> {
        let found = once(py, &NUMPY, || Numpy::find(py));
        found.map_err(|error| raised(py, "importing NumPy", error))
    }

    fn find(py: Python<'_>) -> PyResult<Numpy> {
        let numpy = py.import("numpy")?;
        // NumPy 1 has it at another place.
        let inner = py
            .import("numpy._core._multiarray_umath")
            .or_else(|_| py.import("numpy.core._multiarray_umath"))?;
        let table = inner.getattr("_ARRAY_API")?.cast_into::<PyCapsule>()?;
        let table = table.pointer_checked(None)?.cast::<*const c_void>();
        let array = numpy.getattr("ndarray")?.cast_into::<PyType>()?;
        // SAFETY: entry 0 of NumPy's table, whatever its version.
        let version = unsafe { entry::<AbiVersion>(table, 0) };
        // SAFETY: takes nothing, and may be called while attached.
        let version = unsafe { version() } >> 24;
        let size: usize = array.getattr("__basicsize__")?.extract()?;
        if !(1..=2).contains(&version) || size < size_of::<ArrayObject>() {
            return Err(PyImportError::new_err(format!(
                "NumPy has version {version} of its C ABI, and 1 and 2 are understood; another \
                 version of NumPy or of arraybridge is needed"
            )));
        }
        Ok(Numpy {
            array: array.unbind(),
            asarray: numpy.getattr("asarray")?.unbind(),
            // SAFETY: `PyArray_DescrFromType` in both versions.
            descr_from_type: unsafe { entry(table, 45) },
            // SAFETY: `PyArray_NewFromDescr` in both versions.
            new_from_descr: unsafe { entry(table, 94) },
            // SAFETY: `PyArray_SetBaseObject` in both versions.
            set_base: unsafe { entry(table, 282) },
            // SAFETY: `PyArray_View` in both versions.
            view: unsafe { entry(table, 137) },
        })
    }

    /// Calls `numpy.asarray`.
    pub(crate) fn asarray<'py>(&self, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.asarray.bind(object.py()).call1((object,))
    }

    /// Looks into an object that is exactly a `numpy.ndarray`; `None` for any other, a subclass
    /// included.
    pub(crate) fn fields<'a>(&self, object: Borrowed<'a, '_, PyAny>) -> Option<Fields<'a>> {
        if object.get_type_ptr().cast() != self.array.as_ptr() {
            return None;
        }
        // SAFETY: a live object of NumPy's own type, whose version has these fields.
        let array = unsafe { object.as_ptr().cast::<ArrayObject>().read() };
        Some(Fields { array, _object: PhantomData })
    }

    /// Makes a view of an array, as its method `view` does.
    pub(crate) fn view<'py>(&self, array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = array.py();
        if self.fields(array.as_borrowed()).is_none() {
            // A subclass may have a method of its own.
            return array.call_method0(pyo3::intern!(py, "view"));
        }
        let (dtype, class) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: an object of NumPy's own type, whose dtype and type the view has.
        let view = unsafe { (self.view)(array.as_ptr(), dtype, class) };
        // SAFETY: a new reference, or null with an exception set.
        unsafe { Bound::from_owned_ptr_or_err(py, view) }
    }

    /// Makes an array over the elements of another one, of which it holds the `base` and not the array
    /// itself: nobody reaches that by way of this.
    pub(crate) fn twin<'py>(&self, array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = array.py();
        let Some(fields) = self.fields(array.as_borrowed()) else { return self.view(array) };
        let Some(base) = fields.base(py) else { return self.view(array) };
        let descr = fields.array.descr.cast_mut().cast();
        // SAFETY: the live array's dtype.
        let descr = unsafe { Bound::from_borrowed_ptr(py, descr) };
        let told = &fields.array;
        // SAFETY: what the live array says of its memory, which `base` keeps.
        unsafe {
            self.make(
                descr,
                (told.rank, told.lengths, told.strides),
                told.data,
                told.flags & WRITEABLE,
                base.to_owned(),
            )
        }
    }

    /// Makes an array.
    ///
    /// # Safety
    /// The axes are their number and as many lengths and strides (in bytes; null for row-major ones),
    /// and as long as `base` lives, `data` leads to their elements.
    unsafe fn make<'py>(
        &self,
        descr: Bound<'py, PyAny>,
        (rank, lengths, strides): (c_int, *const isize, *const isize),
        data: *mut c_void,
        flags: c_int,
        base: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (class, descr) = (self.array.as_ptr().cast(), descr.into_ptr());
        let like = std::ptr::null_mut();
        // SAFETY: NumPy's type and a dtype, whose reference is given up; NumPy copies the axes (and
        // refuses more than it has); the caller vouches for the rest.
        let made = unsafe {
            (self.new_from_descr)(class, descr, rank, lengths, strides, data, flags, like)
        };
        // SAFETY: a new reference, or null with an exception set.
        let made = unsafe { Bound::from_owned_ptr_or_err(base.py(), made) }?;
        // SAFETY: an array that has no base yet, and a reference that is given up.
        match unsafe { (self.set_base)(made.as_ptr(), base.into_ptr()) } {
            0 => Ok(made),
            _ => Err(PyErr::fetch(made.py())),
        }
    }

    /// Returns whether an array's elements may be written.
    pub(crate) fn is_writable(&self, array: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Some(fields) = self.fields(array.as_borrowed()) {
            return Ok(fields.is_writable());
        }
        let flags = array.getattr(pyo3::intern!(array.py(), "flags"))?;
        flags.getattr(pyo3::intern!(array.py(), "writeable"))?.extract()
    }

    /// Makes a writable array over memory that `base` keeps: row-major without strides.
    ///
    /// # Safety
    /// As long as `base` lives, `data` leads to the elements of these lengths, which fit in `isize`,
    /// and strides (in bytes, as many), writable and reached by nobody but through `base`.
    pub(crate) unsafe fn array<'py>(
        &self,
        data: NonNull<c_void>,
        dtype: DType,
        lengths: &[usize],
        strides: Option<&[isize]>,
        base: Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyAny>, Error> {
        let py = base.py();
        let failed = |error| raised(py, "making a NumPy array", error);
        let descr = match number(dtype) {
            Some(number) => {
                // SAFETY: one of NumPy's own numbers, attached.
                let descr = unsafe { (self.descr_from_type)(number) };
                // SAFETY: a new reference, or null with an exception set.
                unsafe { Bound::from_owned_ptr_or_err(py, descr) }.map_err(failed)?
            }
            None => dtype::object(py, dtype)?,
        };
        let strides = strides.map_or(std::ptr::null(), <[isize]>::as_ptr);
        let axes = (lengths.len() as c_int, lengths.as_ptr().cast(), strides);
        // SAFETY: what the caller vouches for.
        unsafe { self.make(descr, axes, data.as_ptr(), WRITEABLE, base) }.map_err(failed)
    }
}

/// # Safety
/// `table` is NumPy's, and its entry at `place` a function of type `F`.
unsafe fn entry<F: Copy>(table: NonNull<*const c_void>, place: usize) -> F {
    const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
    // SAFETY: inside of the table.
    let entry = unsafe { table.add(place) };
    // SAFETY: a pointer to a function of this type.
    unsafe { entry.cast::<F>().read() }
}

/// What is in an array object, as long as no Python code runs.
pub(crate) struct Fields<'a> {
    array: ArrayObject,
    _object: PhantomData<&'a ffi::PyObject>,
}

impl<'a> Fields<'a> {
    /// Returns the address of the first element, which is never null.
    pub(crate) fn data(&self) -> *mut c_void {
        self.array.data
    }

    pub(crate) fn lengths(&self) -> &'a [isize] {
        self.axes(self.array.lengths)
    }

    /// Returns whether the elements lie one after another, the last axis fastest: NumPy keeps this flag,
    /// for which strides of axes of length 1 and of arrays without elements do not count.
    pub(crate) fn is_row_major(&self) -> bool {
        self.array.flags & C_CONTIGUOUS != 0
    }

    /// Returns the strides in bytes.
    pub(crate) fn strides(&self) -> &'a [isize] {
        self.axes(self.array.strides)
    }

    fn axes(&self, first: *const isize) -> &'a [isize] {
        match usize::try_from(self.array.rank) {
            // SAFETY: a live array has as many lengths and strides as axes; this thread is attached
            // and runs no Python code, which alone could change them.
            Ok(rank @ 1..) => unsafe { std::slice::from_raw_parts(first, rank) },
            _ => &[],
        }
    }

    /// Returns the dtype; `None` for those that are not NumPy's own or not of this machine's order.
    pub(crate) fn dtype(&self) -> Option<DType> {
        // SAFETY: a live array has a dtype.
        let descr = unsafe { self.array.descr.read() };
        let order = if cfg!(target_endian = "big") { b'>' } else { b'<' };
        let own = [b'=', b'|', order].contains(&(descr.byte_order as u8));
        if own { of_number(descr.number) } else { None }
    }

    /// Returns whether the memory is the object's own, which frees it.
    pub(crate) fn owns_data(&self) -> bool {
        self.array.base.is_null() && self.array.flags & OWNS_DATA != 0
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.array.flags & WRITEABLE != 0
    }

    pub(crate) fn has_weak_references(&self) -> bool {
        !self.array.weak_references.is_null()
    }

    /// Returns the object whose memory it is, unless that is this one.
    pub(crate) fn base<'py>(&self, py: Python<'py>) -> Option<Borrowed<'a, 'py, PyAny>> {
        // SAFETY: null, or an object to which the live array holds a reference; this thread is
        // attached and runs no Python code, which alone could change that.
        unsafe { Borrowed::from_ptr_or_opt(py, self.array.base) }
    }
}

/// NumPy's numbers of `int` and `long`, of which the one is 32 bits wide, the other 32 or 64.
const INT: c_int = 5;
const LONG: c_int = 7;
const LONG_LONG: c_int = 9;
const LONG_IS_64: bool = size_of::<c_long>() == 8;

fn of_number(number: c_int) -> Option<DType> {
    let dtype = match number {
        0 => DType::Bool,
        1 => DType::I8,
        2 => DType::U8,
        3 => DType::I16,
        4 => DType::U16,
        INT => DType::I32,
        6 => DType::U32,
        LONG if LONG_IS_64 => DType::I64,
        8 if LONG_IS_64 => DType::U64,
        LONG => DType::I32,
        8 => DType::U32,
        LONG_LONG => DType::I64,
        10 => DType::U64,
        11 => DType::F32,
        12 => DType::F64,
        14 => DType::Complex64,
        15 => DType::Complex128,
        23 => DType::F16,
        _ => return None,
    };
    Some(dtype)
}

/// Returns the number of NumPy's own dtype: of two of one size the one that has its name.
fn number(dtype: DType) -> Option<c_int> {
    let number = match dtype {
        DType::Bool => 0,
        DType::I8 => 1,
        DType::U8 => 2,
        DType::I16 => 3,
        DType::U16 => 4,
        DType::I32 if LONG_IS_64 => INT,
        DType::I32 => LONG,
        DType::U32 if LONG_IS_64 => INT + 1,
        DType::U32 => LONG + 1,
        DType::I64 if LONG_IS_64 => LONG,
        DType::I64 => LONG_LONG,
        DType::U64 if LONG_IS_64 => LONG + 1,
        DType::U64 => LONG_LONG + 1,
        DType::F16 => 23,
        DType::F32 => 11,
        DType::F64 => 12,
        DType::Complex64 => 14,
        DType::Complex128 => 15,
        _ => return None,
    };
    Some(number)
}
