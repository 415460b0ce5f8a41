//! A Python module in Rust that takes an array of any library and gives back one of the same.
//!
//! In a crate of its own maturin builds it, with PyO3's feature `extension-module`. Here it is
//! `cargo rustc -p arraybridge-python --example extension --crate-type cdylib`, imported as
//! `extension.so`.

use arraybridge_core::{AnyArray, Convert, HOST};
use arraybridge_ndarray::ndarray::ArrayViewMutD;
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_python::pyo3::prelude::*;
use arraybridge_python::{Maker, PyArray, exception, to_python};

/// Returns the elements halved, as an array of the library that the given one is of.
#[pyfunction]
fn halved<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let maker = Maker::of(object).name();
    // The caller holds the object, so this is a copy, and it may be written.
    let array = PyArray::from_object(object).map_err(exception)?;
    let mut array: NdArray = array.convert_to::<Ndarray>(HOST).map_err(exception)?;
    array.view_mut::<ArrayViewMutD<f32>>().map_err(exception)?.mapv_inplace(|value| value / 2.0);
    // Nobody else holds that, so it goes back without another.
    to_python(object.py(), AnyArray::of::<Ndarray>(array), maker).map_err(exception)
}

/// The module.
#[pymodule]
fn extension(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(halved, module)?)
}
