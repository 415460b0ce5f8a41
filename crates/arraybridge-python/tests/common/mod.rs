//! Every test of this folder runs on a real interpreter. Where there is none the test says so and
//! passes, except in CI, where it fails.

// Each test program uses its part of this.
#![allow(dead_code)]

use arraybridge_core::ArrayLibrary;
use arraybridge_python::PyLibrary;
use arraybridge_python::pyo3::prelude::*;

/// Returns whether there is an interpreter with NumPy to test with.
pub(crate) fn python() -> bool {
    let availability = PyLibrary.availability();
    if availability.is_available() {
        return true;
    }
    assert!(std::env::var_os("CI").is_none(), "CI needs Python: {availability}");
    eprintln!("skipped: {availability}");
    false
}

/// Returns whether a package can be imported, which in CI each has to be.
pub(crate) fn has(package: &str) -> bool {
    let found = Python::attach(|py| py.import(package).map(|_| ()));
    if let Err(error) = &found {
        assert!(std::env::var_os("CI").is_none(), "CI needs {package}: {error}");
        eprintln!("skipped: {package}: {error}");
    }
    found.is_ok()
}
