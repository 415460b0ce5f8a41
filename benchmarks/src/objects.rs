//! Python's objects: what an exchange costs beside the libraries' own functions and other crates.
//!
//! The interpreter is one that this program starts, so that both sides of a row are in one process.
//! Rows between Python's own functions are loops in Python.

use anyhow::{Context, Result};
use arraybridge_core::{Access, AnyArray, ArrayLibrary, Convert, HOST};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_python::{Array, Cells, PyArray, PyLibrary, to_python};
use ndarray::Array2;
use numpy::{PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::pairs::Bench;

/// What the rows are about: so small that copies of it stay in the caches, but for one.
const SETUP: &std::ffi::CStr = c"
import numpy as np
array = np.ones((256, 256), np.float32)
large = np.ones((4096, 4096), np.float32)
try:
    import torch
    tensor = torch.ones((256, 256))
except ImportError:
    torch = None
try:
    import arraybridge
except ImportError:
    arraybridge = None
try:
    import pyo3_dlpack_peer
except ImportError:
    pyo3_dlpack_peer = None
";

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let availability = PyLibrary.availability();
    if !availability.is_available() {
        eprintln!("skipped: python is {availability}");
        return Ok(());
    }
    Python::attach(|py| {
        let scope = PyDict::new(py);
        py.run(SETUP, Some(&scope), None)?;
        let objects = Objects { bench, scope };
        objects.run()
    })
}

struct Objects<'a, 'py> {
    bench: &'a mut Bench,
    /// The variables of the loops in Python.
    scope: Bound<'py, PyDict>,
}

