//! Which library made a Python object.

use std::fmt;

use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use crate::make;
use crate::per_type::PerType;

/// A Python library whose objects are arrays, by its module's name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Maker {
    /// `numpy.ndarray` and its subclasses.
    Numpy,
    /// `torch.Tensor`.
    Torch,
    /// `jax.Array`.
    Jax,
    /// `tensorflow.Tensor`.
    Tensorflow,
    /// `cupy.ndarray`.
    Cupy,
    /// pyclesperanto's arrays.
    Pyclesperanto,
    /// `pandas.Series` and `pandas.DataFrame`.
    Pandas,
    /// dask's lazy arrays.
    Dask,
    /// This library's own Python class.
    Arraybridge,
    /// Anything else that speaks DLPack or the array interface, and nested sequences.
    Other,
}

/// Modules by their first part, and names as people give them and as records show them.
const MAKERS: &[(Maker, &[&str], &str, &str)] = &[
    (Maker::Numpy, &["numpy"], "numpy", "python:numpy"),
    (Maker::Torch, &["torch"], "torch", "python:torch"),
    (Maker::Jax, &["jax", "jaxlib"], "jax", "python:jax"),
    (Maker::Tensorflow, &["tensorflow"], "tensorflow", "python:tensorflow"),
    (Maker::Cupy, &["cupy"], "cupy", "python:cupy"),
    (
        Maker::Pyclesperanto,
        &["pyclesperanto", "pyclesperanto_opencl", "pyclesperanto_cuda", "pyclesperanto_metal"],
        "pyclesperanto",
        "python:pyclesperanto",
    ),
    (Maker::Pandas, &["pandas"], "pandas", "python:pandas"),
    (Maker::Dask, &["dask"], "dask", "python:dask"),
    (Maker::Arraybridge, &["arraybridge_rs"], "arraybridge_rs", "python:arraybridge_rs"),
];

impl Maker {
    /// Detects the maker of an object: the first known module among its type's ancestors, so that a
    /// subclass defined elsewhere is still recognised.
    pub fn of(object: &Bound<'_, PyAny>) -> Maker {
        let kind = object.get_type();
        if let Some(maker) = OWN.get(&kind) {
            return maker;
        }
        // A class that does not answer is nobody's.
        let maker = match ancestors(&kind).unwrap_or(Maker::Other) {
            // NumPy has classes for others to inherit from that are no arrays.
            Maker::Numpy if !make::is_ndarray(object).unwrap_or(false) => Maker::Other,
            maker => maker,
        };
        if maker != Maker::Other && of_module(kind.as_any()).is_ok_and(|own| own == Some(maker)) {
            OWN.keep(&kind, maker);
        }
        maker
    }

    /// Returns whether a type is one that a library made itself and has for good.
    pub(crate) fn owns(kind: &Bound<'_, PyType>) -> bool {
        OWN.get(kind).is_some()
    }

    /// Returns the maker of this name, `pytorch` and `python:torch` included.
    pub fn named(name: &str) -> Option<Maker> {
        let name = name.strip_prefix("python:").unwrap_or(name);
        let name = if name == "pytorch" { "torch" } else { name };
        MAKERS.iter().find(|row| row.1.contains(&name)).map(|row| row.0)
    }

    /// Returns whether arrays can be given to the library.
    pub(crate) fn is_target(self) -> bool {
        use Maker::{Cupy, Jax, Numpy, Tensorflow, Torch};
        matches!(self, Numpy | Torch | Jax | Tensorflow | Cupy)
    }

    /// Returns the libraries that arrays can be given to.
    pub(crate) fn targets() -> impl Iterator<Item = Maker> {
        MAKERS.iter().map(|row| row.0).filter(|maker| maker.is_target())
    }

    /// Returns the library's name.
    pub fn name(self) -> &'static str {
        MAKERS.iter().find(|row| row.0 == self).map_or("other", |row| row.2)
    }

    /// Returns the name in records: `python:torch`.
    pub fn label(self) -> &'static str {
        MAKERS.iter().find(|row| row.0 == self).map_or("python", |row| row.3)
    }
}

impl fmt::Display for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The libraries' own types.
static OWN: PerType<Maker> = PerType::new();

fn ancestors(kind: &Bound<'_, PyType>) -> PyResult<Maker> {
    let order = kind.getattr(pyo3::intern!(kind.py(), "__mro__"))?.cast_into::<PyTuple>()?;
    for ancestor in order.iter() {
        if let Some(maker) = of_module(&ancestor)? {
            return Ok(maker);
        }
    }
    Ok(Maker::Other)
}

/// Returns the maker whose module a class is from.
fn of_module(class: &Bound<'_, PyAny>) -> PyResult<Option<Maker>> {
    let module = class.getattr(pyo3::intern!(class.py(), "__module__"))?;
    // A class may set its `__module__` to anything.
    let Ok(module) = module.extract::<String>() else { return Ok(None) };
    let first = module.split('.').next().unwrap_or_default();
    Ok(MAKERS.iter().find(|row| row.1.contains(&first)).map(|row| row.0))
}