impl<'py> Objects<'_, 'py> {
    fn run(mut self) -> Result<()> {
        self.numpy_to_rust()?;
        self.rust_to_numpy()?;
        self.class()?;
        if self.has("torch")? {
            self.torch()
        } else {
            eprintln!("skipped: no PyTorch; `cargo xtask setup peers --with-torch` brings it");
            Ok(())
        }
    }

    fn get(&self, name: &str) -> Result<Bound<'py, PyAny>> {
        self.scope.get_item(name)?.with_context(|| format!("`{name}` is not there"))
    }

    fn has(&self, name: &str) -> Result<bool> {
        Ok(!self.get(name)?.is_none())
    }

    /// Returns a loop over an expression in Python.
    fn python(&self, expression: &str) -> Result<impl FnMut(u32) -> Result<()> + use<'py>> {
        let code = format!("def run(calls):\n    for _ in range(calls): {expression}\n");
        self.scope.py().run(&std::ffi::CString::new(code)?, Some(&self.scope), None)?;
        let run = self.get("run")?;
        Ok(move |calls| Ok(run.call1((calls,)).map(drop)?))
    }

    /// Adds a row of ours and an expression in Python.
    fn beside(
        &mut self,
        name: &str,
        mut ours: impl FnMut() -> Result<()>,
        peer: &str,
    ) -> Result<()> {
        let peer_loop = self.python(peer)?;
        let ours = |calls| (0..calls).try_for_each(|_| ours());
        self.bench.compare_loops(name, peer, ours, peer_loop)
    }

    /// Adds a row of two expressions in Python.
    fn expressions(&mut self, ours: &str, peer: &str) -> Result<()> {
        let (ours_loop, peer_loop) = (self.python(ours)?, self.python(peer)?);
        self.bench.compare_loops(ours, peer, ours_loop, peer_loop)
    }

    /// Adds rows of ours and every peer that reads a NumPy array where it is.
    fn reading(&mut self, name: &str, mut ours: impl FnMut() -> Result<()>) -> Result<()> {
        let array = self.get("array")?;
        let view = || {
            let array = array.cast::<PyArray2<f32>>().map_err(PyErr::from)?.readonly();
            std::hint::black_box(array.as_array());
            Ok(())
        };
        self.bench.compare(name, "rust-numpy, readonly and as_array", &mut ours, view)?;
        if self.has("pyo3_dlpack_peer")? {
            let read = self.get("pyo3_dlpack_peer")?.getattr("read")?;
            let peer = |calls| Ok(read.call1((&array, calls)).map(drop)?);
            let ours = |calls| (0..calls).try_for_each(|_| ours());
            self.bench.compare_loops(name, "pyo3-dlpack", ours, peer)?;
        }
        self.beside(name, ours, "np.from_dlpack(array)")
    }

    fn numpy_to_rust(&mut self) -> Result<()> {
        let array = self.get("array")?;
        self.reading("NumPy to Rust, borrowed cells", || {
            std::hint::black_box(Cells::<f32>::of(&array)?);
            Ok(())
        })?;
        self.reading("NumPy to Rust, shared (unsafe)", || {
            let array = PyArray::from_object(&array)?;
            // SAFETY: nobody writes the array in these measurements.
            NdArray::from_host(unsafe { array.share_unchecked(Access::Immutable) }?);
            Ok(())
        })?;
        for (name, array) in [
            ("NumPy to Rust, a copy of 256 KiB", array),
            ("NumPy to Rust, a copy of 64 MiB", self.get("large")?),
        ] {
            self.bench.compare(
                name,
                "rust-numpy, to_owned_array",
                || Ok(PyArray::from_object(&array)?.convert_to::<Ndarray>(HOST)?),
                || Ok(array.cast::<PyArray2<f32>>().map_err(PyErr::from)?.to_owned_array()),
            )?;
        }
        Ok(())
    }

    /// Small arrays made for each call: both sides take them over, and free them.
    fn rust_to_numpy(&mut self) -> Result<()> {
        let py = self.scope.py();
        let made = || Array2::<f32>::zeros((8, 8));
        let ours = || Ok(to_python(py, AnyArray::from_native(made())?, "numpy").map(drop)?);
        let typed =
            || Ok(made().convert_to::<PyLibrary>(HOST).map(|made| drop(made.into_object(py)))?);
        let name = "Rust to NumPy, typed, a new array of 8x8";
        let peer = || Ok(PyArray2::from_owned_array(py, made()));
        self.bench.compare(name, "rust-numpy, from_owned_array", typed, peer)?;
        self.beside(name, typed, "np.from_dlpack(array)")?;
        let name = "Rust to NumPy, erased, a new array of 8x8";
        self.bench.compare(name, "rust-numpy, from_owned_array", ours, peer)?;
        self.beside(name, ours, "np.from_dlpack(array)")?;
        let mut array: Option<NdArray> = Some(made().convert_to::<Ndarray>(HOST)?);
        self.beside(
            "Rust to NumPy and back (2 conversions)",
            || {
                let Some(ours) = array.take() else { return Ok(()) };
                array = Some(ours.convert_to::<PyLibrary>(HOST)?.convert_to::<Ndarray>(HOST)?);
                Ok(())
            },
            "np.from_dlpack(array)",
        )
    }

    /// The class, as Python code uses it.
    fn class(&mut self) -> Result<()> {
        let py = self.scope.py();
        self.scope.set_item("Array", py.get_type::<Array>())?;
        let array = AnyArray::from_native(Array2::<f32>::ones((256, 256)))?;
        self.scope.set_item("ours", Bound::new(py, Array::new(array)?)?)?;
        self.expressions("Array(array)", "np.from_dlpack(array)")?;
        if self.has("arraybridge")? {
            self.expressions("Array(array)", "arraybridge.detect_memory_type(array)")?;
        }
        self.expressions("np.asarray(ours)", "np.from_dlpack(array)")?;
        self.expressions("np.from_dlpack(ours)", "np.from_dlpack(array)")
    }

    fn torch(&mut self) -> Result<()> {
        let (py, tensor) = (self.scope.py(), self.get("tensor")?);
        let name = "torch to Rust to torch, shared (unsafe)";
        let mut ours = || {
            let array = PyArray::from_object(&tensor)?;
            // SAFETY: nobody else uses the tensor in these measurements.
            let array = NdArray::from_host(unsafe { array.share_unchecked(Access::Exclusive) }?);
            to_python(py, AnyArray::of::<Ndarray>(array), "torch")?;
            Ok(())
        };
        if self.has("pyo3_dlpack_peer")? {
            let both = self.get("pyo3_dlpack_peer")?.getattr("there_and_back")?;
            let take = self.get("torch")?.getattr("from_dlpack")?;
            let peer = |calls| Ok(both.call1((&tensor, &take, calls)).map(drop)?);
            let ours = |calls| (0..calls).try_for_each(|_| ours());
            self.bench.compare_loops(name, "pyo3-dlpack", ours, peer)?;
        }
        self.beside(name, &mut ours, "torch.from_dlpack(tensor)")?;
        let copied = || {
            let array: NdArray = PyArray::from_object(&tensor)?.convert_to::<Ndarray>(HOST)?;
            to_python(py, AnyArray::of::<Ndarray>(array), "torch")?;
            Ok(())
        };
        let name = "torch to Rust to torch, a copy of 256 KiB";
        self.beside(name, copied, "torch.from_dlpack(tensor.clone())")?;
        // The same way for both: an array of another library, read by NumPy or by PyTorch.
        self.expressions("np.asarray(ours)", "np.asarray(tensor)")?;
        self.expressions("np.from_dlpack(ours)", "np.from_dlpack(tensor)")?;
        self.expressions("torch.from_dlpack(ours)", "torch.from_dlpack(tensor)")?;
        self.expressions("np.from_dlpack(Array(tensor))", "np.from_dlpack(tensor)")?;
        self.expressions("Array(array).give('torch')", "torch.from_numpy(array)")?;
        self.expressions("Array(array).give('torch')", "torch.from_dlpack(array)")?;
        if self.has("arraybridge")? {
            let peer = "arraybridge.convert_memory(array, 'numpy', 'torch', arraybridge.HOST)";
            self.expressions("Array(array).give('torch')", peer)?;
        }
        Ok(())
    }
}
